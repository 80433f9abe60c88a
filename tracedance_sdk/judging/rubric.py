"""Rubrics: one question to a judge, and what each score from 0 to 5 means.

A rubric is a file of data: ``{"format": "tracedance.rubric", "version": 1, "id": ..., "about":
"turn", "question": ..., "levels": {0: ..., 5: ...}}``, YAML or JSON. A few come with the package
and are known by their bare ids.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from tracedance_sdk.errors import (
    InvalidJSON,
    InvalidSpec,
    Problem,
    UnreadableFile,
    UnsupportedVersion,
    shown,
)
from tracedance_sdk.trace import Json, json_digest, parse_json, parse_yaml, path_text, read_bytes

FORMAT: Final = "tracedance.rubric"
VERSION: Final = 1
LEVELS: Final = range(6)
"""The scores: 0 is the worst."""

_MOST_BYTES: Final = 2**20
_MOST_NAMED: Final = 3
_PACKAGED: Final = "tracedance_sdk.judging"
_FOLDER: Final = "rubrics"


def _stripped(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise PydanticCustomError("said", "text that is no Unicode") from None
    if not text.strip():
        raise PydanticCustomError("said", "a text is needed, not an empty one")
    return text.strip()


_Words = Annotated[str, Field(strict=True, max_length=4_000), AfterValidator(_stripped)]


class Rubric(BaseModel):
    """What is judged, and what each score means.

    Attributes:
        id: Short name: letters, digits, ``.``, ``_`` and ``-``.
        title: For tables and reports.
        about: ``trace``, a run as a whole; ``turn``, one turn as an answer to what came before.
        question: What the judge is asked, in words.
        levels: Score from 0 to 5 → what it means. 0 and 5 are always there; scores between
            described ones lie between them.
        pass_from: A mean score of at least this passes. No judge is shown it.
        notes: For people. No judge is shown them.

    Example:
        >>> rubric = load_rubric("honest-claims")
        >>> rubric.about, rubric.pass_from, sorted(rubric.levels)
        ('turn', 4.0, [0, 1, 2, 3, 4, 5])
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    id: Annotated[str, Field(strict=True, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]
    title: _Words
    about: Literal["trace", "turn"]
    question: _Words
    levels: dict[int, _Words]
    pass_from: Annotated[float, Field(ge=0, le=5, allow_inf_nan=False, strict=True)] = 4.0
    notes: _Words | None = None

    @field_validator("levels", mode="before")
    @classmethod
    def _numbered(cls, levels: object) -> object:
        if not isinstance(levels, Mapping):
            return levels
        known: dict[object, int] = {str(level): level for level in LEVELS}
        for key in levels:
            if isinstance(key, bool) or str(key) not in known:
                raise PydanticCustomError(
                    "said", "levels are 0 to 5, not {key}", {"key": shown(key)}
                )
        lacking = [level for level in (0, 5) if not {level, str(level)} & set(levels)]
        if lacking:
            raise PydanticCustomError(
                "said", "level {level} is needed: what the score means", {"level": lacking[0]}
            )
        return dict(sorted((known[str(key)], text) for key, text in levels.items()))

    @model_validator(mode="before")
    @classmethod
    def _spelled_right(cls, fields: object) -> object:
        names = list(cls.model_fields)
        for key in fields if isinstance(fields, dict) else ():
            near = difflib.get_close_matches(str(key), names, n=1, cutoff=0.75)
            if near and key not in names:
                raise PydanticCustomError(
                    "said",
                    "{key} is no field of a rubric; did you mean {near}?",
                    {"key": shown(key), "near": repr(near[0])},
                )
        return fields

    @property
    def shown_to_judges(self) -> dict[str, Json]:
        """Everything of the rubric that a judge is shown, as JSON."""
        return {
            "about": self.about,
            "title": self.title,
            "question": self.question,
            "levels": {str(level): text for level, text in self.levels.items()},
        }

    @property
    def sha256(self) -> str:
        """SHA-256 of the canonical JSON of what a judge is shown, 64 hex characters.

        The id, the passing score and the notes may change without making it another rubric.
        """
        return json_digest(self.shown_to_judges)

    def to_dict(self) -> dict[str, Any]:
        """Return the document that `parse_rubric` reads back, unknown fields included."""
        fields = self.model_dump(mode="json")
        if self.notes is None:
            del fields["notes"]
        levels = {str(level): text for level, text in self.levels.items()}
        return {"format": FORMAT, "version": VERSION, **fields, "levels": levels}


def load_rubric(path: str | os.PathLike[str]) -> Rubric:
    """Read a rubric from a file, or take a packaged one by its bare id.

    Args:
        path: A file, ``.json`` read as JSON and everything else as YAML; or the id of a packaged
            rubric, such as ``task-completion`` (``./task-completion`` is a file all the same).

    Raises:
        UnreadableFile: No such file and no packaged rubric of that name, or not permitted.
        InvalidSpec: Not a rubric; `problems` lists everything wrong with it.
        UnsupportedVersion: Written for a newer release.
    """
    name = os.fspath(path)
    if name in packaged_rubrics():
        data = files(_PACKAGED).joinpath(_FOLDER, f"{name}.yaml").read_bytes()
        return _parsed(data, where=name, is_json=False)
    if not Path(name).exists():
        raise UnreadableFile(
            f"{shown(name)} is neither a file nor a packaged rubric; "
            f"packaged are {', '.join(packaged_rubrics())}"
        )
    is_json = Path(name).suffix.lower() == ".json"
    return _parsed(read_bytes(name, limit=_MOST_BYTES), where=name, is_json=is_json)


def packaged_rubrics() -> tuple[str, ...]:
    """Return the ids of the rubrics that come with the package, sorted."""
    folder = files(_PACKAGED).joinpath(_FOLDER)
    names = (entry.name for entry in folder.iterdir())
    return tuple(sorted(name.removesuffix(".yaml") for name in names if name.endswith(".yaml")))


def parse_rubric(document: Json, *, where: str = "rubric") -> Rubric:
    """Read a rubric from a parsed document.

    Args:
        document: As in a file; unknown fields are kept.
        where: What it is, for messages.

    Raises:
        InvalidSpec: Not a rubric; `problems` lists everything wrong with it.
        UnsupportedVersion: Written for a newer release.

    Example:
        >>> parse_rubric({"format": "tracedance.rubric", "version": 1, "id": "a", "title": "A"})
        Traceback (most recent call last):
        tracedance_sdk.errors.InvalidSpec: rubric: this is needed @ $.about; this is needed @ ...
    """
    if not isinstance(document, dict):
        raise _invalid(where, [Problem(f"a rubric is an object, not {shown(document)}")])
    fields = dict(document)
    if (found := fields.pop("format", None)) != FORMAT:
        problem = Problem(f"'format: {FORMAT}' is needed, not {shown(found)}", "$.format")
        raise _invalid(where, [problem])
    version = fields.pop("version", None)
    if type(version) is not int:
        raise _invalid(where, [Problem(f"'version: {VERSION}' is needed", "$.version")])
    if version != VERSION:
        raise UnsupportedVersion(
            f"{where}: format version {version!r}; this release reads version {VERSION}"
        )
    try:
        return Rubric.model_validate(fields)
    except ValidationError as error:
        raise _invalid(where, list(map(_problem, error.errors(include_url=False)))) from error


def _parsed(data: bytes, *, where: str, is_json: bool) -> Rubric:
    if not is_json:
        return parse_rubric(parse_yaml(data, where=where), where=where)
    try:
        document = parse_json(data, where=where, unique_keys=True)
    except InvalidJSON as error:
        raise InvalidSpec(str(error), problems=error.problems) from error
    return parse_rubric(document, where=where)


def _invalid(where: str, problems: list[Problem]) -> InvalidSpec:
    first = "; ".join(map(str, problems[:_MOST_NAMED]))
    more = f" (and {len(problems) - _MOST_NAMED} more)" if len(problems) > _MOST_NAMED else ""
    return InvalidSpec(f"{where}: {first}{more}", problems=problems)


_NEEDED: Final = {
    "string_type": "a text",
    "dict_type": "an object",
    "float_type": "a number",
    "string_pattern_mismatch": "a short name of letters, digits, '.', '_' and '-'",
}


def _problem(item: Any) -> Problem:
    path = path_text(item["loc"])
    if item["type"] == "missing":
        return Problem("this is needed", path)
    if item["type"] == "said":
        return Problem(item["msg"], path)
    needed = _NEEDED.get(item["type"])
    what = f"{needed} is needed" if needed else item["msg"].replace("Input should", "it should")
    return Problem(f"{what}, not {shown(item['input'])}", path)

"""A behaviour: what it is, how it is found, where it is cut, how an answer is scored.

A behaviour is a file of data (YAML or JSON): ``{"format": "tracedance.behavior", "version": 1,
"id": ..., "frame": "action", "anchor": {"sql": ...}, "levels": {0: ..., 5: ...}}``. Those of the
catalogue come with the package and are known by their ids and names.
"""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from tracedance_sdk.errors import InvalidSpec, Problem, UnsupportedVersion, shown
from tracedance_sdk.judging import Rubric, parse_rubric
from tracedance_sdk.trace import (
    Json,
    Kind,
    json_digest,
    parse_json,
    parse_yaml,
    path_text,
    read_bytes,
)

FORMAT: Final = "tracedance.behavior"
VERSION: Final = 1
GROUPS: Final = {
    "valid-call": "Valid call",
    "check-first": "Check first",
    "handle-failure": "Handle failure",
    "honest-claim": "Honest claim",
}
"""Groups of behaviours and how they are written in reports."""

_MOST_BYTES: Final = 2**20
_MOST_NAMED: Final = 3

Frame = Literal["action", "failure", "claim"]
Group = Literal["valid-call", "check-first", "handle-failure", "honest-claim"]


def _stripped(text: str) -> str:
    if not text.strip():
        raise PydanticCustomError("said", "a text is needed, not an empty one")
    return text.strip()


_Words = Annotated[str, Field(strict=True, max_length=8_000), AfterValidator(_stripped)]
_Name = Annotated[str, Field(strict=True, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")]


def _spelled_right(model: type[BaseModel], fields: object) -> object:
    """Refuse a field that is nearly one of the model's: it would be kept and never looked at."""
    names = list(model.model_fields)
    for key in fields if isinstance(fields, dict) else ():
        near = difflib.get_close_matches(str(key), names, n=1, cutoff=0.75)
        if near and key not in names:
            told = {"key": shown(key), "near": repr(near[0])}
            raise PydanticCustomError("said", "{key} is no field; did you mean {near}?", told)
    return fields


class Anchor(BaseModel):
    """How occurrences are found.

    Attributes:
        sql: One SELECT over the views `traces`, `turns`, `calls` and `features` that names places:
            columns ``trace_id``, ``turn`` and, where a call matters, ``call``. It may name too
            many; what it does not name is not looked at.
        predicate: Name of the second stage, which keeps the true ones; None keeps all.
        code: Python source of a second stage, for behaviours that come without the package. It is
            checked and runs in a process of its own.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    sql: _Words
    predicate: _Name | None = None
    code: Annotated[str, Field(strict=True, max_length=20_000)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _spelled(cls, fields: object) -> object:
        return _spelled_right(cls, fields)

    @model_validator(mode="after")
    def _one_stage(self) -> Anchor:
        if self.predicate is not None and self.code is not None:
            raise PydanticCustomError("said", "an anchor has a predicate or code, not both")
        return self


class Parameter(BaseModel):
    """A value that a behaviour can be asked with.

    Attributes:
        about: What it is, in words.
        default: What it is when nobody says; None where it must be said.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    about: _Words
    default: Any = None


class Behavior(BaseModel):
    """A named behaviour.

    Attributes:
        id: Short name, such as ``C01``.
        name: What is undesirable, such as "Test-pass claim without a test run".
        desirable: The name of the opposite, for figures where more is better.
        frame: What is decided at the cut: an ``action``, what follows a ``failure``, a ``claim``.
        group: For reports; None for a behaviour outside the catalogue's groups.
        definition: In one or two sentences.
        criterion: What whoever confirms an occurrence must see, and what does not count.
        anchor: How it is found.
        parameters: By name.
        needs: Kinds of tools of which an appropriate answer needs one to be offered; empty where
            any tool, or words alone, will do.
        question: What a judge of an answer is asked.
        levels: Score from 0 to 5 → what it means; 0 and 5 are there.
        judge: Name of the rule judge; None without one.
        status: ``stable``, or ``experimental`` where too many of its occurrences were none, or
            where no real run has shown whether.
        notes: For people.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    id: _Name
    name: _Words
    desirable: _Words | None = None
    frame: Frame
    group: Group | None = None
    definition: _Words
    criterion: _Words
    anchor: Anchor
    parameters: dict[_Name, Parameter] = {}
    needs: tuple[Kind, ...] = ()
    question: _Words
    levels: dict[Any, Any]
    judge: _Name | None = None
    status: Literal["stable", "experimental"] = "stable"
    notes: _Words | None = None

    @model_validator(mode="before")
    @classmethod
    def _spelled(cls, fields: object) -> object:
        return _spelled_right(cls, fields)

    @property
    def rubric(self) -> Rubric:
        """The rubric by which an answer is scored."""
        return parse_rubric(
            {
                "format": "tracedance.rubric",
                "version": 1,
                "id": self.id,
                "title": self.desirable or self.name,
                "about": "turn",
                "question": self.question,
                "levels": self.levels,
            },
            where=f"behaviour {self.id}",
        )

    @property
    def is_undesirable(self) -> bool:
        """Whether its level 0 says something else than its level 5, apart from case and spaces."""
        said = {key: " ".join(text.split()).casefold() for key, text in self.rubric.levels.items()}
        return said[0].rstrip(".!") != said[5].rstrip(".!")

    @property
    def sha256(self) -> str:
        """SHA-256 of the canonical JSON of everything that changes what is found or scored."""
        fields = self.model_dump(mode="json", exclude={"notes", "status"})
        fields["levels"] = {str(key): text for key, text in self.levels.items()}
        return json_digest(fields)

    def filled(self, given: dict[str, Json] | None = None) -> dict[str, Json]:
        """Return the values of its parameters, defaults where nothing is given.

        Raises:
            InvalidSpec: One is unknown, or has no default and is not given.
        """
        values = dict(given or {})
        unknown = [name for name in values if name not in self.parameters]
        if unknown:
            known = ", ".join(self.parameters) or "none"
            raise _invalid(
                f"behaviour {self.id}",
                [Problem(f"no parameter {shown(unknown[0])}; it has {known}")],
            )
        for name, parameter in self.parameters.items():
            if name not in values:
                if parameter.default is None:
                    what = f"the parameter {name!r} is needed: {parameter.about}"
                    raise _invalid(f"behaviour {self.id}", [Problem(what)])
                values[name] = parameter.default
        return values


def load_behavior(path: str | os.PathLike[str]) -> Behavior:
    """Read a behaviour from a file, ``.json`` read as JSON and everything else as YAML.

    Raises:
        UnreadableFile: No such file, or not permitted.
        InvalidSpec: Not a behaviour; `problems` lists everything wrong with it.
        UnsupportedVersion: Written for a newer release.
    """
    name = os.fspath(path)
    data = read_bytes(name, limit=_MOST_BYTES)
    if Path(name).suffix.lower() == ".json":
        return parse_behavior(parse_json(data, where=name, unique_keys=True), where=name)
    return parse_behavior(parse_yaml(data, where=name), where=name)


def parse_behavior(document: Json, *, where: str = "behaviour") -> Behavior:
    """Read a behaviour from a parsed document.

    Args:
        document: As in a file; unknown fields are kept.
        where: What it is, for messages.

    Raises:
        InvalidSpec: Not a behaviour; `problems` lists everything wrong with it.
        UnsupportedVersion: Written for a newer release.
    """
    if not isinstance(document, dict):
        raise _invalid(where, [Problem(f"a behaviour is an object, not {shown(document)}")])
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
        behavior = Behavior.model_validate(fields)
    except ValidationError as error:
        raise _invalid(where, list(map(_problem, error.errors(include_url=False)))) from error
    _ = behavior.rubric  # which says what is wrong with the levels
    return behavior


def _invalid(where: str, problems: list[Problem]) -> InvalidSpec:
    first = "; ".join(map(str, problems[:_MOST_NAMED]))
    more = f" (and {len(problems) - _MOST_NAMED} more)" if len(problems) > _MOST_NAMED else ""
    return InvalidSpec(f"{where}: {first}{more}", problems=problems)


def _problem(item: Any) -> Problem:
    path = path_text(item["loc"])
    if item["type"] == "missing":
        return Problem("this is needed", path)
    if item["type"] == "said":
        return Problem(item["msg"], path)
    return Problem(f"{item['msg']}, not {shown(item['input'])}", path)

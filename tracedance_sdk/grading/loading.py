"""Read task specifications from files and documents, with all their problems at once."""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from tracedance_sdk.errors import InvalidJSON, InvalidSpec, Problem, UnsupportedVersion
from tracedance_sdk.grading.expected import PROBLEMS_KEY
from tracedance_sdk.grading.plugin_graders import grader_types
from tracedance_sdk.grading.spec import CRITERION_TYPES, FORMAT, VERSION, TaskSpec
from tracedance_sdk.grading.traceeval_notation import is_traceeval, translate
from tracedance_sdk.trace import Json, is_type_stub, parse_json, parse_yaml, path_text, read_bytes

MAX_SPEC_BYTES: Final = 64 * 2**20
_MOST_SHOWN: Final = 60
_MOST_NAMED: Final = 3


def load_spec(path: str | os.PathLike[str]) -> TaskSpec:
    """Read a task specification from a YAML or JSON file.

    Args:
        path: ``.json`` is read as JSON, everything else as YAML. Our own notation, or
            TraceEval's.

    Raises:
        UnreadableFile: Missing, a folder, not permitted, or too large.
        InvalidSpec: Not a specification; `problems` lists everything wrong with it.
        UnsupportedVersion: Written for a newer release.
    """
    data = read_bytes(path, limit=MAX_SPEC_BYTES)
    return parse_spec(data, where=str(path), is_json=Path(path).suffix.lower() == ".json")


def parse_spec(data: bytes | str, *, where: str = "spec", is_json: bool = False) -> TaskSpec:
    """Read a task specification from the text of a file; see `load_spec`."""
    if not is_json:
        return read_spec(parse_yaml(data, where=where), where=where)
    try:
        return read_spec(parse_json(data, where=where, unique_keys=True), where=where)
    except InvalidJSON as error:
        raise InvalidSpec(str(error), problems=error.problems) from error


def read_spec(document: Json, *, where: str = "spec", versioned: bool = True) -> TaskSpec:
    """Read a task specification from a parsed document.

    Args:
        document: In our own notation, or in TraceEval's.
        where: What it is, for messages.
        versioned: Whether ``format`` and ``version`` must be there, as they must in files.

    Raises:
        InvalidSpec: Not a specification; `problems` lists everything wrong with it.
        UnsupportedVersion: Written for a newer release.
    """
    if not isinstance(document, dict):
        raise _invalid(where, [Problem(f"a task is an object, not {_shown(document)}")])
    if is_traceeval(document):
        fields, places = translate(document)
        return _validated(fields, where, lambda path: _original(path, places))
    fields = dict(document)
    problems = _heading(fields, where, versioned=versioned)
    return _validated(fields, where, lambda path: path, problems)


def _heading(fields: dict[str, Json], where: str, *, versioned: bool) -> list[Problem]:
    """Take format and version off a document and return what is wrong with them."""
    problems = []
    has_format, has_version = "format" in fields, "version" in fields
    found_format, version = fields.pop("format", None), fields.pop("version", None)
    if found_format != FORMAT and (versioned or has_format):
        found = f", not {_shown(found_format)}" if has_format else ""
        problems.append(Problem(f"'format: {FORMAT}' is needed{found}", "$.format"))
    if type(version) is int and version != VERSION and not problems:
        raise UnsupportedVersion(
            f"{where}: format version {version!r}; this release reads version {VERSION}"
        )
    if type(version) is not int and (versioned or has_version):
        problems.append(Problem(f"'version: {VERSION}' is needed", "$.version"))
    return problems


def _validated(
    fields: dict[str, Any],
    where: str,
    place_of: Any,
    problems: list[Problem] | None = None,
) -> TaskSpec:
    found = list(problems or ())
    try:
        spec = TaskSpec.model_validate(fields)
    except ValidationError as error:
        for item in _telling(error.errors(include_url=False)):
            found += _problems(item)
    else:
        if not found:
            return spec
    raise _invalid(where, [Problem(what, place_of(path)) for what, path in found])


def _telling(items: list[Any]) -> list[Any]:
    """Leave out that a list is too short where what is wrong with its items is said."""
    above = {item["loc"][:n] for item in items for n in range(len(item["loc"]))}
    return [item for item in items if item["type"] != "too_short" or item["loc"] not in above]


def _invalid(where: str, problems: list[Problem]) -> InvalidSpec:
    first = "; ".join(map(str, problems[:_MOST_NAMED]))
    more = f" (and {len(problems) - _MOST_NAMED} more)" if len(problems) > _MOST_NAMED else ""
    return InvalidSpec(f"{where}: {first}{more}", problems=problems)


def _problems(item: Any) -> list[Problem]:
    path = path_text(_document_path(item["loc"]))
    inner = item.get("ctx", {}).get(PROBLEMS_KEY)
    if inner is not None:
        return [Problem(what, path + below) for what, below in inner]
    if item["type"] == "criterion_type":
        return [Problem(_unknown_type(item["input"]), path)]
    if item["type"] == "missing":
        return [Problem("this is needed", path)]
    if item["type"] in _SPOKEN_FOR:
        return [Problem(item["msg"], path)]
    needed = _NEEDED.get(item["type"])
    what = f"{needed} is needed" if needed else item["msg"].replace("Input should", "it should")
    return [Problem(f"{what}, not {_shown(item['input'])}", path)]


_NEEDED: Final = {
    "tuple_type": "a list", "string_type": "a text", "model_type": "an object",
    "model_attributes_type": "an object", "dict_type": "an object", "bool_type": "true or false",
    "int_type": "a whole number", "float_type": "a number", "string_too_short": "a longer text",
    "finite_number": "a finite number", "too_short": "a list that is not empty",
    "action_pattern": "the name of an action, or an object such as {action: NAME},",
}  # fmt: skip


_SPOKEN_FOR: Final = {
    "unknown_key", "pointer", "regex", "glob", "grader", "criterion_id", "any_of", "expected_state",
    "reply", "outcome", "counts", "budget", "flat_rule",
}  # fmt: skip
"""Kinds of findings whose text already names the value."""


def _document_path(location: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """Return a location without the step that pydantic adds for the chosen criterion type."""
    if len(location) > 2 and location[0] in TaskSpec.groups and isinstance(location[1], int):
        return (*location[:2], *location[3:])
    return location


def _unknown_type(value: Any) -> str:
    known = sorted([*CRITERION_TYPES, *grader_types()])
    if not isinstance(value, dict):
        return f"a criterion is an object, not {_shown(value)}"
    if "type" not in value:
        named = [key for key in value if key in known]
        if named:
            return f"a criterion names its type; write {{type: {named[0]}, ...}}"
        return f"a criterion here needs a 'type'; known are {', '.join(known)}"
    near = difflib.get_close_matches(str(value["type"]), known, n=1)
    meant = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(known)}"
    return f"unknown criterion type {_shown(value['type'])}; {meant}"


def _original(path: str, places: dict[str, str]) -> str:
    """Return the path in the document that a path in its translation stands for."""
    best = max((ours for ours in places if path.startswith(ours)), key=len, default="")
    return places[best] + path[len(best) :] if best else path


def _shown(value: Json) -> str:
    text = str(value["$repr"]) if is_type_stub(value) else repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 3]}..."

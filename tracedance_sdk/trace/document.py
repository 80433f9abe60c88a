"""The versioned document of a trace: ``{"format": "tracedance.trace", "version": 1, ...}``.

Reading and writing are exact inverses: `decode(encode(trace)) == trace`, unknown fields included.
"""

from __future__ import annotations

from datetime import datetime
from functools import cache
from typing import Any, Final

import orjson
from pydantic import BaseModel, ValidationError

from tracedance_sdk.errors import InvalidTrace, Problem, UnsupportedVersion
from tracedance_sdk.trace.markers import UNKNOWN, Json
from tracedance_sdk.trace.model import Trace

FORMAT: Final = "tracedance.trace"
VERSION: Final = 1
_MOST_PROBLEMS: Final = 20


def encode(trace: Trace) -> dict[str, Any]:
    """Return a trace as a JSON object; what is unknown, None or empty is absent."""
    return {"format": FORMAT, "version": VERSION, **plain(trace)}


def encode_json(trace: Trace) -> bytes:
    """Return a trace as one line of JSON, without a newline.

    Raises:
        InvalidTrace: The trace holds a value that is not JSON.
    """
    try:
        return orjson.dumps(encode(trace))
    except (TypeError, ValueError) as error:
        raise InvalidTrace(f"trace {trace.id!r} cannot be written as JSON: {error}") from error


def plain(record: BaseModel) -> dict[str, Any]:
    """Return any part of a trace as a JSON object, by the rule of `encode`."""
    found: dict[str, Any] = {}
    values = record.__dict__
    for name, default in _fields(type(record)):
        value = values[name]
        if value is default or value is UNKNOWN or (value is None and default is not UNKNOWN):
            continue
        if isinstance(default, BaseModel) and value == default:
            continue
        if value == () or (value == {} and default is not UNKNOWN and name != "arguments"):
            continue
        found[name] = _plain_value(value)
    if record.__pydantic_extra__:
        found.update(record.__pydantic_extra__)
    return found


@cache
def _fields(kind: type[BaseModel]) -> tuple[tuple[str, Any], ...]:
    """Return each field with the default that may be left out; a sentinel where none may."""
    return tuple(
        (name, _KEEP if name in ("type", "ok") else field.default)
        for name, field in kind.model_fields.items()
    )


_KEEP: Final = object()


def _plain_value(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return plain(value)
    if isinstance(value, tuple):
        return [_plain_value(item) for item in value]
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    return value


def decode(document: Json, *, where: str = "trace") -> Trace:
    """Build a trace from its document.

    Args:
        document: The parsed JSON object.
        where: What it is, for messages.

    Raises:
        UnsupportedVersion: Another format version.
        InvalidTrace: Not an object of ours, or fields that break the model; `problems` lists them.
    """
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise InvalidTrace(f"{where}: not a trace: 'format' is not {FORMAT!r}")
    version = document.get("version")
    if type(version) is not int or version != VERSION:
        raise UnsupportedVersion(
            f"{where}: format version {version!r}; this release reads version {VERSION}"
        )
    return build({k: v for k, v in document.items() if k not in ("format", "version")}, where)


def build(fields: dict[str, Any], where: str) -> Trace:
    """Validate a trace's fields; see `decode` for errors."""
    try:
        trace = Trace.model_validate(fields)
    except ValidationError as error:
        raise invalid_trace(error, where) from error
    problems = _order_problems(trace)
    if problems:
        raise InvalidTrace(f"{where}: {problems[0]}", problems=problems)
    return trace


def invalid_trace(error: ValidationError, where: str) -> InvalidTrace:
    """Turn pydantic's findings into ours, as ``what @ $.path``."""
    problems = [
        Problem(_what(item), path_text(item["loc"]))
        for item in error.errors(include_url=False, include_context=False)[:_MOST_PROBLEMS]
    ]
    rest = error.error_count() - 1
    more = f" (and {rest} more)" if rest else ""
    return InvalidTrace(f"{where}: {problems[0]}{more}", problems=problems)


def _what(item: Any) -> str:
    shown = repr(item["input"])
    shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
    missing = item["type"] == "missing"
    return str(item["msg"]) if missing else f"{item['msg']}, got {shown}"


def path_text(location: tuple[int | str, ...]) -> str:
    """Return a location as ``$.turns[3].role``."""
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in location)


def _order_problems(trace: Trace) -> list[Problem]:
    expected = 0
    for position, turn in enumerate(trace.turns):
        if turn.index != position:
            return [
                Problem(f"turn index {turn.index}, expected {position}", f"$.turns[{position}]")
            ]
        for place, call in enumerate(turn.calls):
            if call.index != expected:
                where = f"$.turns[{position}].calls[{place}]"
                return [Problem(f"call index {call.index}, expected {expected}", where)]
            expected += 1
    return []

"""The versioned document of a trace: ``{"format": "tracedance.trace", "version": 1, ...}``.

Reading and writing are exact inverses: `decode(encode(trace)) == trace`, unknown fields included.
"""

from __future__ import annotations

import math
import re
from typing import Any, Final

import orjson
from pydantic import ValidationError

from tracedance_sdk.errors import InvalidTrace, Problem, UnsupportedVersion, shown
from tracedance_sdk.trace.markers import Json
from tracedance_sdk.trace.model import Trace
from tracedance_sdk.trace.objects import FORMAT, VERSION

_MOST_PROBLEMS: Final = 20
_BACKSLASH: Final = ord("\\")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def encode(trace: Trace) -> dict[str, Any]:
    """Return a trace as a JSON object; what is unknown, None or empty is absent."""
    return trace.to_dict()


def encode_json(trace: Trace) -> bytes:
    """Return a trace as one line of JSON, without a newline.

    Raises:
        InvalidTrace: The trace holds a value that is not JSON, or its turns or calls are not
            numbered in order: it could not be read back.
    """
    if problems := _order_problems(trace):
        message = f"trace {trace.id!r} could not be read back: {problems[0]}"
        raise InvalidTrace(message, problems=problems)
    document = encode(trace)
    try:
        data = orjson.dumps(document)
    except (TypeError, ValueError) as error:
        problem = _unwritable(document) or Problem(str(error))
        message = f"trace {trace.id!r} cannot be written as JSON: {problem}"
        raise InvalidTrace(message, problems=[problem]) from error
    # The fast writer turns what JSON cannot hold into null, silently.
    if _may_say_null(data) and not _is_same(document, data) and (found := _unwritable(document)):
        message = f"trace {trace.id!r} cannot be written as JSON: {found}"
        raise InvalidTrace(message, problems=[found])
    return data


def _may_say_null(data: bytes) -> bool:
    """Whether compact JSON may have a null outside its texts; JSON inside them seldom looks so."""
    at = data.find(b"null")
    while at >= 0:
        if data[at - 1] in b"[,":
            return True
        if data.startswith(b'":', at - 2):
            quote = at - 2
            before = quote
            while data[before - 1] == _BACKSLASH:
                before -= 1
            if (quote - before) % 2 == 0:
                return True
        at = data.find(b"null", at + 4)
    return False


def _is_same(document: dict[str, Any], data: bytes) -> bool:
    """Whether what was written is read back equal; several times as fast as looking at all."""
    try:
        return bool(orjson.loads(data) == document)
    except (ValueError, RecursionError):
        return False


def _unwritable(document: dict[str, Any]) -> Problem | None:
    """Return the first value that is not JSON as we read it, and its place."""
    pending: list[tuple[str, object]] = [("$", document)]
    while pending:
        path, item = pending.pop()
        odd: list[object] = []
        if isinstance(item, dict):
            odd = [key for key in item if not (isinstance(key, str) and _is_scalar(key))]
            pending.extend((f"{path}.{key}", value) for key, value in item.items())
        elif isinstance(item, (list, tuple)):
            pending.extend((f"{path}[{index}]", value) for index, value in enumerate(item))
        elif not _is_scalar(item):
            odd = [item]
        if odd:
            kind = "key" if isinstance(item, dict) else "value"
            return Problem(
                f"{shown(odd[0])} of type {type(odd[0]).__name__} is no JSON {kind}", path
            )
    return None


def _is_scalar(item: object) -> bool:
    if isinstance(item, str):
        return item.isascii() or not _SURROGATE.search(item)
    if isinstance(item, float):
        return math.isfinite(item)
    if isinstance(item, int):
        return -(2**63) <= item < 2**64
    return item is None


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
        Problem(_what(item), path_text(_location(item["loc"])))
        for item in error.errors(include_url=False, include_context=False)[:_MOST_PROBLEMS]
    ]
    rest = error.error_count() - 1
    more = f" (and {rest} more)" if rest else ""
    return InvalidTrace(f"{where}: {problems[0]}{more}", problems=problems)


def _location(steps: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """Return pydantic's location without the tag of the union that a content part is."""
    if "content" in steps:
        tag = steps.index("content") + 2
        return steps[:tag] + steps[tag + 1 :]
    return steps


def _what(item: Any) -> str:
    missing = item["type"] == "missing"
    return str(item["msg"]) if missing else f"{item['msg']}, got {shown(item['input'])}"


def path_text(location: tuple[int | str, ...]) -> str:
    """Return a location as ``$.turns[3].role``."""
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in location)


def _order_problems(trace: Trace) -> list[Problem]:
    turns = trace.turns
    indexes = [turn.index for turn in turns]
    calls = [call.index for turn in turns if turn.calls for call in turn.calls]
    if indexes == list(range(len(indexes))) and calls == list(range(len(calls))):
        return []
    expected = 0
    for position, turn in enumerate(turns):
        if turn.index != position:
            what = f"turn index {turn.index}, expected {position}"
            return [Problem(what, f"$.turns[{position}]")]
        for place, call in enumerate(turn.calls):
            if call.index != expected:
                where = f"$.turns[{position}].calls[{place}]"
                return [Problem(f"call index {call.index}, expected {expected}", where)]
            expected += 1
    return []

"""One executed call as a span of ours, read back as a document."""

from __future__ import annotations

from typing import Any, Final

from tracedance_sdk.errors import TraceDanceError
from tracedance_sdk.journal import Attributes
from tracedance_sdk.otel import names
from tracedance_sdk.otel.times import iso_time
from tracedance_sdk.otel.values import Values
from tracedance_sdk.trace import UNKNOWN, Json, apply_patch

_PLAIN: Final = {
    names.RAW_ARGUMENTS: "raw_arguments",
    names.BOUND_BY: "bound_by",
    names.REQUESTED_BY: "requested_by",
    names.ENCLOSING_CALL_ID: "parent_call_id",
    names.DURATION_MS: "duration_ms",
    names.MADE_HERE: "made_here",
}


def own_call(
    attributes: Attributes, *, start_ns: int, end_ns: int | None, values: Values
) -> dict[str, Any]:
    """Return the document of a call from its span or its start event.

    A start alone gives an interrupted call. Where the span says that nobody knows when the call was
    made, its own times are not the call's.
    """
    call: dict[str, Any] = {
        "index": attributes[names.CALL_INDEX],
        "id": attributes.get(names.TOOL_CALL_ID, ""),
        "name": attributes.get(names.TOOL_NAME, ""),
    }
    if attributes.get(names.TIMES_UNKNOWN) is not True:
        call["started_at"] = iso_time(start_ns)
        if end_ns is not None:
            call["duration_ms"] = span_duration_ms(start_ns, end_ns)
    for key, field in _PLAIN.items():
        if key in attributes:
            call[field] = attributes[key]
    arguments = values.read(attributes.get(names.TOOL_ARGUMENTS))
    if arguments is not UNKNOWN:
        call["arguments"] = arguments
    change = values.read(attributes.get(names.STATE_CHANGE))
    if isinstance(change, list):
        call["state_change"] = change
    call["result"] = _result(attributes, values)
    return patched(call, attributes, values)


def span_duration_ms(start_ns: int, end_ns: int) -> float:
    """Return how long a span lasted; a call's own duration is named only where it differs."""
    return (end_ns - start_ns) / 1e6


def patched(document: dict[str, Any], attributes: Attributes, values: Values) -> dict[str, Any]:
    """Return a document with the differences applied that its span names, if it names any."""
    operations = values.read(attributes.get(names.PATCH))
    if not isinstance(operations, list):
        return document
    try:
        found = apply_patch(operations, document)
    except TraceDanceError:
        return document
    return found if isinstance(found, dict) else document


def _result(attributes: Attributes, values: Values) -> dict[str, Json]:
    if names.RESULT_OK not in attributes:
        return {"ok": None, "interrupted": True}
    ok = attributes[names.RESULT_OK]
    result: dict[str, Json] = {"ok": ok if isinstance(ok, bool) else None}
    key = names.TOOL_RESULT if names.TOOL_RESULT in attributes else names.RESULT_CONTENT
    content = values.read(attributes.get(key))
    if content is not UNKNOWN:
        result["content"] = content
    if names.ERROR_TYPE in attributes:
        message = attributes.get(names.ERROR_MESSAGE)
        result["error"] = {"type": attributes[names.ERROR_TYPE]}
        if message:
            result["error"]["message"] = message
    if names.EXIT_CODE in attributes:
        result["exit_code"] = attributes[names.EXIT_CODE]
    if attributes.get(names.RESULT_INTERRUPTED):
        result["interrupted"] = True
    if attributes.get(names.RESULT_TRUNCATED):
        result["truncated"] = True
    return result

"""Write evidence records as lines of OTLP-JSON: spans as ``resourceSpans``, events as logs.

Every line is a valid OTLP document of its own. The scope of a line, not the record in it, carries
what the journal needs: the line's hash, its number, and the parent of an event's span, for which
a log record has no field.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import orjson

from tracedance_sdk.journal.records import (
    Attribute,
    Attributes,
    EventRecord,
    EvidenceRecord,
    SpanRecord,
)

FORMAT: Final = "tracedance.journal"
VERSION: Final = 1

HEADER_EVENT: Final = "tracedance.journal.header"
CLOSE_EVENT: Final = "tracedance.journal.close"
PRUNED_EVENT: Final = "tracedance.journal.pruned"
CONTROL_EVENTS: Final = frozenset({HEADER_EVENT, CLOSE_EVENT, PRUNED_EVENT})
"""What a journal says about itself; not evidence of a run."""

HASH_KEY: Final = "tracedance.journal.hash"
LINE_KEY: Final = "tracedance.journal.line"
PARENT_KEY: Final = "tracedance.event.parent"

_INT_MIN, _INT_MAX = -(2**63), 2**63 - 1
_ERROR: Final = 2


_SCOPE: Final = b'{"scope":{"name":"%b","attributes":[{"key":"%b","value":{"stringValue":"' % (
    FORMAT.encode(),
    HASH_KEY.encode(),
)
SPAN_OPENING: Final = b'{"resourceSpans":[{"scopeSpans":[' + _SCOPE
EVENT_OPENING: Final = b'{"resourceLogs":[{"scopeLogs":[' + _SCOPE
"""The two beginnings of a line; its hash follows."""

NUMBER_OPENING: Final = b'"}},{"key":"%b","value":{"intValue":"' % LINE_KEY.encode()
"""What follows the hash; the line's number comes next."""

_SPAN_REST: Final = NUMBER_OPENING + b'%d"}}]},"spans":[%b]}]}]}'
_EVENT_REST: Final = NUMBER_OPENING + b'%d"}}]},"logRecords":[%b]}]}]}'
_CHILD_EVENT_REST: Final = b"".join(
    (
        NUMBER_OPENING,
        b'%d"}},{"key":"',
        PARENT_KEY.encode(),
        b'","value":{"stringValue":%b}}]},"logRecords":[%b]}]}]}',
    )
)


def encode_record(record: EvidenceRecord, *, line: int) -> tuple[bytes, bytes]:
    """Return one record as one line in two pieces, between which the line's hash belongs.

    Args:
        record: The span or event. A lone surrogate in a text is written as its escape, an integer
            beyond 64 bits as its digits.
        line: Number of the line in its file, from 1.
    """
    if isinstance(record, SpanRecord):
        return SPAN_OPENING, _SPAN_REST % (line, _json(_span(record)))
    if record.parent_id is None:
        return EVENT_OPENING, _EVENT_REST % (line, _json(_event(record)))
    parent = _json(record.parent_id)
    return EVENT_OPENING, _CHILD_EVENT_REST % (line, parent, _json(_event(record)))


def encode_spans(records: Iterable[SpanRecord], *, scope: dict[str, Any], schema_url: str) -> bytes:
    """Return spans as one line of an OTLP file, without a line end.

    Args:
        records: The spans.
        scope: Who recorded them, as OTLP has it: ``{"name", "version"?, "attributes"?}``.
        schema_url: Of the conventions that their attributes follow.
    """
    spans = [_span(record) for record in records]
    group = {"scope": scope, "spans": spans, "schemaUrl": schema_url}
    return _json({"resourceSpans": [{"resource": {}, "scopeSpans": [group]}]})


def _json(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:
        return orjson.dumps(_spelled(value))


def _event(record: EventRecord) -> dict[str, Any]:
    name, trace_id, span_id, time_ns, attributes, _ = record
    return {
        "timeUnixNano": str(time_ns),
        "eventName": name,
        "traceId": trace_id,
        "spanId": span_id,
        "attributes": _attributes(attributes),
    }


def _span(record: SpanRecord) -> dict[str, Any]:
    name, trace_id, span_id, parent_id, kind, start_ns, end_ns, attributes, error, links = record
    span: dict[str, Any] = {
        "traceId": trace_id,
        "spanId": span_id,
        "parentSpanId": parent_id or "",
        "name": name,
        "kind": kind,
        "startTimeUnixNano": str(start_ns),
        "endTimeUnixNano": str(end_ns),
        "attributes": _attributes(attributes),
    }
    if links:
        span["links"] = [{"traceId": link.trace_id, "spanId": link.span_id} for link in links]
    if error is not None:
        span["status"] = {"code": _ERROR, "message": error}
    return span


def _attributes(attributes: Attributes) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    add = found.append
    for key, value in attributes.items():
        kind = type(value)
        if kind is str:
            add({"key": key, "value": {"stringValue": value}})
        elif kind is int and _INT_MIN <= value <= _INT_MAX:  # type: ignore[operator]  # an int
            add({"key": key, "value": {"intValue": str(value)}})
        elif kind is bool:
            add({"key": key, "value": {"boolValue": value}})
        else:
            add({"key": key, "value": _other_value(value)})
    return found


def _other_value(value: Attribute) -> dict[str, Any]:
    if isinstance(value, float):
        return {"doubleValue": _double(value)}
    if isinstance(value, tuple):
        return {"arrayValue": {"values": [{"stringValue": item} for item in value]}}
    return {"stringValue": str(value)}


def _double(value: float) -> float | str:
    """Spell the numbers that JSON lacks the way protobuf's JSON does."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    return value


def _spelled(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {_spelled(key): _spelled(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_spelled(item) for item in value]
    return value

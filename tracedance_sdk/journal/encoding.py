"""Write evidence records as lines of OTLP-JSON: spans as ``resourceSpans``, events as logs.

Every line is a valid OTLP document of its own. The scope of a line, not the record in it, carries
what the journal needs: the hash of the line before, and the parent of an event's span, for which
a log record has no field.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from tracedance_sdk.journal.records import Attribute, Attributes, EvidenceRecord, SpanRecord

FORMAT: Final = "tracedance.journal"
VERSION: Final = 1

HEADER_EVENT: Final = "tracedance.journal.header"
CLOSE_EVENT: Final = "tracedance.journal.close"
PREVIOUS_KEY: Final = "tracedance.journal.previous"
PARENT_KEY: Final = "tracedance.event.parent"

_INT_MIN, _INT_MAX = -(2**63), 2**63 - 1
_ERROR: Final = 2


_SCOPE: Final = b'{"scope":{"name":"%b","attributes":[{"key":"%b","value":{"stringValue":"' % (
    FORMAT.encode(),
    PREVIOUS_KEY.encode(),
)
_SPAN_HEAD: Final = b'{"resourceSpans":[{"scopeSpans":[' + _SCOPE
_EVENT_HEAD: Final = b'{"resourceLogs":[{"scopeLogs":[' + _SCOPE
_PARENT: Final = b'"}},{"key":"%b","value":{"stringValue":' % PARENT_KEY.encode()


def encode_line(record: EvidenceRecord, previous: str) -> bytes:
    """Return one record as one line, without its newline.

    Args:
        record: The span or event. A lone surrogate in a text is written as its escape, an integer
            beyond 64 bits as its digits.
        previous: Hash of the line before, in hex; empty when there is none.
    """
    hash_before = previous.encode()
    if isinstance(record, SpanRecord):
        span = _json(_span(record))
        return b"".join((_SPAN_HEAD, hash_before, b'"}}]},"spans":[', span, b"]}]}]}"))
    event = _json(
        {
            "timeUnixNano": str(record.time_ns),
            "eventName": record.name,
            "traceId": record.trace_id,
            "spanId": record.span_id,
            "attributes": _attributes(record.attributes),
        }
    )
    if record.parent_id is None:
        return b"".join((_EVENT_HEAD, hash_before, b'"}}]},"logRecords":[', event, b"]}]}]}"))
    parent = _json(record.parent_id)
    pieces = (_EVENT_HEAD, hash_before, _PARENT, parent, b'}}]},"logRecords":[', event, b"]}]}]}")
    return b"".join(pieces)


def _json(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except TypeError:
        return orjson.dumps(_spelled(value))


def _span(record: SpanRecord) -> dict[str, Any]:
    span: dict[str, Any] = {
        "traceId": record.trace_id,
        "spanId": record.span_id,
        "parentSpanId": record.parent_id or "",
        "name": record.name,
        "kind": record.kind,
        "startTimeUnixNano": str(record.start_ns),
        "endTimeUnixNano": str(record.end_ns),
        "attributes": _attributes(record.attributes),
    }
    if record.links:
        span["links"] = [
            {"traceId": link.trace_id, "spanId": link.span_id} for link in record.links
        ]
    if record.error is not None:
        span["status"] = {"code": _ERROR, "message": record.error}
    return span


def _attributes(attributes: Attributes) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    add = found.append
    for key, value in attributes.items():
        if type(value) is str:
            add({"key": key, "value": {"stringValue": value}})
        elif type(value) is int and _INT_MIN <= value <= _INT_MAX:
            add({"key": key, "value": {"intValue": str(value)}})
        else:
            add({"key": key, "value": _other_value(value)})
    return found


def _other_value(value: Attribute) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
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

"""Read evidence records from OTLP-JSON documents, ours or those of any exporter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import orjson

from tracedance_sdk.errors import InvalidJSON
from tracedance_sdk.journal.encoding import PARENT_KEY
from tracedance_sdk.journal.records import (
    INTERNAL,
    Attribute,
    Attributes,
    EventRecord,
    EvidenceRecord,
    Link,
    SpanRecord,
)
from tracedance_sdk.trace import Json

_KINDS: Final = {
    "SPAN_KIND_UNSPECIFIED": 0,
    "SPAN_KIND_INTERNAL": 1,
    "SPAN_KIND_SERVER": 2,
    "SPAN_KIND_CLIENT": 3,
    "SPAN_KIND_PRODUCER": 4,
    "SPAN_KIND_CONSUMER": 5,
}
_FAILED: Final = (2, "STATUS_CODE_ERROR")


def decode_line(line: bytes, *, where: str) -> list[EvidenceRecord]:
    """Return the records of one OTLP-JSON document.

    Args:
        line: The document; several spans or log records in it are all returned, in order.
        where: What it is, for messages.

    Raises:
        InvalidJSON: Not JSON, or JSON that is no OTLP document.
    """
    try:
        document = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise InvalidJSON(f"{where}: not JSON: {error}") from error
    return list(otlp_records(document, where=where))


def otlp_records(document: Json, *, where: str) -> Iterator[EvidenceRecord]:
    """Yield the spans and events of a parsed OTLP-JSON document.

    Structured attribute values become JSON text.

    Raises:
        InvalidJSON: The document is no OTLP traces or logs document.
    """
    if not isinstance(document, dict) or not document.keys() & {"resourceSpans", "resourceLogs"}:
        raise InvalidJSON(f"{where}: neither 'resourceSpans' nor 'resourceLogs' in it")
    try:
        for resource in document.get("resourceSpans") or ():
            for group in resource.get("scopeSpans") or ():
                for span in group.get("spans") or ():
                    yield _span(span)
        for resource in document.get("resourceLogs") or ():
            for group in resource.get("scopeLogs") or ():
                scope = read_attributes((group.get("scope") or {}).get("attributes"))
                for log in group.get("logRecords") or ():
                    yield _event(log, scope)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InvalidJSON(f"{where}: not an OTLP document: {error}") from error


def _span(span: dict[str, Any]) -> SpanRecord:
    kind = span.get("kind", INTERNAL)
    status = span.get("status") or {}
    parent = span.get("parentSpanId")
    return SpanRecord(
        name=_text(span.get("name", "")),
        trace_id=_text(span["traceId"]).lower(),
        span_id=_text(span["spanId"]).lower(),
        parent_id=_text(parent).lower() if parent else None,
        kind=_KINDS[kind] if isinstance(kind, str) else int(kind),
        start_ns=int(span.get("startTimeUnixNano", 0)),
        end_ns=int(span.get("endTimeUnixNano", 0)),
        attributes=read_attributes(span.get("attributes")),
        error=_text(status.get("message", "")) if status.get("code") in _FAILED else None,
        links=tuple(
            Link(_text(link["traceId"]).lower(), _text(link["spanId"]).lower())
            for link in span.get("links") or ()
        ),
    )


def _event(log: dict[str, Any], scope: Attributes) -> EventRecord:
    parent = scope.get(PARENT_KEY)
    return EventRecord(
        name=_text(log.get("eventName", "")),
        trace_id=_text(log.get("traceId", "")).lower(),
        span_id=_text(log.get("spanId", "")).lower(),
        time_ns=int(log.get("timeUnixNano") or log.get("observedTimeUnixNano") or 0),
        attributes=read_attributes(log.get("attributes")),
        parent_id=parent if isinstance(parent, str) else None,
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a string")
    return value


def read_attributes(found: list[dict[str, Any]] | None) -> Attributes:
    """Return an OTLP attribute list as a dict; an attribute without a value is left out.

    Raises:
        KeyError, TypeError, ValueError: The list is not OTLP.
    """
    attributes: Attributes = {}
    for item in found or ():
        value = item.get("value")
        if value:
            attributes[_text(item["key"])] = _attribute(value)
    return attributes


def _attribute(value: dict[str, Any]) -> Attribute:
    if "stringValue" in value:
        return _text(value["stringValue"])
    if "arrayValue" in value:
        items = [_structured(item) for item in value["arrayValue"].get("values") or ()]
        if all(isinstance(item, str) for item in items):
            return tuple(items)
        return orjson.dumps(items).decode()
    if "kvlistValue" in value:
        return orjson.dumps(_structured(value)).decode()
    plain: Attribute = _structured(value)
    return plain


def _structured(value: dict[str, Any]) -> Json:
    """Return any OTLP value as JSON; bytes stay the base64 text that they are written as."""
    if "boolValue" in value:
        return bool(value["boolValue"])
    if "intValue" in value:
        return int(value["intValue"])
    if "doubleValue" in value:
        return float(value["doubleValue"])
    if "arrayValue" in value:
        return [_structured(item) for item in value["arrayValue"].get("values") or ()]
    if "kvlistValue" in value:
        pairs = value["kvlistValue"].get("values") or ()
        return {_text(pair["key"]): _structured(pair.get("value") or {}) for pair in pairs}
    if "stringValue" in value:
        return _text(value["stringValue"])
    return value.get("bytesValue")

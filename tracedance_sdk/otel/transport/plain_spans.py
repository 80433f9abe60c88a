"""Spans as plain objects, as SDKs print them and as backends list them.

Read are the Python SDK's ``ReadableSpan.to_json`` (also by its console exporter), the JavaScript
SDK's readable spans, Phoenix's span lists, and rows with ``trace_id``, ``span_id``, ``start_time``
and ``attributes`` such as CloudWatch (ADOT) exports give.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from tracedance_sdk.journal import Link
from tracedance_sdk.otel.foreign import (
    SPAN_BYTES,
    TRACE_BYTES,
    ForeignSpan,
    SpanEvent,
    has_failed,
    read_id,
    read_kind,
    read_list,
    read_object,
    read_text,
    read_time,
)
from tracedance_sdk.otel.transport.anyvalue import read_attributes
from tracedance_sdk.trace import Json

_CONTEXTS: Final = ("context", "spanContext", "span_context", "_spanContext")
_PARENT_CONTEXTS: Final = ("parentSpanContext", "parent")
_STARTS: Final = ("start_time", "startTime", "startTimeUnixNano", "start_time_unix_nano")
_ENDS: Final = ("end_time", "endTime", "endTimeUnixNano", "end_time_unix_nano")
_TRACE_IDS: Final = ("trace_id", "traceId", "traceID")
_SPAN_IDS: Final = ("span_id", "spanId", "spanID")
_PARENT_IDS: Final = ("parent_span_id", "parentSpanId", "parent_id", "parentId")
_SCOPES: Final = (
    "scope",
    "instrumentationScope",
    "instrumentation_scope",
    "instrumentationLibrary",
)


def is_span(value: Json) -> bool:
    """Whether an object is a span: it has the ids of one, a name, and attributes or a start."""
    if not isinstance(value, dict) or "name" not in value:
        return False
    holder = {**_context(value), **value}
    has_ids = _first(holder, _TRACE_IDS) is not None and _first(holder, _SPAN_IDS) is not None
    return has_ids and ("attributes" in value or _first(value, _STARTS) is not None)


def span_objects(value: Json) -> Iterator[dict[str, Any]]:
    """Yield the spans of a document: it is one, a list of them, or has lists a key or two below."""
    if isinstance(value, dict) and is_span(value):
        yield value
    elif isinstance(value, list):
        yield from (item for item in value if is_span(item))
    elif isinstance(value, dict):
        for inner in value.values():
            lists = inner.values() if isinstance(inner, dict) else [inner]
            for items in lists:
                yield from (item for item in read_list(items) if is_span(item))


def plain_span(span: dict[str, Any], faults: Counter[str] | None = None) -> ForeignSpan:
    """Return a span object in our shape.

    Args:
        span: It.
        faults: Takes what is wrong in it: times that cannot be read, which stand among the
            attributes as they are.
    """
    context = _context(span)
    holder = {**context, **span}
    status = span.get("status")
    code, message = _status(status, span)
    scope = next((s for key in _SCOPES if isinstance(s := span.get(key), dict)), {})
    listed = span.get("events") if "events" in span else span.get("span_events")
    resource = read_object(span.get("resource"))
    attributes = _attributes(span)
    times = []
    for keys in (_STARTS, _ENDS):
        raw = _first(span, keys)
        times.append(read_time(raw))
        if not times[-1] and raw not in (None, 0):
            attributes = {**attributes, f"unreadable.{keys[0]}": raw}
            if faults is not None:
                faults[f"{keys[0]}: not a time"] += 1
    start, end = times
    return ForeignSpan(
        read_text(span.get("name")),
        read_id(_first(holder, _TRACE_IDS), TRACE_BYTES),
        read_id(_first(holder, _SPAN_IDS), SPAN_BYTES),
        _parent(span),
        read_kind(span.get("kind")),
        start,
        end or None,
        attributes,
        has_failed(code),
        message,
        tuple(_event(item) for item in read_list(listed) if isinstance(item, dict)),
        tuple(_link(item) for item in read_list(span.get("links")) if isinstance(item, dict)),
        read_text(scope.get("name")),
        read_text(scope.get("version")),
        read_attributes(resource.get("attributes", {})),
    )


def _first(holder: dict[str, Any], keys: tuple[str, ...]) -> Json:
    return next((holder[key] for key in keys if holder.get(key) not in (None, "")), None)


def _context(span: dict[str, Any]) -> dict[str, Any]:
    return next((c for key in _CONTEXTS if isinstance(c := span.get(key), dict)), {})


def _parent(span: dict[str, Any]) -> str | None:
    named = _first(span, _PARENT_IDS)
    if named is None:
        contexts = (span.get(key) for key in _PARENT_CONTEXTS)
        named = next((_first(c, _SPAN_IDS) for c in contexts if isinstance(c, dict)), None)
    return read_id(named, SPAN_BYTES) or None


def _status(status: Json, span: dict[str, Any]) -> tuple[Json, str]:
    if isinstance(status, dict):
        code = _first(status, ("code", "status_code", "statusCode"))
        return code, read_text(_first(status, ("message", "description")))
    code = status if isinstance(status, (str, int)) else span.get("status_code")
    return code, read_text(span.get("status_message"))


def _attributes(span: dict[str, Any]) -> dict[str, Json]:
    found = read_attributes(span.get("attributes"))
    kind = span.get("span_kind")
    if isinstance(kind, str) and "openinference.span.kind" not in found:
        # Phoenix takes the kind out of the attributes.
        return {**found, "openinference.span.kind": kind}
    return found


def _event(event: dict[str, Any]) -> SpanEvent:
    attributes = read_attributes(event.get("attributes"))
    body = event.get("body")
    if body is not None:
        attributes = {**attributes, **(body if isinstance(body, dict) else {"body": body})}
    time = _first(event, ("timestamp", "time", "timeUnixNano", "time_unix_nano"))
    name = _first(event, ("name", "event_name", "eventName"))
    return SpanEvent(read_text(name or attributes.get("event.name")), read_time(time), attributes)


def _link(link: dict[str, Any]) -> Link:
    holder = {**_context(link), **link}
    trace_id = read_id(_first(holder, _TRACE_IDS), TRACE_BYTES)
    return Link(trace_id, read_id(_first(holder, _SPAN_IDS), SPAN_BYTES))

"""Jaeger's JSON, as its interface downloads it and its API answers."""

from __future__ import annotations

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
    read_ns,
    read_object,
    read_text,
)
from tracedance_sdk.trace import Json

_SCOPE_NAMES: Final = ("otel.scope.name", "otel.library.name")
_SCOPE_VERSIONS: Final = ("otel.scope.version", "otel.library.version")
_STATUS: Final = ("otel.status_code", "otel.status_description", "error", "span.kind")
_MICROSECOND_NS: Final = 1000
_LATEST_NS: Final = 2**62


def is_jaeger(value: Json) -> bool:
    """Whether a document holds traces of Jaeger, or is one."""
    if not isinstance(value, dict):
        return False
    traces = value.get("data")
    first = traces[0] if isinstance(traces, list) and traces else value
    return isinstance(first, dict) and "traceID" in first and isinstance(first.get("spans"), list)


def jaeger_spans(document: dict[str, Any]) -> Iterator[ForeignSpan]:
    """Yield the spans of the traces; their times are exact to a microsecond."""
    listed = document.get("data")
    for trace in listed if isinstance(listed, list) else [document]:
        processes = read_object(read_object(trace).get("processes"))
        for span in read_list(read_object(trace).get("spans")):
            if isinstance(span, dict):
                process = read_object(processes.get(read_text(span.get("processID"))))
                yield _span(span, process)


def _span(span: dict[str, Any], process: dict[str, Any]) -> ForeignSpan:
    tags = _tags(span.get("tags"))
    references = [item for item in read_list(span.get("references")) if isinstance(item, dict)]
    parents = [item for item in references if item.get("refType") == "CHILD_OF"]
    start = _nanoseconds(span.get("startTime"))
    resource = _tags(process.get("tags"))
    if isinstance(process.get("serviceName"), str):
        resource = {"service.name": process["serviceName"], **resource}
    code = tags.get("otel.status_code", 2 if tags.get("error") in (True, "true") else 0)
    return ForeignSpan(
        read_text(span.get("operationName")),
        read_id(span.get("traceID"), TRACE_BYTES),
        read_id(span.get("spanID"), SPAN_BYTES),
        (read_id(parents[0].get("spanID"), SPAN_BYTES) or None) if parents else None,
        read_kind(tags.get("span.kind", 1)),
        start,
        start + _nanoseconds(span.get("duration")),
        {k: v for k, v in tags.items() if k not in (*_STATUS, *_SCOPE_NAMES, *_SCOPE_VERSIONS)},
        has_failed(code),
        read_text(tags.get("otel.status_description")),
        tuple(_event(item) for item in read_list(span.get("logs")) if isinstance(item, dict)),
        tuple(_link(item) for item in references if item.get("refType") == "FOLLOWS_FROM"),
        next((read_text(tags[key]) for key in _SCOPE_NAMES if key in tags), ""),
        next((read_text(tags[key]) for key in _SCOPE_VERSIONS if key in tags), ""),
        resource,
    )


def _nanoseconds(microseconds: Json) -> int:
    found = read_ns(microseconds) * _MICROSECOND_NS
    return found if found < _LATEST_NS else 0


def _tags(listed: Json) -> dict[str, Json]:
    return {
        item["key"]: item.get("value")
        for item in read_list(listed)
        if isinstance(item, dict) and isinstance(item.get("key"), str)
    }


def _event(log: dict[str, Any]) -> SpanEvent:
    fields = _tags(log.get("fields"))
    name = read_text(fields.get("event", fields.get("message")))
    return SpanEvent(name, _nanoseconds(log.get("timestamp")), fields)


def _link(reference: dict[str, Any]) -> Link:
    trace_id = read_id(reference.get("traceID"), TRACE_BYTES)
    return Link(trace_id, read_id(reference.get("spanID"), SPAN_BYTES))

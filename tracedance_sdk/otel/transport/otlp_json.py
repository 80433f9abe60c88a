"""OTLP traces and logs in JSON, as the standard has it and as protobuf's own printers write it.

Keys may be camelCase or snake_case, ids hex or base64, enums numbers or names. Tempo's answers
(``batches``, ``trace.resourceSpans``) and the older ``instrumentationLibrarySpans`` are read too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from tracedance_sdk.journal import Link
from tracedance_sdk.otel.foreign import (
    SPAN_BYTES,
    TRACE_BYTES,
    ForeignLog,
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
from tracedance_sdk.otel.transport.anyvalue import read_attributes, read_value
from tracedance_sdk.trace import Json

SPAN_ROOTS: Final = ("resourceSpans", "resource_spans", "batches")
LOG_ROOTS: Final = ("resourceLogs", "resource_logs")
METRIC_ROOTS: Final = ("resourceMetrics", "resource_metrics")
_SPAN_GROUPS: Final = (
    "scopeSpans",
    "scope_spans",
    "instrumentationLibrarySpans",
    "instrumentation_library_spans",
)
_TIMES: Final = (
    ("startTimeUnixNano", "start_time_unix_nano"),
    ("endTimeUnixNano", "end_time_unix_nano"),
)
_NO_TIME: Final[tuple[Json, ...]] = (None, "", 0, "0")
_LOG_GROUPS: Final = ("scopeLogs", "scope_logs")


def is_otlp(value: Json) -> bool:
    """Whether a document is one of OTLP: traces, logs or metrics."""
    if not isinstance(value, dict):
        return False
    inner = value.get("trace")
    keys = value.keys() | (inner.keys() if isinstance(inner, dict) else set())
    return bool(keys & {*SPAN_ROOTS, *LOG_ROOTS, *METRIC_ROOTS})


def has_spans(value: Json) -> bool:
    """Whether a document is one of OTLP's that should hold spans or log records."""
    if not isinstance(value, dict):
        return False
    holder = {**value, **read_object(value.get("trace"))}
    return bool(holder.keys() & {*SPAN_ROOTS, *LOG_ROOTS})


def otlp_spans(
    document: dict[str, Any], faults: Counter[str] | None = None
) -> Iterator[ForeignSpan | ForeignLog]:
    """Yield the spans and log records of a document; metrics say nothing of a run.

    Args:
        document: It.
        faults: Takes what is wrong in it, with how often: what is none of them, and unreadable
            times, which stand among the span's attributes as they are.
    """
    faults = Counter() if faults is None else faults
    document = {**document, **read_object(document.get("trace"))}
    for entry in _entries(document, SPAN_ROOTS, faults):
        resource = read_attributes(read_object(entry.get("resource")).get("attributes"))
        for group in _entries(entry, _SPAN_GROUPS, faults):
            scope = _scope(group)
            for span in _entries(group, ("spans",), faults):
                yield _span(span, scope, resource, faults)
    for entry in _entries(document, LOG_ROOTS, faults):
        resource = read_attributes(read_object(entry.get("resource")).get("attributes"))
        for group in _entries(entry, _LOG_GROUPS, faults):
            name, _ = _scope(group)
            for log in _entries(group, ("logRecords", "log_records"), faults):
                yield _log(log, name, resource)


def _entries(
    holder: dict[str, Any], keys: tuple[str, ...], faults: Counter[str]
) -> Iterator[dict[str, Any]]:
    for key in keys:
        value = holder.get(key)
        if value is not None and not isinstance(value, list):
            faults[f"{key}: not a list"] += 1
        for item in read_list(value):
            if isinstance(item, dict):
                yield item
            else:
                faults[f"{key}: an item that is no object"] += 1


def _scope(group: dict[str, Any]) -> tuple[str, str]:
    for key in ("scope", "instrumentationLibrary", "instrumentation_library"):
        scope = group.get(key)
        if isinstance(scope, dict):
            return read_text(scope.get("name")), read_text(scope.get("version"))
    return "", ""


def _get(holder: dict[str, Any], camel: str, snake: str) -> Json:
    return holder[camel] if camel in holder else holder.get(snake)


def _span(
    span: dict[str, Any], scope: tuple[str, str], resource: dict[str, Json], faults: Counter[str]
) -> ForeignSpan:
    status = read_object(span.get("status"))
    attributes = read_attributes(span.get("attributes"))
    times = []
    for camel, snake in _TIMES:
        raw = _get(span, camel, snake)
        times.append(read_ns(raw))
        if not times[-1] and raw not in _NO_TIME:
            faults[f"{camel}: not a time"] += 1
            attributes = {**attributes, f"unreadable.{camel}": raw}
    start, end = times
    return ForeignSpan(
        read_text(span.get("name")),
        read_id(_get(span, "traceId", "trace_id"), TRACE_BYTES),
        read_id(_get(span, "spanId", "span_id"), SPAN_BYTES),
        read_id(_get(span, "parentSpanId", "parent_span_id"), SPAN_BYTES) or None,
        read_kind(span.get("kind")),
        start,
        end or None,
        attributes,
        has_failed(status.get("code")),
        read_text(status.get("message")),
        tuple(_event(item) for item in _entries(span, ("events",), faults)),
        tuple(_link(item) for item in _entries(span, ("links",), faults)),
        *scope,
        resource,
    )


def _event(event: dict[str, Any]) -> SpanEvent:
    return SpanEvent(
        read_text(event.get("name")),
        read_ns(_get(event, "timeUnixNano", "time_unix_nano")),
        read_attributes(event.get("attributes")),
    )


def _link(link: dict[str, Any]) -> Link:
    return Link(
        read_id(_get(link, "traceId", "trace_id"), TRACE_BYTES),
        read_id(_get(link, "spanId", "span_id"), SPAN_BYTES),
    )


def _log(log: dict[str, Any], scope: str, resource: dict[str, Json]) -> ForeignLog:
    attributes = read_attributes(log.get("attributes"))
    body = read_value(log.get("body", {}))
    named = _get(log, "eventName", "event_name") or attributes.get("event.name")
    time = read_ns(_get(log, "timeUnixNano", "time_unix_nano"))
    time = time or read_ns(_get(log, "observedTimeUnixNano", "observed_time_unix_nano"))
    fields = {**attributes, **body} if isinstance(body, dict) else {**attributes, "body": body}
    return ForeignLog(
        read_id(_get(log, "traceId", "trace_id"), TRACE_BYTES),
        read_id(_get(log, "spanId", "span_id"), SPAN_BYTES),
        SpanEvent(read_text(named), time, fields),
        scope,
        resource,
    )

"""Spans and log records of OpenTelemetry's own SDK, of this very process, in our shape."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any, Final

from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.trace import SpanContext, StatusCode

from tracedance_sdk.journal import Link
from tracedance_sdk.otel.dialects.kinds import step_kind
from tracedance_sdk.otel.foreign import ForeignLog, ForeignSpan, SpanEvent, finite, whole
from tracedance_sdk.trace import Json, type_stub

_MOST_DEPTH: Final = 80


def foreign_span(span: ReadableSpan) -> ForeignSpan:
    """Return a span of the SDK in the shape of spans from files; one still open has no end.

    Args:
        span: Ended or open, as a span processor is given it.

    Example:
        >>> from opentelemetry.sdk.trace import TracerProvider
        >>> span = TracerProvider().get_tracer("mine").start_span("look", attributes={"at": "Rome"})
        >>> found = foreign_span(span)
        >>> found.name, found.scope, found.attributes, found.end_ns
        ('look', 'mine', {'at': 'Rome'}, None)
    """
    context = span.get_span_context()
    scope = span.instrumentation_scope
    status = span.status
    return ForeignSpan(
        _text(span.name),
        "" if context is None else f"{context.trace_id:032x}",
        "" if context is None else f"{context.span_id:016x}",
        None if span.parent is None else f"{span.parent.span_id:016x}",
        # OTLP counts from 1, where 0 is none at all.
        span.kind.value + 1,
        span.start_time or 0,
        span.end_time,
        _attributes(span.attributes),
        status.status_code is StatusCode.ERROR,
        _text(status.description or ""),
        tuple(_event(event) for event in span.events),
        tuple(_link(link.context) for link in span.links),
        "" if scope is None else scope.name,
        "" if scope is None else scope.version or "",
        _attributes(span.resource.attributes),
    )


def foreign_log(emitted: Any) -> ForeignLog:
    """Return a log record of the SDK in the shape of log records from files.

    Args:
        emitted: What a log record processor is given, of SDK 1.37 or later.
    """
    record = emitted.log_record
    scope = emitted.instrumentation_scope
    resource = getattr(emitted, "resource", None) or getattr(record, "resource", None)
    attributes, body = _attributes(record.attributes), _plain(record.body)
    fields = {**attributes, **body} if isinstance(body, dict) else {**attributes, "body": body}
    named = getattr(record, "event_name", None) or attributes.get("event.name")
    return ForeignLog(
        f"{record.trace_id:032x}" if record.trace_id else "",
        f"{record.span_id:016x}" if record.span_id else "",
        SpanEvent(
            named if isinstance(named, str) else "",
            record.timestamp or record.observed_timestamp or 0,
            fields,
        ),
        "" if scope is None else scope.name,
        {} if resource is None else _attributes(resource.attributes),
    )


def is_agent_span(span: ReadableSpan) -> bool:
    """Whether a span of the SDK is an agent's run, in whatever dialect."""
    return step_kind(foreign_span(span))[0] == "agent"


def _event(event: Event) -> SpanEvent:
    return SpanEvent(_text(event.name), event.timestamp, _attributes(event.attributes))


def _link(context: SpanContext) -> Link:
    return Link(f"{context.trace_id:032x}", f"{context.span_id:016x}")


def _attributes(attributes: Mapping[str, Any] | None) -> dict[str, Json]:
    return {_text(key): _plain(value) for key, value in attribute_copy(attributes).items()}


def attribute_copy(attributes: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the attributes of a span, which another thread may be changing, as a plain dict.

    What the SDK holds is copied in one step; going through it takes a lock for each.
    """
    copy = getattr(attributes, "copy", None)
    return attributes or {} if copy is None else copy()


def _text(value: object) -> str:
    """Return plain text of what may be a member of an enumeration of texts.

    Lone surrogates, which no trace can hold, are spelled out.
    """
    text = str.__str__(value) if isinstance(value, str) else str(value)
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _plain(value: object, depth: int = 0) -> Json:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        return whole(value)
    if isinstance(value, float):
        return finite(value)
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode()
    if depth >= _MOST_DEPTH:
        return type_stub("otlp", "nested too deeply")
    if isinstance(value, Mapping):
        return {_text(key): _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [_plain(item, depth + 1) for item in value]
    return type_stub(type(value).__name__, str(value)[:200])

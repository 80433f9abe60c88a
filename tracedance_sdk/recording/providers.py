"""Real spans in the user's own OpenTelemetry provider, for a run that is part of their traces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from opentelemetry import context as otel_context
from opentelemetry import trace as otel_trace
from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import (
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    TracerProvider,
)

from tracedance_sdk.journal import CLIENT, Attributes, SpanRecord
from tracedance_sdk.otel import JSON_ATTRIBUTES, SCHEMA_URL, SCOPE, SCOPE_ATTRIBUTES, readable_span
from tracedance_sdk.recording.identifiers import new_span_id, new_trace_id
from tracedance_sdk.recording.leaving import leaving
from tracedance_sdk.recording.scopes import Scope
from tracedance_sdk.recording.span_limits import provider_attribute_length

if TYPE_CHECKING:
    from tracedance_sdk.recording.remote_parents import RemoteParent

_NOWHERE: Final = Resource.get_empty()
_SCOPE: Final = InstrumentationScope(SCOPE)


class ProviderSpans:
    """Makes, attaches and ends spans of one provider.

    Args:
        provider: An OpenTelemetry tracer provider.
        with_content: Spans hold arguments, results and messages.
    """

    def __init__(self, provider: TracerProvider, *, with_content: bool) -> None:
        self._tracer = provider.get_tracer(
            SCOPE, schema_url=SCHEMA_URL, attributes=dict(SCOPE_ATTRIBUTES)
        )
        self._limit = provider_attribute_length(provider)
        self._with_content = with_content

    def start(
        self,
        name: str,
        attributes: Attributes,
        *,
        parent: Scope | None,
        start_ns: int,
        kind: int,
        remote: RemoteParent | None = None,
    ) -> Span:
        """Return a started span, with what samplers look at.

        Its parent is the user's current span when that belongs to the same trace as `parent`,
        so that spans of theirs in between keep their place. The same holds for `remote`, a span in
        another process.
        """
        around: Context | None = None
        if remote is not None:
            around = _beneath(remote)
        elif parent is not None and isinstance(parent.span, Span):
            here = otel_trace.get_current_span().get_span_context()
            if here.trace_id != parent.span.get_span_context().trace_id:
                around = otel_trace.set_span_in_context(parent.span)
        return self._tracer.start_span(
            name,
            around,
            SpanKind.CLIENT if kind == CLIENT else SpanKind.INTERNAL,
            {key: value for key, value in attributes.items() if key not in JSON_ATTRIBUTES},
            start_time=start_ns,
        )

    def end(self, span: Span, record: SpanRecord) -> None:
        """End a span with everything its record says."""
        sent = leaving(record, with_content=self._with_content)
        fitted = readable_span(
            sent,
            resource=_NOWHERE,
            scope=_SCOPE,
            max_value_length=self._limit,
        )
        span.set_attributes(dict(fitted.attributes or {}))
        if sent.error is not None:
            span.set_status(Status(StatusCode.ERROR, sent.error))
        span.end(record.end_ns)

    def trace_id(self, span: Span) -> str:
        """Return the span's trace id; a fresh one when the provider makes no real spans."""
        found = span.get_span_context().trace_id
        return f"{found:032x}" if found else new_trace_id()

    def span_id(self, span: Span) -> str:
        """Return the span's id; a fresh one when the provider makes no real spans."""
        found = span.get_span_context().span_id
        return f"{found:016x}" if found else new_span_id()

    def attach(self, span: Span) -> object:
        """Make the span OpenTelemetry's current one; return what `detach` needs."""
        return otel_context.attach(otel_trace.set_span_in_context(span))

    def detach(self, token: Any) -> None:
        """Make the span before it current again."""
        otel_context.detach(token)

    def attach_root(self, span: Span) -> Context:
        """Make the run's span the current one; return the context before."""
        before = otel_context.get_current()
        otel_context.attach(otel_trace.set_span_in_context(span))
        return before

    def detach_root(self, span: Span, before: Context) -> None:
        """Make the span before the run current again, if this context is still in the run's span.

        What else the program has put into the context meanwhile stays. A recorder may be closed
        in another context than it was opened in, where a token would be refused.
        """
        if otel_trace.get_current_span() is span:
            around = otel_trace.get_current_span(before)
            otel_context.attach(otel_trace.set_span_in_context(around))


def _beneath(remote: RemoteParent) -> Context | None:
    """Return the context to start a span in; None where the current span is beneath already."""
    trace_id, span_id = int(remote.otel_trace_id, 16), int(remote.span_id, 16)
    if otel_trace.get_current_span().get_span_context().trace_id == trace_id:
        return None
    around = SpanContext(trace_id, span_id, is_remote=True, trace_flags=TraceFlags(1))
    return otel_trace.set_span_in_context(NonRecordingSpan(around))

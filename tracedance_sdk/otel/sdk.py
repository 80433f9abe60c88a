"""Our span records as spans of the OpenTelemetry SDK, for any of its exporters."""

from __future__ import annotations

import hashlib
from typing import Final

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link as SdkLink
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from tracedance_sdk.journal import CLIENT, Attribute, Attributes, SpanRecord
from tracedance_sdk.otel.json_texts import json_text
from tracedance_sdk.otel.names import DROPPED, JSON_ATTRIBUTES
from tracedance_sdk.trace import blob_stub

_SAMPLED: Final = TraceFlags(TraceFlags.SAMPLED)
_INT_MIN, _INT_MAX = -(2**63), 2**63 - 1


def readable_span(
    record: SpanRecord,
    *,
    resource: Resource,
    scope: InstrumentationScope,
    max_value_length: int | None = None,
) -> ReadableSpan:
    """Return a record as an ended span that every SDK exporter takes.

    Args:
        record: The span.
        resource: Who reports it.
        scope: What recorded it.
        max_value_length: Longest text of an attribute, in characters; None for no limit. JSON is
            never cut: a longer value becomes a blob stub with its size and hash. What does not
            fit even so is left out and named in ``tracedance.attributes.dropped``.
    """
    context = _context(record.trace_id, record.span_id)
    failed = record.error is not None
    return ReadableSpan(
        name=_clean(record.name),
        context=context,
        parent=None if record.parent_id is None else _context(record.trace_id, record.parent_id),
        resource=resource,
        attributes=_fitting(record.attributes, max_value_length),
        links=[SdkLink(_context(link.trace_id, link.span_id)) for link in record.links],
        kind=SpanKind.CLIENT if record.kind == CLIENT else SpanKind.INTERNAL,
        status=Status(StatusCode.ERROR, _clean(record.error or "")) if failed else Status(),
        start_time=record.start_ns,
        end_time=record.end_ns,
        instrumentation_scope=scope,
    )


def _context(trace_id: str, span_id: str) -> SpanContext:
    return SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=False, trace_flags=_SAMPLED)


def _fitting(attributes: Attributes, limit: int | None) -> Attributes:
    found: Attributes = {}
    dropped: list[str] = []
    for key, value in attributes.items():
        fitted = _exportable(value) if limit is None else _fitted(key, _exportable(value), limit)
        if fitted is None:
            dropped.append(key)
        else:
            found[_clean(key)] = fitted
    if dropped:
        found[DROPPED] = tuple(dropped)
    return found


def _fitted(key: str, value: Attribute, limit: int) -> Attribute | None:
    """Return the value within the limit; None when there is no valid way to shorten it."""
    if isinstance(value, tuple):
        return tuple(item[:limit] for item in value)
    if not isinstance(value, str) or len(value) <= limit:
        return value
    if key not in JSON_ATTRIBUTES:
        return value[:limit]
    data = value.encode()
    stub = json_text(blob_stub(hashlib.sha256(data).hexdigest(), len(data)))
    return stub if len(stub) <= limit else None


def _exportable(value: Attribute) -> Attribute:
    if isinstance(value, str):
        return _clean(value)
    if isinstance(value, tuple):
        return tuple(_clean(item) for item in value)
    if type(value) is int and not _INT_MIN <= value <= _INT_MAX:
        return str(value)
    return value


def _clean(text: str) -> str:
    """Spell out lone surrogates, which no exporter can encode."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")

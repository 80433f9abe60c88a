"""Our records as spans of the real SDK, through its real encoders and exporters."""

from __future__ import annotations

import base64
import hashlib
import io
import json
from typing import Any

import pytest
from google.protobuf import json_format
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from tests.journal.records import spans
from tests.support.traces import traces
from tracedance_sdk.journal import CLIENT, Attributes, Link, SpanRecord, otlp_records
from tracedance_sdk.otel import (
    SCHEMA_URL,
    SCOPE,
    SCOPE_ATTRIBUTES,
    assemble,
    readable_span,
    trace_records,
)
from tracedance_sdk.trace import Trace, blob_digest

RESOURCE = Resource({"service.name": "desk"})
WHERE = InstrumentationScope(SCOPE, "1", SCHEMA_URL, dict(SCOPE_ATTRIBUTES))


def as_span(record: SpanRecord, limit: int | None = None) -> ReadableSpan:
    return readable_span(record, resource=RESOURCE, scope=WHERE, max_value_length=limit)


def with_attributes(attributes: Attributes) -> SpanRecord:
    return SpanRecord("x", "0a" * 16, "0b" * 8, None, CLIENT, 5, 9, attributes)


@given(spans)
def test_every_record_is_encoded_as_otlp_with_nothing_lost(record: SpanRecord) -> None:
    request = encode_spans([as_span(record)])
    [span] = request.resource_spans[0].scope_spans[0].spans
    assert (span.trace_id.hex(), span.span_id.hex()) == (record.trace_id, record.span_id)
    assert span.parent_span_id.hex() == (record.parent_id or "")
    assert span.name == record.name
    assert (span.start_time_unix_nano, span.end_time_unix_nano) == (record.start_ns, record.end_ns)
    assert span.status.code == (0 if record.error is None else 2)
    assert span.status.message == (record.error or "")
    assert [Link(a.trace_id.hex(), a.span_id.hex()) for a in span.links] == list(record.links)
    assert {item.key for item in span.attributes} == set(record.attributes)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(traces(), st.sampled_from([None, 1, 90, 130, 1000]))
def test_every_trace_is_exported_and_json_stays_json(trace: Trace, limit: int | None) -> None:
    records = trace_records(trace)
    found = [as_span(record, limit) for record in records]
    assert encode_spans(found).ByteSize() > 0
    for record, span in zip(records, found, strict=True):
        for key, value in (span.attributes or {}).items():
            if key.endswith((".messages", ".arguments", ".state.initial", ".patch")):
                json.loads(str(value))
            if limit is not None and isinstance(value, str):
                assert len(value) <= limit
        dropped = (span.attributes or {}).get("tracedance.attributes.dropped", ())
        assert isinstance(dropped, tuple)
        assert {*(span.attributes or {}), *dropped} - {"tracedance.attributes.dropped"} == set(
            record.attributes
        )


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(traces())
def test_a_trace_sent_by_otlp_and_read_back_is_equal(trace: Trace) -> None:
    request = encode_spans([as_span(record) for record in trace_records(trace)])
    document = json_format.MessageToDict(request)
    for span in document["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        for key in span.keys() & {"traceId", "spanId", "parentSpanId"}:
            span[key] = base64.b64decode(span[key]).hex()
    assert assemble(otlp_records(document, where="request")) == [trace]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(traces(), st.sampled_from([60, 110, 150, 300]))
def test_a_trace_exported_under_a_limit_is_still_read(trace: Trace, limit: int) -> None:
    records = trace_records(trace)
    cut: list[dict[str, Any]] = [dict(as_span(r, limit).attributes or {}) for r in records]
    [found] = assemble(r._replace(attributes=a) for r, a in zip(records, cut, strict=True))
    executed = [call for call in trace.calls if call.result is not None]
    assert len(found.calls) >= len(executed)
    assert assemble(trace_records(found)) == [found]


def test_long_json_becomes_a_stub_and_other_text_is_cut() -> None:
    text = json.dumps("x" * 500)
    record = with_attributes(
        {"gen_ai.tool.call.result": text, "tracedance.error.message": "y" * 500, "n": 5}
    )
    attributes = as_span(record, 120).attributes or {}
    stub = json.loads(str(attributes["gen_ai.tool.call.result"]))
    assert blob_digest(stub) == hashlib.sha256(text.encode()).hexdigest()
    assert stub["$size"] == 502
    assert attributes["tracedance.error.message"] == "y" * 120
    assert attributes["n"] == 5


def test_json_whose_stub_does_not_fit_is_left_out_and_named() -> None:
    record = with_attributes({"gen_ai.tool.call.result": json.dumps("x" * 500), "n": 5})
    assert dict(as_span(record, 50).attributes or {}) == {
        "n": 5,
        "tracedance.attributes.dropped": ("gen_ai.tool.call.result",),
    }


def test_what_no_exporter_can_encode_is_spelled_out() -> None:
    record = with_attributes({"big": 2**70, "text": "\ud800", "list": ("\ud800",)})
    span = as_span(record._replace(error="\udfff", name="\ud800"))
    assert encode_spans([span]).ByteSize() > 0
    assert dict(span.attributes or {}) == {
        "big": "1180591620717411303424",
        "text": "\\ud800",
        "list": ("\\ud800",),
    }


def test_the_sdks_own_exporters_take_our_spans() -> None:
    span = as_span(with_attributes({"gen_ai.operation.name": "chat", "n": 1}))
    memory = InMemorySpanExporter()
    assert memory.export([span]) is SpanExportResult.SUCCESS
    assert memory.get_finished_spans() == (span,)
    out = io.StringIO()
    assert ConsoleSpanExporter(out=out).export([span]) is SpanExportResult.SUCCESS
    assert json.loads(out.getvalue())["attributes"] == {"gen_ai.operation.name": "chat", "n": 1}


@pytest.mark.parametrize("limit", [None, 0])
def test_numbers_and_flags_have_no_length(limit: int | None) -> None:
    record = with_attributes({"a": 1, "b": 2.5, "c": True, "d": ()})
    assert dict(as_span(record, limit).attributes or {}) == record.attributes

"""Traces written as OTLP files and read back."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from tracedance_collectors.otlp import collector

from tests.support.traces import traces
from tracedance_sdk.otel import assemble, otlp_lines, spans_of_document, trace_records
from tracedance_sdk.trace import Trace, parse_json

many = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@many
@given(traces())
def test_a_trace_written_as_an_otlp_file_and_read_back_is_equal(trace: Trace) -> None:
    records: list[Any] = []
    for line in otlp_lines(trace):
        assert b"\n" not in line
        records += spans_of_document(parse_json(line, where="line"), where="line")
    assert assemble(records) == [trace]


@settings(max_examples=30, deadline=None)
@given(st.lists(traces(), min_size=1, max_size=3, unique_by=lambda trace: trace.id))
def test_a_file_of_several_traces_gives_each_of_them(found: list[Trace]) -> None:
    apart = [t.model_copy(update={"otel": None}) for t in found]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "traces.jsonl"
        path.write_bytes(b"".join(line + b"\n" for t in apart for line in otlp_lines(t)))
        read = list(collector.collect(path))
    by_id = {trace.id: trace for trace in read if isinstance(trace, Trace)}
    assert len(read) == len(apart)
    for trace in apart:
        again = by_id[trace.id].model_copy(update={"otel": None, "fidelity": trace.fidelity})
        assert again == trace


def test_the_lines_are_what_the_standard_says() -> None:
    from google.protobuf.json_format import Parse

    trace = Trace(id="a", metadata={"n": 1})
    [line] = otlp_lines(trace)
    hexed = parse_json(line, where="line")
    [span] = hexed["resourceSpans"][0]["scopeSpans"][0]["spans"]
    assert (len(span["traceId"]), len(span["spanId"]), span["kind"]) == (32, 16, 1)
    assert span["startTimeUnixNano"] == "0"
    request = Parse(line, ExportTraceServiceRequest())
    [written] = request.resource_spans[0].scope_spans[0].spans
    assert written.name == trace_records(trace)[0].name

"""One run in every encoding that people meet: printers of SDKs, collectors' files, backends."""

from __future__ import annotations

import base64
import contextlib
import gc
import gzip
import io
import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard
from google.protobuf.json_format import MessageToDict, MessageToJson
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode
from tracedance_collectors.otlp import collector

from tracedance_sdk.errors import TraceDanceError
from tracedance_sdk.formats import ImportProblem
from tracedance_sdk.otel import ForeignSpan, is_binary, spans_of_document, spans_of_file
from tracedance_sdk.trace import Trace

ASKED = [{"role": "user", "parts": [{"type": "text", "content": "Weather in Paris?"}]}]
CALL = {"type": "tool_call", "id": "c1", "name": "weather", "arguments": {"city": "Paris"}}
CALLED = [{"role": "assistant", "parts": [CALL], "finish_reason": "tool_call"}]


@pytest.fixture(scope="module")
def spans() -> list[ReadableSpan]:
    """Spans of a small run, recorded by the OpenTelemetry SDK.

    Its provider is gone when they are returned: one that is alive would act in every process that
    later tests fork.
    """
    found = recorded()
    gc.collect()
    return found


def recorded() -> list[ReadableSpan]:
    kept = InMemorySpanExporter()
    resource = Resource({"service.name": "weather-service"})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(kept))
    tracer = provider.get_tracer("weather", "1.2")
    with tracer.start_as_current_span("invoke_agent w") as root:
        root.set_attributes({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "w"})
        with tracer.start_as_current_span("chat m") as chat:
            chat.set_attributes(
                {
                    "gen_ai.operation.name": "chat",
                    "gen_ai.request.model": "m",
                    "gen_ai.request.temperature": 0.5,
                    "gen_ai.usage.input_tokens": 7,
                    "gen_ai.response.finish_reasons": ["tool_call"],
                    "gen_ai.input.messages": json.dumps(ASKED),
                    "gen_ai.output.messages": json.dumps(CALLED),
                }
            )
        with tracer.start_as_current_span("execute_tool weather") as tool:
            tool.set_attributes(
                {
                    "gen_ai.operation.name": "execute_tool",
                    "gen_ai.tool.name": "weather",
                    "gen_ai.tool.call.id": "c1",
                    "gen_ai.tool.call.arguments": '{"city":"Paris"}',
                    "error.type": "TimeoutError",
                }
            )
            tool.add_event("retry", {"n": 1})
            tool.set_status(StatusCode.ERROR, "too slow")
    return list(kept.get_finished_spans())


def printed(spans: list[ReadableSpan]) -> bytes:
    out = io.StringIO()
    ConsoleSpanExporter(out=out).export(spans)
    return out.getvalue().encode()


def lines(spans: list[ReadableSpan]) -> bytes:
    metrics = b'{"resourceMetrics":[{"scopeMetrics":[]}]}\n'
    logs = b'{"resourceLogs":[]}\n'
    each = [json.dumps(standard([span])).encode() + b"\n" for span in spans]
    return metrics + logs.join(each)


def standard(spans: list[ReadableSpan]) -> dict[str, Any]:
    """Return OTLP-JSON as the standard wants it: hex ids and numbers of enums."""
    document: dict[str, Any] = MessageToDict(encode_spans(spans), use_integers_for_enums=True)
    for group in document["resourceSpans"][0]["scopeSpans"]:
        for span in group["spans"]:
            for key in ("traceId", "spanId", "parentSpanId"):
                if key in span:
                    span[key] = base64.b64decode(span[key]).hex().upper()
    return document


def prefixed(*messages: bytes) -> bytes:
    return b"".join(struct.pack(">I", len(m)) + m for m in messages)


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


def each(spans: list[ReadableSpan]) -> list[bytes]:
    return [encode_spans([span]).SerializeToString() for span in spans]


def tempo(spans: list[ReadableSpan]) -> bytes:
    document = MessageToDict(encode_spans(spans))
    return json.dumps({"batches": document["resourceSpans"]}).encode()


def tempo_2(spans: list[ReadableSpan]) -> bytes:
    return json.dumps({"trace": MessageToDict(encode_spans(spans)), "status": 1}).encode()


def phoenix(spans: list[ReadableSpan]) -> bytes:
    listed = []
    for span in spans:
        read = json.loads(span.to_json())
        ids = {key: read["context"][key].removeprefix("0x") for key in ("trace_id", "span_id")}
        parent = read["parent_id"]
        listed.append(
            {
                "id": "U3Bhbjox",
                "name": read["name"],
                "context": ids,
                "span_kind": "UNKNOWN",
                "parent_id": None if parent is None else parent.removeprefix("0x"),
                "start_time": read["start_time"],
                "end_time": read["end_time"],
                "status_code": read["status"]["status_code"],
                "status_message": read["status"].get("description", ""),
                "attributes": read["attributes"],
                "events": read["events"],
            }
        )
    return json.dumps(listed).encode()


def jaeger(spans: list[ReadableSpan]) -> bytes:
    found: list[dict[str, Any]] = []
    trace_id = ""
    for span in spans:
        assert span.context is not None
        tags = [
            {"key": k, "type": "string", "value": json.dumps(v) if isinstance(v, tuple) else v}
            for k, v in (span.attributes or {}).items()
        ]
        tags.append({"key": "otel.scope.name", "type": "string", "value": "weather"})
        tags.append({"key": "otel.scope.version", "type": "string", "value": "1.2"})
        if not span.status.is_ok:
            tags.append({"key": "error", "type": "bool", "value": True})
            told = {"key": "otel.status_description", "value": span.status.description}
            tags.append({"type": "string", **told})
        parents = [] if span.parent is None else [f"{span.parent.span_id:x}"]
        trace_id = f"{span.context.trace_id:x}"
        fields = {"key": "event", "type": "string", "value": "retry"}
        number = {"key": "n", "type": "int64", "value": 1}
        found.append(
            {
                "traceID": trace_id,
                "spanID": f"{span.context.span_id:x}",
                "operationName": span.name,
                "references": [
                    {"refType": "CHILD_OF", "traceID": trace_id, "spanID": p} for p in parents
                ],
                "startTime": (span.start_time or 0) // 1000,
                "duration": ((span.end_time or 0) - (span.start_time or 0)) // 1000,
                "tags": tags,
                "logs": [{"timestamp": 1, "fields": [fields, number]}] if span.events else [],
                "processID": "p1",
            }
        )
    process = {"serviceName": "weather-service", "tags": []}
    return json.dumps(
        {"data": [{"traceID": trace_id, "spans": found, "processes": {"p1": process}}]}
    ).encode()


ENCODINGS: dict[str, Callable[[list[ReadableSpan]], bytes]] = {
    "otlp.json": lambda spans: json.dumps(standard(spans)).encode(),
    "collector.jsonl": lines,
    "printer.json": lambda spans: MessageToJson(encode_spans(spans)).encode(),
    "snake.json": lambda spans: MessageToJson(
        encode_spans(spans), preserving_proto_field_name=True
    ).encode(),
    "request.pb": lambda spans: encode_spans(spans).SerializeToString(),
    "request.pb.gz": lambda spans: gzip.compress(encode_spans(spans).SerializeToString()),
    "prefixed.bin": lambda spans: prefixed(*each(spans)),
    "packed.bin": lambda spans: prefixed(*(zstd(message) for message in each(spans))),
    "packed.json": lambda spans: prefixed(
        *(zstd(json.dumps(standard([span])).encode()) for span in spans)
    ),
    "native.zst": lambda spans: b"".join(
        zstd(json.dumps(standard([span])).encode() + b"\n") for span in spans
    ),
    "console.txt": printed,
    "spans.json": lambda spans: json.dumps([json.loads(s.to_json()) for s in spans]).encode(),
    "phoenix.json": phoenix,
    "tempo.json": tempo,
    "tempo2.json": tempo_2,
    "jaeger.json": jaeger,
}  # fmt: skip


@pytest.mark.parametrize("name", ENCODINGS)
def test_every_encoding_gives_the_same_run(
    name: str, spans: list[ReadableSpan], tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(ENCODINGS[name](spans))
    [trace] = collector.collect(path)
    assert isinstance(trace, Trace), trace
    [call] = trace.calls
    assert (call.id, call.name, call.arguments, call.bound_by) == (
        "c1",
        "weather",
        {"city": "Paris"},
        "id",
    )
    assert call.result is not None
    assert call.result.error is not None
    assert (call.result.ok, call.result.error.type, call.result.error.message) == (
        False,
        "TimeoutError",
        "too slow",
    )
    assert (call.model_extra or {})["otel"]["spans"][0]["events"] == [
        {"name": "retry", "attributes": {"n": 1} | ({"event": "retry"} if "jaeger" in name else {})}
    ]
    user, assistant = trace.turns
    assert (user.text, assistant.model, assistant.finish_reason) == (
        "Weather in Paris?",
        "m",
        "tool_call",
    )
    assert assistant.settings == {"temperature": 0.5}
    assert assistant.usage is not None
    assert assistant.usage.input_tokens == 7
    root = spans[-1]
    assert root.context is not None
    assert trace.otel is not None
    assert trace.otel.trace_id == f"{root.context.trace_id:032x}"
    assert trace.otel.root_span_id == f"{root.context.span_id:016x}"
    assert trace.started_at is not None
    assert abs(trace.started_at.timestamp() * 1e9 - (root.start_time or 0)) < 2000


@pytest.mark.parametrize("name", ENCODINGS)
def test_every_encoding_is_recognised(name: str, spans: list[ReadableSpan], tmp_path: Path) -> None:
    from tracedance_sdk.formats import collect_paths

    path = tmp_path / name
    path.write_bytes(ENCODINGS[name](spans))
    assert [found.collector for found in collect_paths([path])] == ["otlp"]


def test_spans_given_twice_count_once(spans: list[ReadableSpan], tmp_path: Path) -> None:
    path = tmp_path / "twice.jsonl"
    once = json.dumps(standard(spans)).encode() + b"\n"
    path.write_bytes(once * 3)
    [trace] = collector.collect(path)
    assert isinstance(trace, Trace)
    assert (len(trace.turns), len(trace.calls)) == (2, 1)


def test_a_damaged_line_costs_only_itself(spans: list[ReadableSpan], tmp_path: Path) -> None:
    path = tmp_path / "damaged.jsonl"
    path.write_bytes(b'{"resourceSpans": [\n' + lines(spans) + b'{"x": 1}\n')
    found = list(collector.collect(path))
    problems = [item for item in found if isinstance(item, ImportProblem)]
    assert [problem.line for problem in problems] == [1, 8]
    assert len(found) == 3


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (prefixed(b'{"resourceSpans":[]}')[:-3], "it ends within the message at byte 4"),
        (prefixed(b"\x28\xb5\x2f\xfdnonsense"), "damaged zstd data"),
        (b"\x0a\xff\xff\xff\xff\x0f", "neither traces nor logs"),
    ],
    ids=["cut", "not zstd", "not protobuf"],
)
def test_damaged_binary_files_are_one_problem(data: bytes, what: str, tmp_path: Path) -> None:
    path = tmp_path / "spans.pb"
    path.write_bytes(data)
    [problem] = collector.collect(path)
    assert isinstance(problem, ImportProblem)
    assert what in str(problem)


def test_packed_messages_are_unpacked_within_bounds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tracedance_sdk.otel.transport import protobuf

    monkeypatch.setattr(protobuf, "MAX_MESSAGE_BYTES", 1_000_000)
    path = tmp_path / "bomb.bin"
    path.write_bytes(prefixed(zstd(b"\0" * 50_000_000)))
    [problem] = collector.collect(path)
    assert "unpacks to more than 1,000,000 bytes" in str(problem)


def test_log_records_join_the_span_they_belong_to(tmp_path: Path) -> None:
    ids = {"traceId": "ab" * 16, "spanId": "cd" * 8}
    span = {
        **ids,
        "name": "chat m",
        "startTimeUnixNano": "5",
        "endTimeUnixNano": "9",
        "attributes": [
            {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
            {"key": "gen_ai.system", "value": {"stringValue": "openai"}},
        ],
    }
    traces = {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}

    def log(name: str, **body: Any) -> dict[str, Any]:
        pairs = [{"key": k, "value": {"stringValue": v}} for k, v in body.items()]
        return {**ids, "eventName": name, "body": {"kvlistValue": {"values": pairs}}}

    records = [log("gen_ai.user.message", content="hi"), log("gen_ai.choice", message="hello")]
    logs = {"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}
    path = tmp_path / "both.jsonl"
    path.write_text(json.dumps(logs) + "\n" + json.dumps(traces))
    [trace] = collector.collect(path)
    assert isinstance(trace, Trace)
    assert [turn.text for turn in trace.turns] == ["hi", "hello"]


_WORDS = (
    *("resourceSpans", "scopeSpans", "spans", "attributes", "key", "value", "stringValue"),
    *("kvlistValue", "arrayValue", "values", "traceId", "spanId", "parentSpanId", "name"),
    *("startTimeUnixNano", "events", "links", "status", "code", "body", "batches", "context"),
    *("data", "traceID", "spanID", "references", "processes", "tags", "trace_id", "span_id"),
    *("resourceLogs", "scopeLogs", "logRecords", "start_time", "end_time", "span_events"),
)
_json = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.one_of(st.text(max_size=5), st.sampled_from(_WORDS)),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=20,
)


@settings(max_examples=300, deadline=None)
@given(_json)
def test_no_document_breaks_the_reading(value: Any) -> None:
    try:
        found = list(spans_of_document(value, where="here"))
    except TraceDanceError:
        return
    for record in found:
        if isinstance(record, ForeignSpan):
            assert isinstance(record.attributes, dict)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60))
def test_no_bytes_break_the_reading(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.mktemp("bytes", numbered=True) / "spans.pb"
    path.write_bytes(data)
    is_binary(path, data)
    with contextlib.suppress(TraceDanceError):
        list(spans_of_file(path))

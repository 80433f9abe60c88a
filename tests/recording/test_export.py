"""Spans that leave the process, and the providers of others, which are left alone."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from inline_snapshot import snapshot
from opentelemetry import trace as otel
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tracedance_sdk.recording import TraceRecorder, agent, tool
from tracedance_sdk.recording.exporting import PATIENCE_SECONDS
from tracedance_sdk.recording.tallies import LATE

ARGUMENTS, RESULT = "gen_ai.tool.call.arguments", "gen_ai.tool.call.result"


@tool
def look(what: str) -> dict[str, str]:
    return {"seen": what}


@tool
def fail() -> None:
    raise ValueError("no")


@tool
def outer(what: str) -> dict[str, str]:
    with otel.get_tracer(__name__).start_as_current_span("not ours"):
        return look(what)


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


class Theirs:
    """A program's own provider, with everything it exports."""

    def __init__(self, **options: Any) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider(resource=Resource({"service.name": "theirs"}), **options)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracer = self.provider.get_tracer("theirs")

    @property
    def spans(self) -> dict[str, ReadableSpan]:
        return {span.name: span for span in self.exporter.get_finished_spans()}


@pytest.fixture
def theirs() -> Iterator[Theirs]:
    found = Theirs()
    yield found
    found.provider.shutdown()


def parent_id(span: ReadableSpan) -> int | None:
    return None if span.parent is None else span.parent.span_id


def span_id(span: ReadableSpan) -> int:
    assert span.context is not None
    return int(span.context.span_id)


def json_attributes(span: ReadableSpan) -> dict[str, Any]:
    from tracedance_sdk.otel import JSON_ATTRIBUTES

    return {
        key: json.loads(str(value))
        for key, value in (span.attributes or {}).items()
        if key in JSON_ATTRIBUTES
    }


def test_a_run_is_exported_by_the_conventions(exporter: InMemorySpanExporter) -> None:
    with TraceRecorder(agent="desk", exporter=exporter) as recorder:
        recorder.record_turn("user", "hi")
        recorder.record_turn("assistant", "looking", model="m-1")
        look("sky")
        with pytest.raises(ValueError, match="no"):
            fail()

    spans = exporter.get_finished_spans()
    names = {span_id(span): span.name for span in spans}
    assert [
        (
            span.name,
            span.kind.name,
            names.get(parent_id(span) or 0),
            span.status.status_code.name,
            span.status.description,
            dict(span.attributes or {}).get("error.type"),
        )
        for span in spans
    ] == snapshot(
        [
            ("chat m-1", "CLIENT", "invoke_agent desk", "UNSET", None, None),
            ("execute_tool look", "INTERNAL", "invoke_agent desk", "UNSET", None, None),
            ("execute_tool fail", "INTERNAL", "invoke_agent desk", "ERROR", "no", "ValueError"),
            ("invoke_agent desk", "INTERNAL", None, "UNSET", None, None),
        ]
    )
    assert json_attributes(spans[1]) == {ARGUMENTS: {"what": "sky"}, RESULT: {"seen": "sky"}}
    assert spans[0].instrumentation_scope is not None
    assert spans[0].instrumentation_scope.name == "tracedance"
    summary = recorder.close()
    assert (summary.exported, summary.dropped) == (4, {})


def test_what_was_exported_reads_back_as_the_trace(exporter: InMemorySpanExporter) -> None:
    from tracedance_sdk.journal import SpanRecord
    from tracedance_sdk.otel import assemble

    with TraceRecorder(exporter=exporter, state={"n": 1}) as recorder:
        recorder.record_turn("user", "hi")
        recorder.record_turn("assistant", calls=[{"id": "a", "name": "look"}])
        look("sky")
        recorder.record_turn("user", "bye")

    records = [
        SpanRecord(
            span.name,
            f"{span.context.trace_id:032x}",
            f"{span.context.span_id:016x}",
            None if span.parent is None else f"{span.parent.span_id:016x}",
            span.kind.value + 1,
            span.start_time or 0,
            span.end_time or 0,
            dict(span.attributes or {}),  # type: ignore[arg-type]
        )
        for span in exporter.get_finished_spans()
        if span.context is not None
    ]
    assert assemble(records) == [recorder.trace]


@pytest.mark.parametrize(
    "variable", ["OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT"]
)
def test_under_a_length_limit_every_json_attribute_parses_and_the_trace_keeps_the_whole(
    variable: str, exporter: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "1028")
    long = '"\\' * 2000
    with TraceRecorder(exporter=exporter, system_prompt=long, state={"s": long}) as recorder:
        recorder.record_turn("user", long)
        recorder.record_turn("assistant", long)
        look(long)

    for span in exporter.get_finished_spans():
        assert json_attributes(span)
        assert all(len(str(value)) <= 1028 for value in (span.attributes or {}).values())
    trace = recorder.trace
    assert trace.system_prompt == trace.turns[0].text == trace.turns[1].text == long
    assert trace.calls[0].arguments == {"what": long}
    assert trace.initial_state == {"s": long}


def test_under_the_limit_of_the_users_own_provider_too() -> None:
    theirs = Theirs(span_limits=SpanLimits(max_span_attribute_length=1028))
    with TraceRecorder(tracer_provider=theirs.provider) as recorder:
        look("x" * 5000)

    (arguments,) = json_attributes(theirs.spans["execute_tool look"])[ARGUMENTS].keys() - {"$size"}
    assert arguments == "$blob"
    assert recorder.trace.calls[0].arguments == {"what": "x" * 5000}


@pytest.mark.parametrize(
    ("variable", "option", "held"),
    [
        (None, None, True), (None, "on", True), (None, "off", False),
        ("NO_CONTENT", None, False), ("no_content", "on", False), ("SPAN_ONLY", "off", True),
        ("EVENT_ONLY", None, False), ("SPAN_AND_EVENT", None, True), ("true", None, True),
        ("false", None, False),
    ],
)  # fmt: skip
def test_content_of_spans_is_a_choice_and_the_trace_holds_it_anyway(
    variable: str | None,
    option: Any,
    *,
    held: bool,
    exporter: InMemorySpanExporter,
    theirs: Theirs,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if variable is not None:
        monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", variable)
    for extra in ({"exporter": exporter}, {"tracer_provider": theirs.provider}):
        with TraceRecorder(content=option, system_prompt="secret plan", **extra) as recorder:
            recorder.record_turn("assistant", "secret plan")
            look("secret plan")
        assert recorder.trace.calls[0].arguments == {"what": "secret plan"}
        assert recorder.trace.turns[0].text == "secret plan"

    for spans in (exporter.get_finished_spans(), theirs.exporter.get_finished_spans()):
        assert len(spans) == 3
        assert ("secret plan" in str([span.to_json() for span in spans])) is held


def test_nothing_is_exported_unless_asked_for() -> None:
    before = set(threading.enumerate())
    with TraceRecorder() as recorder:
        look("x")

    assert recorder.close().exported == 0
    assert set(threading.enumerate()) <= before


def test_an_isolated_run_is_linked_to_the_ambient_span_and_disturbs_nobody(
    exporter: InMemorySpanExporter, theirs: Theirs
) -> None:
    with theirs.tracer.start_as_current_span("request"):
        ambient = otel.get_current_span()
        with TraceRecorder(exporter=exporter):
            assert otel.get_current_span() is ambient

            @tool
            def step() -> None:
                assert otel.get_current_span() is ambient
                theirs.tracer.start_span("their own").end()

            step()
        assert otel.get_current_span() is ambient

    spans = theirs.spans
    assert set(spans) == {"request", "their own"}
    assert parent_id(spans["their own"]) == span_id(spans["request"])
    root = next(s for s in exporter.get_finished_spans() if s.name == "invoke_agent agent")
    assert root.context is not None
    assert spans["request"].context is not None
    assert root.parent is None
    assert root.context.trace_id != spans["request"].context.trace_id
    assert [link.context.span_id for link in root.links] == [span_id(spans["request"])]


def test_with_the_users_provider_spans_nest_in_theirs_and_theirs_in_ours(theirs: Theirs) -> None:
    with (
        theirs.tracer.start_as_current_span("request"),
        TraceRecorder(tracer_provider=theirs.provider) as recorder,
    ):
        recorder.record_turn("assistant", "hi", model="m")

        @tool
        def step() -> None:
            with theirs.tracer.start_as_current_span("inside"):
                look("deep")

        step()
        with theirs.tracer.start_as_current_span("between"):
            look("wide")

    spans = theirs.exporter.get_finished_spans()
    names = {span_id(span): span.name for span in spans}
    tree = [(span.name, names.get(parent_id(span) or 0)) for span in spans]
    assert sorted(tree, key=str) == snapshot(
        [
            ("between", "invoke_agent agent"),
            ("chat m", "invoke_agent agent"),
            ("execute_tool look", "between"),
            ("execute_tool look", "inside"),
            ("execute_tool step", "invoke_agent agent"),
            ("inside", "execute_tool step"),
            ("invoke_agent agent", "request"),
            ("request", None),
        ]
    )
    assert recorder.trace.otel is not None
    assert {f"{s.context.trace_id:032x}" for s in spans if s.context} == {
        recorder.trace.otel.trace_id
    }
    assert [(c.arguments, c.parent_call_id is None) for c in recorder.trace.calls] == [
        ({}, True),
        ({"what": "deep"}, False),
        ({"what": "wide"}, True),
    ]


def test_spans_of_generators_are_current_only_while_their_body_runs(theirs: Theirs) -> None:
    seen: list[str] = []

    def current() -> str:
        return getattr(otel.get_current_span(), "name", "none")

    @tool
    def rows() -> Iterator[int]:
        seen.append(current())
        yield 1
        seen.append(current())

    @tool
    async def stream() -> Any:
        seen.append(current())
        yield 1
        await asyncio.sleep(0)
        seen.append(current())

    async def read() -> None:
        async for _ in stream():
            seen.append(current())

    with TraceRecorder(tracer_provider=theirs.provider):
        for _ in rows():
            seen.append(current())
        asyncio.run(read())

    root, ours, theirs_ = "invoke_agent agent", "execute_tool rows", "execute_tool stream"
    assert seen == [ours, root, ours, theirs_, root, theirs_]
    assert current() == "none"


def test_sub_agents_in_the_users_provider_share_its_trace(theirs: Theirs) -> None:
    @agent
    def helper() -> dict[str, str]:
        return look("sub")

    @tool
    def ask() -> dict[str, str]:
        return helper()

    with TraceRecorder(tracer_provider=theirs.provider) as recorder:
        ask()

    spans = theirs.spans
    assert parent_id(spans["invoke_agent helper"]) == span_id(spans["execute_tool ask"])
    assert parent_id(spans["execute_tool look"]) == span_id(spans["invoke_agent helper"])
    lead, sub = recorder.traces
    assert lead.otel is not None
    assert sub.otel is not None
    assert sub.otel.trace_id == lead.otel.trace_id


def test_a_sub_agent_with_a_provider_of_its_own_keeps_its_parent_without_a_false_span(
    theirs: Theirs,
) -> None:
    with TraceRecorder() as outer, TraceRecorder(tracer_provider=theirs.provider) as inner:
        look("x")

    assert inner.trace.parent is not None
    assert inner.trace.parent.trace_id == outer.trace.id
    assert parent_id(theirs.spans["invoke_agent agent"]) is None
    assert [call.arguments for call in inner.trace.calls] == [{"what": "x"}]


def test_a_provider_that_makes_no_real_spans_records_all_the_same() -> None:
    with TraceRecorder(tracer_provider=otel.NoOpTracerProvider()) as recorder:
        look("x")

    (call,) = recorder.trace.calls
    assert call.result is not None
    assert call.result.ok


@pytest.mark.parametrize("ours_first", [True, False])
def test_the_global_provider_is_neither_read_nor_set_whoever_starts_first(
    ours_first: bool,
) -> None:
    program = textwrap.dedent(
        f"""
        from opentelemetry import trace as otel
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import SimpleSpanProcessor
        from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
        from tracedance_sdk import TraceRecorder, tool

        ours, theirs = InMemorySpanExporter(), InMemorySpanExporter()

        @tool
        def look():
            with otel.get_tracer("theirs").start_as_current_span("inside"):
                return 1

        def record():
            with TraceRecorder(exporter=ours):
                look()

        def install():
            provider = TracerProvider()
            provider.add_span_processor(SimpleSpanProcessor(theirs))
            otel.set_tracer_provider(provider)
            assert otel.get_tracer_provider() is provider

        assert otel._TRACER_PROVIDER is None
        if {ours_first}:
            record()
            assert otel._TRACER_PROVIDER is None
            install()
        else:
            install()
        ours.clear()
        with otel.get_tracer("theirs").start_as_current_span("request"):
            record()
        names = {{span.name: span for span in theirs.get_finished_spans()}}
        assert set(names) == {{"request", "inside"}}, names
        assert names["inside"].parent.span_id == names["request"].context.span_id
        roots = [span for span in ours.get_finished_spans() if span.parent is None]
        assert [span.name for span in ours.get_finished_spans()] == [
            "execute_tool look", "invoke_agent agent"]
        assert roots[0].links[0].context.span_id == names["request"].context.span_id
        """
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stderr) == (0, "")


class Slow(SpanExporter):
    def __init__(self) -> None:
        self.go = threading.Event()
        self.taken = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.go.wait(20)
        self.taken += len(spans)
        return SpanExportResult.SUCCESS


class Refusing(SpanExporter):
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return SpanExportResult.FAILURE


class Broken(SpanExporter):
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        raise ConnectionError("down")


def test_an_exporter_that_hangs_is_waited_for_once_and_never_loses_the_count() -> None:
    slow = Slow()
    began = time.monotonic()
    with TraceRecorder(exporter=slow) as first:
        look("x")
    waited = time.monotonic() - began
    later = [TraceRecorder(exporter=slow) for _ in range(5)]
    for recorder in later:
        with recorder:
            look("x")

    assert PATIENCE_SECONDS <= waited < PATIENCE_SECONDS + 1
    assert time.monotonic() - began < PATIENCE_SECONDS + 1.5
    assert first.close().dropped == {LATE: 2}
    slow.go.set()
    while slow.taken < 2:
        time.sleep(0.01)
    assert [recorder.flush().exported for recorder in later] == [2] * 5
    assert first.close().dropped == {}


def test_a_hanging_exporter_does_not_hold_up_other_tasks() -> None:
    slow = Slow()

    async def main() -> int:
        ticks = 0

        async def run() -> None:
            async with TraceRecorder(exporter=slow):
                look("x")

        task = asyncio.create_task(run())
        while not task.done():
            await asyncio.sleep(0.05)
            ticks += 1
        return ticks

    assert asyncio.run(main()) > 10
    slow.go.set()


@pytest.mark.parametrize(
    ("exporter", "reason"),
    [
        (Refusing(), "the exporter reported a failure"),
        (Broken(), "the exporter raised ConnectionError"),
    ],
)
def test_what_an_exporter_refuses_is_counted_with_the_reason(
    exporter: SpanExporter, reason: str
) -> None:
    with TraceRecorder(exporter=exporter) as recorder:
        look("x")

    summary = recorder.close()
    assert (summary.exported, summary.dropped) == (0, {reason: 2})
    assert len(recorder.trace.calls) == 1

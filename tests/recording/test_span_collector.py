"""Traces built live from the spans of others."""

from __future__ import annotations

import itertools
import json
import random
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry import trace as otel
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from tests.otel.test_dialects import RUNS, spans_of
from tests.support.live_spans import agent, attributes, model, run_of, tool, written
from tracedance_sdk.errors import InvalidOption, StateSourceError
from tracedance_sdk.formats import collect_paths, load_trace
from tracedance_sdk.otel import assemble, foreign_span
from tracedance_sdk.recording import CollectorLimits, SpanCollector, configure
from tracedance_sdk.recording.span_collector import OF_NO_RUN
from tracedance_sdk.trace import UNKNOWN, Call, Trace


@pytest.fixture
def collector() -> SpanCollector:
    return SpanCollector()


def content(call: Call) -> Any:
    assert call.result is not None
    return call.result.content


def facts(trace: Trace) -> list[Any]:
    calls = [(call.name, call.arguments, content(call)) for call in trace.calls]
    return [trace.agent.name, trace.session_id, [(t.role, t.text) for t in trace.turns], calls]


@pytest.mark.parametrize("dialect", RUNS)
def test_every_dialect_is_read_live_as_from_files(dialect: str, collector: SpanCollector) -> None:
    written(collector.provider, RUNS[dialect])
    [trace] = collector.traces
    [read] = assemble(spans_of(RUNS[dialect]))
    assert facts(trace) == facts(read)
    assert trace.turns[-1].usage == read.turns[-1].usage
    assert collector.summary().spans == 3
    assert not collector.summary().dropped


def test_a_run_is_there_as_soon_as_its_last_span_has_ended(collector: SpanCollector) -> None:
    tracer = collector.provider.get_tracer("mine")
    with agent(tracer):
        model(tracer, "Weather in Rome?")
        assert collector.traces == []
        assert collector.summary()[:6] == (0, 0, 0, 1, 1, 1)
    assert collector.summary()[:6] == (1, 1, 0, 2, 0, 0)
    [trace] = collector.traces
    assert trace.source is not None
    assert (trace.source.collector, trace.outcome and trace.outcome.ended) == ("spans", True)


def test_sub_agents_are_traces_of_their_own_that_name_the_call(collector: SpanCollector) -> None:
    tracer = collector.provider.get_tracer("mine")
    with agent(tracer, "chief"), tool(tracer, "ask", "c1"):
        run_of(tracer, "rain", name="clerk")
    chief, clerk = collector.traces
    assert (chief.agent.name, chief.parent, clerk.agent.name) == ("chief", None, "clerk")
    assert clerk.parent is not None
    assert (clerk.parent.trace_id, clerk.parent.call_id) == (chief.id, "c1")


def test_children_that_outlive_the_root_are_waited_for(collector: SpanCollector) -> None:
    tracer = collector.provider.get_tracer("mine")
    with agent(tracer):
        late = tracer.start_span("execute_tool look", attributes=attributes("execute_tool"))
    assert collector.traces == []
    late.set_attribute("gen_ai.tool.call.result", "rain")
    late.end()
    [trace] = collector.traces
    assert content(trace.calls[0]) == "rain"


@given(order=st.permutations(range(6)), root_place=st.integers(0, 6))
def test_the_order_in_which_spans_end_changes_nothing(order: list[int], root_place: int) -> None:
    found = [_ended_in(list(order), root_place), _ended_in(list(range(6)), 6)]
    assert found[0] == found[1]


class CountedIds(IdGenerator):
    """Ids that are the same each time."""

    def __init__(self) -> None:
        self._next = itertools.count(1)

    def generate_span_id(self) -> int:
        return next(self._next)

    def generate_trace_id(self) -> int:
        return 7


def _ended_in(order: list[int], root_place: int) -> Trace:
    collector, provider = SpanCollector(), TracerProvider(id_generator=CountedIds())
    provider.add_span_processor(collector)
    tracer = provider.get_tracer("mine")
    said = attributes("invoke_agent", agent__name="guide")
    root = tracer.start_span("invoke_agent guide", attributes=said, start_time=1)
    children: list[Any] = []
    for number in range(6):
        kind = "execute_tool" if number % 2 else "chat"
        shown = attributes(kind, tool__name="look", tool__call__id=f"c{number}")
        shown["gen_ai.tool.call.result"] = f"r{number}"
        around = otel.set_span_in_context(children[-1] if number == 5 else root)
        children.append(
            tracer.start_span(kind, around, attributes=shown, start_time=10 * number + 2)
        )
    ending: list[Any] = [children[number] for number in order]
    ending.insert(root_place, root)
    for span in ending:
        assert not collector.traces
        span.end(end_time=span.start_time + 5)
    [trace] = collector.traces
    return trace


def test_a_history_that_every_model_call_repeats_is_read_as_from_files() -> None:
    collector, exporter = SpanCollector(redaction=False), InMemorySpanExporter()
    collector.provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = collector.provider.get_tracer("mine")
    history: list[Any] = []
    with agent(tracer):
        for number in range(8):
            call = {"type": "tool_call", "id": f"c{number}", "name": "look", "arguments": {"n": 1}}
            said = {"role": "assistant", "parts": [call]}
            history.append({"role": "user", "parts": [{"type": "text", "content": "Again."}]})
            shown = attributes(
                "chat", input__messages=json.dumps(history), output__messages=json.dumps([said])
            )
            with tracer.start_as_current_span("chat", attributes=shown):
                pass
            answer = {"type": "tool_call_response", "id": f"c{number}", "response": {"n": [1]}}
            history += [said, {"role": "tool", "parts": [answer]}]
    [trace] = collector.traces
    [read] = assemble([foreign_span(span) for span in exporter.get_finished_spans()])
    assert len(trace.calls) == 8
    assert trace.turns == read.turns


def test_threads_that_run_at_the_same_time_are_not_mixed() -> None:
    collector = SpanCollector(max_traces=10_000)
    tracer = collector.provider.get_tracer("mine")
    barrier = threading.Barrier(8)

    def work(thread: int) -> None:
        barrier.wait()
        for number in range(200):
            run_of(tracer, f"w{thread}-{number}", n_steps=1, name=f"w{thread}-{number}")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    traces = collector.traces
    assert len({trace.agent.name for trace in traces}) == len(traces) == 1600
    for trace in traces:
        word = trace.agent.name
        assert [(t.role, t.text) for t in trace.turns] == [
            ("user", word),
            ("assistant", f"{word}!"),
        ]
        assert [(c.name, content(c)) for c in trace.calls] == [(word, word)]
    assert collector.summary()[:6] == (1600, 1600, 0, 4800, 0, 0)


def test_threads_of_one_run_are_one_trace(collector: SpanCollector) -> None:
    tracer = collector.provider.get_tracer("mine")
    said = attributes("invoke_agent", agent__name="guide")
    with tracer.start_as_current_span("invoke_agent guide", attributes=said) as root:
        around = otel.set_span_in_context(root)

        def work(number: int) -> None:
            shown = attributes("execute_tool", tool__name="look", tool__call__id=f"c{number}")
            tracer.start_span("execute_tool look", around, attributes=shown).end()

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(100)))
    [trace] = collector.traces
    assert {call.id for call in trace.calls} == {f"c{number}" for number in range(100)}


def test_a_run_inside_a_request_of_the_program_is_found(collector: SpanCollector) -> None:
    tracer = collector.provider.get_tracer("mine")
    with tracer.start_as_current_span("POST /ask"):
        run_of(tracer, "rain")
    [trace] = collector.traces
    assert trace.metadata["otel"]["structure"] == {"POST /ask": 1}


def test_spans_of_no_agent_make_no_trace_and_are_counted(collector: SpanCollector) -> None:
    tracer = collector.provider.get_tracer("mine")
    with tracer.start_as_current_span("GET /health"), tracer.start_as_current_span("SELECT 1"):
        pass
    assert collector.traces == []
    assert collector.summary().dropped == {OF_NO_RUN: 2}


def test_it_works_in_a_provider_of_others_beside_their_processors() -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    one, other = SpanCollector(), SpanCollector(task_id="weather")
    for processor in (one, SimpleSpanProcessor(exporter), other):
        provider.add_span_processor(processor)
    run_of(provider.get_tracer("mine"), "rain")
    assert len(exporter.get_finished_spans()) == 5
    [trace], [same] = one.traces, other.traces
    assert same.model_copy(update={"task_id": None}) == trace
    assert (trace.task_id, same.task_id) == (None, "weather")
    provider.shutdown()


def test_the_own_provider_is_isolated_and_keeps_every_attribute(collector: SpanCollector) -> None:
    provider = collector.provider
    assert provider is collector.provider
    assert otel.get_tracer_provider() is not provider
    tracer = provider.get_tracer("mine")
    many = {f"llm.input_messages.{n}.message.role": "user" for n in range(300)} | {
        f"llm.input_messages.{n}.message.content": f"{n}" for n in range(300)
    }
    with tracer.start_as_current_span("llm", attributes={"openinference.span.kind": "LLM"} | many):
        pass
    [trace] = collector.traces
    assert [turn.text for turn in trace.turns if turn.role == "user"] == [
        f"{n}" for n in range(300)
    ]


def test_what_the_limits_of_a_provider_cut_is_noted() -> None:
    provider, collector = TracerProvider(), SpanCollector()
    provider.add_span_processor(collector)
    tracer = provider.get_tracer("mine")
    with agent(tracer) as span:
        for number in range(200):
            span.set_attribute(f"x{number}", number)
        span.set_attribute("gen_ai.operation.name", "invoke_agent")
    [trace] = collector.traces
    assert [(n.kind, n.count) for n in trace.fidelity.notes if n.kind == "record_lost"] == [
        ("record_lost", 75)
    ]


def test_unsampled_spans_are_not_seen(collector: SpanCollector) -> None:
    provider = TracerProvider(sampler=ALWAYS_OFF)
    provider.add_span_processor(collector)
    run_of(provider.get_tracer("mine"), "rain")
    assert collector.summary().spans == 0


def test_model_calls_under_a_span_of_another_provider_are_one_run(
    collector: SpanCollector,
) -> None:
    theirs, tracer = TracerProvider().get_tracer("web"), collector.provider.get_tracer("mine")
    with theirs.start_as_current_span("POST /ask"):
        model(tracer, "Hello.", "Hi.")
        model(tracer, "Weather?", "Rain.")
        assert collector.traces == []
    [trace] = collector.traces
    assert [t.text for t in trace.turns if t.role == "assistant"] == ["Hi.", "Rain."]


def test_an_agent_under_a_span_of_another_provider_does_not_wait_for_it(
    collector: SpanCollector,
) -> None:
    theirs, tracer = TracerProvider().get_tracer("web"), collector.provider.get_tracer("mine")
    with theirs.start_as_current_span("POST /ask"):
        run_of(tracer, "rain")
        run_of(tracer, "sun")
        assert [trace.calls[0].name for trace in collector.traces] == ["rain", "sun"]
    assert len({trace.id for trace in collector.traces}) == 2


def test_runs_without_a_root_under_one_remote_span_have_ids_of_their_own(
    collector: SpanCollector,
) -> None:
    remote = otel.NonRecordingSpan(
        otel.SpanContext(7, 9, is_remote=True, trace_flags=otel.TraceFlags(1))
    )
    tracer = collector.provider.get_tracer("mine")
    for word in ("rain", "sun"):
        with otel.use_span(remote):
            model(tracer, word)
    assert [trace.turns[0].text for trace in collector.traces] == ["rain", "sun"]
    assert len({trace.id for trace in collector.traces}) == 2


def test_the_newest_traces_are_kept_and_the_others_counted() -> None:
    collector = SpanCollector(max_traces=3)
    for number in range(5):
        run_of(collector.provider.get_tracer("mine"), f"w{number}")
    assert [trace.calls[0].name for trace in collector.traces] == ["w2", "w3", "w4"]
    assert collector.summary()[:2] == (5, 3)
    assert collector.summary().dropped == {"traces dropped for newer ones": 2}


def test_each_trace_becomes_a_private_file(tmp_path: Path) -> None:
    out = tmp_path / "traces"
    collector = SpanCollector(out=out, max_traces=0)
    run_of(collector.provider.get_tracer("mine"), "rain")
    [path] = out.glob("*.json")
    assert path.stat().st_mode & 0o777 == 0o600
    trace = load_trace(path)
    assert (path.stem, trace.calls[0].name) == (trace.id, "rain")
    assert collector.summary()[:3] == (1, 0, 1)
    assert [found.trace and found.trace.id for found in collect_paths([out])] == [trace.id]


def test_each_trace_is_told_and_what_the_function_does_is_not_collected() -> None:
    told: list[Trace] = []

    def judge(trace: Trace) -> None:
        told.append(trace)
        run_of(judging.provider.get_tracer("mine"), "judged")

    judging = SpanCollector(on_trace=judge)
    run_of(judging.provider.get_tracer("mine"), "rain")
    assert told == judging.traces
    assert len(told) == 1
    assert not judging.summary().dropped


def test_secrets_are_masked_unless_they_are_to_stay_readable(tmp_path: Path) -> None:
    secret = "sk-proj-" + "a1B2c3D4" * 5
    masked = SpanCollector(out=tmp_path / "m", state=lambda: {"note": secret})
    readable = SpanCollector(redaction=False)
    for collector in (masked, readable):
        tracer = collector.provider.get_tracer("mine")
        with agent(tracer):
            model(tracer, f"use {secret}")
    [trace] = masked.traces
    assert secret not in trace.model_dump_json()
    assert "[MASKED:" in trace.turns[0].text
    assert trace.initial_state == trace.final_state
    [path] = (tmp_path / "m").glob("*.json")
    assert secret not in path.read_text()
    assert secret in readable.traces[0].turns[0].text


def test_configure_says_what_is_not_given() -> None:
    configure(redaction=False, group="g", session_id="s", metadata={"team": "a"})
    collector = SpanCollector(group="mine", metadata={"run": 1})
    secret = "sk-proj-" + "a1B2c3D4" * 5
    run_of(collector.provider.get_tracer("mine"), secret)
    [trace] = collector.traces
    assert trace.calls[0].name == secret
    assert (trace.group, trace.session_id) == ("mine", "s")
    assert (trace.metadata["team"], trace.metadata["run"]) == ("a", 1)


async def awaited(trace: Trace) -> None:
    """Nobody would await it."""


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"on_trace": 3}, InvalidOption),
        ({"on_trace": awaited}, InvalidOption),
        ({"max_traces": -1}, InvalidOption),
        ({"max_traces": True}, InvalidOption),
        ({"out": ""}, InvalidOption),
        ({"out": __file__}, InvalidOption),
        ({"task_id": " "}, InvalidOption),
        ({"metadata": [1]}, InvalidOption),
        ({"redaction": "no"}, InvalidOption),
        ({"state": 3}, StateSourceError),
        ({"limits": (1, 2)}, InvalidOption),
        ({"limits": CollectorLimits(spans=0)}, InvalidOption),
    ],
)
def test_wrong_use_is_refused(options: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        SpanCollector(**options)


def test_importing_the_root_loads_no_opentelemetry() -> None:
    script = """
        import sys
        import tracedance_sdk as td
        assert not any(name.startswith("opentelemetry") for name in sys.modules)
        td.SpanCollector
        assert "opentelemetry.sdk.trace" in sys.modules
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True)
    import tracedance_sdk

    assert len(tracedance_sdk.__all__) <= 25


def test_the_state_is_unknown_without_a_source(collector: SpanCollector) -> None:
    run_of(collector.provider.get_tracer("mine"), "rain")
    [trace] = collector.traces
    assert trace.initial_state is UNKNOWN
    assert trace.final_state is UNKNOWN


def test_random_trees_of_spans_leave_nothing_behind(collector: SpanCollector) -> None:
    tracer, choice = collector.provider.get_tracer("mine"), random.Random(1)
    open_spans: list[Any] = []
    for _ in range(3000):
        if open_spans and choice.random() < 0.5:
            open_spans.pop(choice.randrange(len(open_spans))).end()
        else:
            around = choice.choice([None, *open_spans[-3:]])
            context = otel.set_span_in_context(around or otel.INVALID_SPAN)
            kind = choice.choice(["chat", "execute_tool", "invoke_agent", "plain"])
            open_spans.append(tracer.start_span(kind, context, attributes=attributes(kind)))
    for span in open_spans:
        span.end()
    summary = collector.summary()
    assert (summary.open_runs, summary.open_spans, summary.faults) == (0, 0, {})
    assert summary.spans > 1000

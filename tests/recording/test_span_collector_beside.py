"""A collector beside our own recorders, with a source of state, and with log records."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import Any

import pytest
from opentelemetry import trace as otel
from opentelemetry._logs import LogRecord
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk.trace import TracerProvider

from tests.support.live_spans import agent, attributes, model, run_of, tool
from tracedance_sdk.recording import SpanCollector, TraceRecorder
from tracedance_sdk.recording import tool as recorded
from tracedance_sdk.recording.framework_states import FRAMEWORK_STATE
from tracedance_sdk.trace import UNKNOWN, Trace


@recorded
def look(at: str) -> dict[str, str]:
    return {"seen": at}


def parents(traces: list[Trace]) -> list[tuple[str, str | None, str | None]]:
    return [
        (t.agent.name, t.parent.trace_id, t.parent.call_id)
        if t.parent
        else (t.agent.name, None, None)
        for t in traces
    ]


def test_a_run_inside_a_recorder_is_its_sub_agent() -> None:
    collector = SpanCollector()
    tracer = collector.provider.get_tracer("mine")
    told: dict[str, Any] = {"task_id": "t", "group": "g", "session_id": "s"}
    with TraceRecorder(**told, metadata={"a": 1}) as recorder:
        run_of(tracer, "rain", name="first")
        with recorder.call("ask", id="c1") as call:
            with agent(tracer, "second"), tool(tracer, "delegate", "d1"):
                run_of(tracer, "sun", name="third")
            call.result = "sun"
    ours = recorder.trace.id
    first, second, third = collector.traces
    assert parents([first, second, third]) == [
        ("first", ours, None),
        ("second", ours, "c1"),
        ("third", second.id, "d1"),
    ]
    for trace in (first, second, third):
        assert {key: getattr(trace, key) for key in told} == told
    assert [trace.metadata.get("a") for trace in (first, second, third)] == [1, 1, None]
    assert len(recorder.traces) == 1


def test_what_the_collector_was_told_goes_before_the_recorder() -> None:
    collector = SpanCollector(task_id="mine", session_id="m", metadata={"a": 2})
    tracer = collector.provider.get_tracer("mine")
    with (
        TraceRecorder(task_id="t", group="g", session_id="s", metadata={"a": 1, "b": 1}),
        agent(tracer, conversation__id="theirs"),
    ):
        pass
    [trace] = collector.traces
    assert (trace.task_id, trace.group, trace.session_id) == ("mine", "g", "m")
    assert (trace.metadata["a"], trace.metadata["b"]) == (2, 1)
    assert trace.metadata["otel"]["session_id"] == "theirs"


def test_a_recorder_in_the_same_provider_keeps_what_is_its_own() -> None:
    collector, provider = SpanCollector(), TracerProvider()
    provider.add_span_processor(collector)
    tracer = provider.get_tracer("mine")
    with TraceRecorder(tracer_provider=provider, agent="ours", task_id="t") as recorder:
        look("Rome")
        model(tracer, "Hello.")
        with agent(tracer, "other"), tool(tracer, "look", "c9"):
            look("Paris")
        with recorder.call("ask", id="c1") as call:
            run_of(tracer, "sun", name="third")
            call.result = "sun"
    ours = recorder.trace.id
    assert [call.name for call in recorder.trace.calls] == ["look", "look", "ask"]
    assert parents(collector.traces) == [
        ("agent", ours, None),
        ("other", ours, None),
        ("third", ours, "c1"),
    ]
    assert [call.id for call in collector.traces[1].calls] == ["c9"]
    assert {trace.task_id for trace in collector.traces} == {"t"}


def test_a_recorder_alone_in_the_provider_gives_the_collector_nothing() -> None:
    collector, provider = SpanCollector(), TracerProvider()
    provider.add_span_processor(collector)
    with TraceRecorder(tracer_provider=provider):
        look("Rome")
    summary = collector.summary()
    assert (summary.traces, summary.dropped, summary.spans) == (0, {}, 2)


def test_runs_of_two_recorders_at_once_go_to_the_right_one() -> None:
    collector = SpanCollector()
    tracer = collector.provider.get_tracer("mine")

    async def one(word: str) -> str:
        async with TraceRecorder(task_id=word) as recorder:
            await asyncio.sleep(0)
            with agent(tracer, word):
                await asyncio.sleep(0)
                model(tracer, word)
        return recorder.trace.id

    async def both() -> list[str]:
        return await asyncio.gather(*(one(f"w{number}") for number in range(20)))

    ids = asyncio.run(both())
    found = {trace.agent.name: trace for trace in collector.traces}
    for number, ours in enumerate(ids):
        trace = found[f"w{number}"]
        assert trace.parent is not None
        assert (trace.task_id, trace.parent.trace_id) == (f"w{number}", ours)


def test_the_state_is_read_when_a_root_starts_and_when_it_ends() -> None:
    mailbox: dict[str, Any] = {"inbox": 1}
    collector = SpanCollector(state=mailbox)
    tracer = collector.provider.get_tracer("mine")
    for _ in range(2):
        with agent(tracer, "chief"), tool(tracer, "send", "c1"), agent(tracer, "clerk"):
            mailbox["inbox"] += 1
    chief, clerk, again, _ = collector.traces
    assert (chief.initial_state, chief.final_state) == ({"inbox": 1}, {"inbox": 2})
    assert (again.initial_state, again.final_state) == ({"inbox": 2}, {"inbox": 3})
    assert clerk.initial_state is UNKNOWN
    assert "state_grading" in chief.fidelity.fit_for
    assert not [item.kind for item in chief.fidelity.notes if "state" in item.kind]
    assert clerk.fidelity.count("initial_state_unknown") == 1


def test_a_frameworks_state_counts_where_the_collector_has_no_source() -> None:
    told, own = SpanCollector(), SpanCollector(state=lambda: "own")
    for collector in (told, own):
        session = {"seat": "window"}
        tracer = collector.provider.get_tracer("mine")
        with tracer.start_as_current_span("GET /"):
            token = FRAMEWORK_STATE.set(partial(dict, session))
            with agent(tracer, "chief"), tool(tracer, "send", "c1"):
                session["seat"] = "aisle"
                inner = FRAMEWORK_STATE.set(lambda: "the clerk's")
                with agent(tracer, "clerk"):
                    pass
                FRAMEWORK_STATE.reset(inner)
            FRAMEWORK_STATE.reset(token)
    chief, clerk = told.traces
    assert (chief.initial_state, chief.final_state) == ({"seat": "window"}, {"seat": "aisle"})
    assert clerk.initial_state is UNKNOWN
    assert (own.traces[0].initial_state, own.traces[0].final_state) == ("own", "own")


def test_spans_made_by_the_source_of_the_state_are_not_collected() -> None:
    def query() -> int:
        run_of(tracer, "query")
        return 1

    collector = SpanCollector(state=query)
    tracer = collector.provider.get_tracer("mine")
    run_of(tracer, "rain")
    [trace] = collector.traces
    assert (trace.calls[0].name, trace.initial_state, trace.final_state) == ("rain", 1, 1)
    assert not collector.summary().dropped


def test_a_state_that_has_to_be_awaited_is_awaited_elsewhere() -> None:
    async def state() -> int:
        await asyncio.sleep(0)
        return 7

    async def program() -> None:
        run_of(collector.provider.get_tracer("mine"), "rain")

    collector = SpanCollector(state=state)
    asyncio.run(program())
    assert (collector.traces[0].initial_state, collector.traces[0].final_state) == (7, 7)


@pytest.mark.usefixtures("forgiving")
def test_a_state_that_cannot_be_read_is_unknown_and_counted() -> None:
    def state() -> None:
        raise ValueError("no")

    collector = SpanCollector(state=state)
    run_of(collector.provider.get_tracer("mine"), "rain")
    assert collector.traces[0].final_state is UNKNOWN
    assert collector.summary().faults == {"state: ValueError": 2}


def test_messages_in_log_records_are_read() -> None:
    collector, logs = SpanCollector(), LoggerProvider(shutdown_on_exit=False)
    logs.add_log_record_processor(collector.log_processor)
    logger, tracer = logs.get_logger("old"), collector.provider.get_tracer("old")
    said = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.system": "x"}
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    choice: Any = {"index": 0, "message": {"role": "assistant", "tool_calls": [call]}}
    with agent(tracer), tracer.start_as_current_span("chat m", attributes=said):
        for name, body in (
            ("gen_ai.user.message", {"content": "Weather?"}),
            ("gen_ai.choice", {**choice, "finish_reason": "tool_calls"}),
        ):
            context = otel.set_span_in_context(otel.get_current_span())
            logger.emit(
                LogRecord(timestamp=time.time_ns(), context=context, event_name=name, body=body)
            )
    [trace] = collector.traces
    assert [(turn.role, turn.text) for turn in trace.turns] == [
        ("user", "Weather?"),
        ("assistant", ""),
    ]
    assert [(call.id, call.name) for call in trace.calls] == [("c1", "look")]
    over = otel.SpanContext(5, 5, is_remote=False, trace_flags=otel.TraceFlags(1))
    late = otel.set_span_in_context(otel.NonRecordingSpan(over))
    logger.emit(LogRecord(event_name="gen_ai.choice", context=late, body="late"))
    logger.emit(LogRecord(event_name="of no span", body="other"))
    assert collector.summary().dropped == {"log records of no run that is open": 1}
    assert logs.force_flush()
    logs.shutdown()


def test_inference_details_in_a_log_record_are_read() -> None:
    collector, logs = SpanCollector(), LoggerProvider(shutdown_on_exit=False)
    logs.add_log_record_processor(collector.log_processor)
    tracer = collector.provider.get_tracer("new")
    heard: Any = [{"role": "user", "parts": [{"type": "text", "content": "Weather?"}]}]
    with agent(tracer), tracer.start_as_current_span("chat", attributes=attributes("chat")):
        logs.get_logger("new").emit(
            LogRecord(
                context=otel.set_span_in_context(otel.get_current_span()),
                event_name="gen_ai.client.inference.operation.details",
                attributes={"gen_ai.input.messages": heard},
            )
        )
    assert collector.traces[0].turns[0].text == "Weather?"

"""Calls of which only messages tell: nobody knows when they were made, and nothing says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import tracedance_sdk as td
from tracedance_sdk.formats import Message, ModelRequest, SeenCall, SeenResult
from tracedance_sdk.journal import SpanRecord
from tracedance_sdk.otel import assemble, recover, trace_records
from tracedance_sdk.recording.integrating import ModelReply, start_model_call
from tracedance_sdk.trace import Call, Trace

USER = Message("user", ({"type": "text", "text": "What is the time?"},))
ASKING = Message("assistant", (SeenCall("clock", "c1", {}), SeenCall("seen", "c2", {})))
TOLD = {
    "of which nobody says how it went": SeenResult("c1", content="noon"),
    "that went well": SeenResult("c1", content="noon", ok=True),
    "that failed": SeenResult("c1", content="no clock", ok=False),
}


@pytest.fixture(params=TOLD.values(), ids=list(TOLD))
def answer(request: pytest.FixtureRequest) -> Message:
    return Message("tool", (request.param,))


def ask(*messages: Message, reply: Message) -> None:
    call = start_model_call(lambda: ModelRequest(list(messages)))
    assert call is not None
    call.succeed(lambda: ModelReply(reply))


def play(answer: Message, **options: Any) -> td.TraceRecorder:
    @td.tool
    def seen() -> str:
        return "seen"

    done = Message("assistant", ({"type": "text", "text": "Noon."},))
    with td.TraceRecorder(**options) as recorder:
        ask(USER, reply=ASKING)
        seen()
        ask(USER, ASKING, answer, reply=done)
    assert not recorder.close().faults
    return recorder


def calls(trace: Trace) -> tuple[Call, Call]:
    found = {call.name: call for call in trace.calls}
    assert len(found) == 2
    return found["clock"], found["seen"]


def recovered(folder: Path) -> Trace:
    recover(folder, out=folder.with_suffix(".found"))
    [file] = folder.with_suffix(".found").glob("*.json")
    return td.load_trace(file)


def check(trace: Trace) -> None:
    told, seen = calls(trace)
    assert told.result is not None
    assert told.result.content in ("noon", "no clock")
    assert (told.started_at, told.duration_ms) == (None, None)
    assert seen.started_at is not None
    assert seen.duration_ms is not None
    assert trace.fidelity.count("clock_backwards") == 0


def test_when_it_was_made_and_how_long_it_took_is_unknown(answer: Message) -> None:
    check(play(answer).trace)


def test_it_is_so_in_the_file_of_the_trace(answer: Message, tmp_path: Path) -> None:
    trace = play(answer).trace
    td.save_trace(trace, tmp_path / "t.json")
    assert td.load_trace(tmp_path / "t.json") == trace


def test_it_is_so_in_the_journal(answer: Message, tmp_path: Path) -> None:
    recorder = play(answer, journal=tmp_path / "j")
    trace = recovered(tmp_path / "j")
    check(trace)
    assert calls(trace) == calls(recorder.trace)


def test_it_is_so_after_a_kill_between_its_start_and_its_end(tmp_path: Path) -> None:
    play(Message("tool", (TOLD["that went well"],)), journal=tmp_path / "whole")
    [journal] = (tmp_path / "whole").glob("*.jsonl")
    lines = journal.read_bytes().splitlines(keepends=True)
    start = next(n for n, line in enumerate(lines) if b"call.start" in line and b'"clock"' in line)
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut" / journal.name).write_bytes(b"".join(lines[: start + 1]))
    told, _ = calls(recovered(tmp_path / "cut"))
    assert told.result is not None
    assert told.result.interrupted
    assert (told.started_at, told.duration_ms) == (None, None)


def test_it_is_so_in_spans_that_are_written_of_the_trace(answer: Message) -> None:
    trace = play(answer).trace
    records = trace_records(trace)
    assert assemble(records) == [trace]
    [told] = [record for record in records if record.name == "execute_tool clock"]
    assert told.attributes["tracedance.call.times_unknown"] is True
    assert "started_at" not in str(told.attributes.get("tracedance.patch"))


@pytest.mark.parametrize("is_theirs", [False, True], ids=["exporter", "their provider"])
def test_it_is_so_in_spans_that_are_exported(answer: Message, *, is_theirs: bool) -> None:
    exporter = InMemorySpanExporter()
    options: dict[str, Any] = {"exporter": exporter}
    if is_theirs:
        provider = TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        options = {"tracer_provider": provider}
    recorder = play(answer, **options)
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
    [trace] = assemble(records)
    check(trace)
    assert calls(trace) == calls(recorder.trace)


def test_what_a_program_puts_into_arguments_later_is_not_what_was_asked() -> None:
    given: dict[str, Any] = {"user": "ann"}
    asking = Message("assistant", (SeenCall("login", "c1", given),))
    with td.TraceRecorder() as recorder:
        ask(USER, reply=asking)
        given["password"] = "correct-horse-77"
        answer = Message("tool", (SeenResult("c1", content="in"),))
        ask(USER, asking, answer, reply=Message("assistant", ({"type": "text", "text": "In."},)))
    [call] = recorder.trace.calls
    assert call.arguments == {"user": "ann"}
    assert "correct-horse-77" not in recorder.trace.model_dump_json()


def test_secrets_in_arguments_are_masked_in_the_turn_and_in_the_call() -> None:
    given: dict[str, Any] = {"user": "ann", "password": "correct-horse-77"}
    asking = Message("assistant", (SeenCall("login", "c1", given),))
    with td.TraceRecorder() as recorder:
        ask(USER, reply=asking)
        answer = Message("tool", (SeenResult("c1", content="in"),))
        ask(USER, asking, answer, reply=Message("assistant", ({"type": "text", "text": "In."},)))
    [call] = recorder.trace.calls
    assert isinstance(call.arguments, dict)
    assert str(call.arguments["password"]).startswith("[MASKED:password:")
    assert "correct-horse-77" not in recorder.trace.model_dump_json()

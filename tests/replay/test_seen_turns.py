"""What hooks saw of an agent goes into the trace of its run, and nowhere else."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tracedance_sdk as td
from tests.replay.test_own_calls import a_suite, get_order, played
from tracedance_sdk.formats import Message, ModelRequest, SeenCall, SeenResult
from tracedance_sdk.recording import ReplayedError
from tracedance_sdk.recording.integrating import ModelReply, start_model_call
from tracedance_sdk.recording.options import defaults
from tracedance_sdk.recording.scopes import open_runs
from tracedance_sdk.replay import Players, RuleCustomer, SuiteSettings, run_all
from tracedance_sdk.replay.running import FunctionAgent, JudgedRun

Messages = list[dict[str, Any]]
ORDER = SeenCall("get_order", "a", {"order_id": "W-1001"})
USER = Message("user", ({"type": "text", "text": "Please cancel W-1001."},))
ASKING = Message("assistant", ({"type": "text", "text": "I look."}, ORDER))
TOLD = Message("tool", (SeenResult("a", "get_order", {"status": "open"}),))


def say(text: str) -> Message:
    return Message("assistant", ({"type": "text", "text": text},))


def ask(reply: Message, *messages: Message) -> None:
    """Let hooks see that a model was asked, and what it said."""
    request = ModelRequest((USER, *messages), system="You are the clerk.", model="small-1")
    call = start_model_call(lambda: request)
    assert call is not None
    usage = {"input_tokens": 3, "output_tokens": 2}
    call.succeed(lambda: ModelReply(reply, "small-1", usage, "stop"))


@pytest.fixture(autouse=True)
def nothing_stays_open() -> Iterator[None]:
    yield
    assert not open_runs


def recorded(messages: Messages) -> str:
    ask(ASKING)
    get_order("W-1001")
    ask(say("It is open."), ASKING, TOLD)
    return "It is open."


def test_turns_have_models_tokens_and_words_beside_calls() -> None:
    run = played(recorded)
    assert run.trace.system_prompt == "You are the clerk."
    said = run.trace.turns[1:3]
    assert [(turn.text, turn.model, turn.finish_reason) for turn in said] == [
        ("I look.", "small-1", "stop"),
        ("It is open.", "small-1", "stop"),
    ]
    assert [turn.usage.output_tokens for turn in said if turn.usage] == [2, 2]
    (call,) = said[0].calls
    assert (call.id, call.model_extra["answer"]["stamp"]) == ("a", "same")  # type: ignore[index]
    assert "number" not in call.model_extra["answer"]  # type: ignore[index]
    assert run.outside == ()


def test_a_call_that_no_hook_sees_stands_where_it_was_made() -> None:
    def lost() -> None:
        with pytest.raises(ReplayedError):
            get_order("W-9")

    def agent(messages: Messages) -> str:
        thread = threading.Thread(target=lost)
        thread.start()
        thread.join()
        return recorded(messages)

    run = played(agent)
    assert [call.arguments for call in run.trace.calls][:2] == [
        {"order_id": "W-9"},
        {"order_id": "W-1001"},
    ]
    assert [answer.stamp for answer in run.answers][:2] == ["failed", "same"]
    assert [call.index for call in run.trace.calls] == list(range(len(run.trace.calls)))


def test_loops_in_bare_threads_are_seen_also_where_several_tests_run() -> None:
    both = threading.Barrier(2)

    def agent(messages: Messages) -> str:
        def loop() -> None:
            both.wait(10)
            ask(ASKING)
            ask(say("It is open."), ASKING, TOLD)
            both.wait(10)

        thread = threading.Thread(target=loop)
        thread.start()
        thread.join()
        return "It is open."

    players = Players(lambda: FunctionAgent(agent), RuleCustomer)
    found = run_all(a_suite("W-1", "W-2"), players, SuiteSettings(concurrency=2))
    runs = [item.run for item in found if isinstance(item, JudgedRun)]
    assert [run.outside for run in runs] == [("get_order",)] * 2


def test_a_result_that_came_from_elsewhere_is_told() -> None:
    def agent(messages: Messages) -> str:
        ask(ASKING)
        ask(say("It is open."), ASKING, TOLD)
        return "It is open."

    run = played(agent)
    assert run.outside == ("get_order",)
    assert (run.answers, run.answered_calls) == ((), ())
    assert [(call.name, call.result and call.result.content) for call in run.trace.calls] == [
        ("get_order", {"status": "open"})
    ]


def test_an_agent_that_fails_before_it_calls_is_not_said_to_have_called() -> None:
    def agent(messages: Messages) -> str:
        ask(ASKING)
        raise RuntimeError("out of ideas")

    run = played(agent)
    assert (run.ended, run.outside) == ("agent_error", ())
    assert run.trace.turns[1].text == "I look."


@pytest.mark.parametrize("prefix", ["desk__", "other_"])
def test_a_tool_under_a_longer_or_another_name_is_the_one_that_was_answered(prefix: str) -> None:
    name = prefix + ("get_order" if prefix == "desk__" else "lookup")
    asking = Message("assistant", (SeenCall(name, "a", {"order_id": "W-1001"}),))

    def agent(messages: Messages) -> str:
        ask(asking)
        get_order("W-1001")
        ask(say("It is open."), asking, TOLD)
        return "It is open."

    assert played(agent).outside == ()


def test_a_recorder_of_the_agents_own_is_looked_into() -> None:
    kept: list[td.Trace] = []

    def agent(messages: Messages) -> str:
        with td.TraceRecorder(agent="inner") as recorder:
            ask(ASKING)
            ask(say("It is open."), ASKING, TOLD)
        kept.append(recorder.trace)
        return "It is open."

    assert played(agent).outside == ("get_order",)
    assert [turn.text for turn in kept[0].turns][1] == "I look."


def test_nothing_of_it_is_written_or_sent_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setitem(defaults, "tracer_provider", provider)
    monkeypatch.setitem(defaults, "journal", tmp_path / "journal")

    def agent(messages: Messages) -> str:
        with td.TraceRecorder(agent="inner"):
            return recorded(messages)

    assert played(recorded).trace.turns[1].model == "small-1"
    assert [answer.stamp for answer in played(agent).answers] == ["same"]
    assert exporter.get_finished_spans() == ()
    assert not (tmp_path / "journal").exists()

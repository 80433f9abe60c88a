"""Every message of a conversation is recorded once, however requests repeat it."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

import tracedance_sdk as td
from tracedance_sdk.formats import Message, ModelRequest, SeenCall, SeenResult, request_from_chat
from tracedance_sdk.otel import recover
from tracedance_sdk.recording.guard import GUARD
from tracedance_sdk.recording.integrating import ModelReply, start_agent, start_model_call
from tracedance_sdk.trace import Trace

SYSTEM = {"role": "system", "content": "Be brief."}
USER = {"role": "user", "content": "What is the time?"}
TOOL = {"type": "function", "function": {"name": "clock", "parameters": {"type": "object"}}}
CALLS = [{"id": "c1", "type": "function", "function": {"name": "clock", "arguments": "{}"}}]
ASKING = {"role": "assistant", "content": None, "tool_calls": CALLS}
ANSWER = {"role": "tool", "tool_call_id": "c1", "content": "noon"}


def ask(*messages: Any, reply: Any = None, tools: Any = (), **more: Any) -> None:
    body = {"model": "m", "messages": list(messages), "tools": list(tools), **more}
    call = start_model_call(lambda: request_from_chat(body))
    if call is not None:
        call.succeed(lambda: ModelReply(said(reply)))


def said(reply: Any) -> Message:
    asked = request_from_chat({"messages": [reply]}) if isinstance(reply, dict) else None
    if asked is not None:
        return asked.messages[0]
    return Message("assistant", ({"type": "text", "text": str(reply)},))


def told(trace: Trace) -> list[Any]:
    return [
        (turn.role, turn.text, [(c.id, c.result and c.result.content) for c in turn.calls])
        for turn in trace.turns
    ]


def test_what_requests_repeat_is_told_once() -> None:
    with td.TraceRecorder() as recorder:
        ask(SYSTEM, USER, reply=ASKING, tools=[TOOL])
        ask(SYSTEM, USER, ASKING, ANSWER, reply="Noon.", tools=[TOOL])
    trace = recorder.trace
    assert trace.system_prompt == "Be brief."
    assert [tool.name for tool in trace.tools] == ["clock"]
    assert told(trace) == [
        ("user", "What is the time?", []),
        ("assistant", "", [("c1", "noon")]),
        ("assistant", "Noon.", []),
    ]
    assert trace.turns[1].calls[0].result is not None
    assert trace.turns[1].calls[0].result.ok is None
    assert "boundary_guessed" not in [note.kind for note in trace.fidelity.notes]


def test_a_tool_that_was_seen_running_is_not_told_again_by_its_message() -> None:
    @td.tool
    def clock() -> str:
        return "noon"

    with td.TraceRecorder() as recorder:
        ask(SYSTEM, USER, reply=ASKING)
        clock()
        ask(SYSTEM, USER, ASKING, ANSWER, reply="Noon.")
    (call,) = recorder.trace.calls
    assert (call.id, call.bound_by) == ("c1", "key")
    assert call.result is not None
    assert call.result.ok is True


def test_what_was_reported_by_hand_is_not_told_again() -> None:
    with td.TraceRecorder() as recorder:
        recorder.record_turn("user", "What is the time?")
        ask(SYSTEM, USER, reply="Noon.")
        recorder.record_turn("user", "And now?")
        said_before = {"role": "assistant", "content": "Noon."}
        ask(SYSTEM, USER, said_before, {"role": "user", "content": "And now?"}, reply="Later.")
    texts = [turn.text for turn in recorder.trace.turns]
    assert texts == ["What is the time?", "Noon.", "And now?", "Later."]


def test_what_the_recorder_was_told_stays() -> None:
    tools = [{"name": "clock", "description": "Ours."}]
    with td.TraceRecorder(agent="ann", system_prompt="Ours.", tools=tools) as recorder:
        ask(SYSTEM, USER, reply="Noon.", tools=[TOOL])
    trace = recorder.trace
    assert (trace.agent.name, trace.system_prompt) == ("ann", "Ours.")
    assert [(tool.name, tool.description) for tool in trace.tools] == [("clock", "Ours.")]
    assert getattr(trace.turns[1], "system_prompt", None) == "Be brief."


def test_tools_that_are_offered_later_are_added() -> None:
    later = {"type": "function", "function": {"name": "calendar"}}
    with td.TraceRecorder() as recorder:
        ask(USER, reply="Noon.", tools=[TOOL])
        said_before = {"role": "assistant", "content": "Noon."}
        ask(USER, said_before, {"role": "user", "content": "Day?"}, reply="1", tools=[TOOL, later])
    assert [tool.name for tool in recorder.trace.tools] == ["clock", "calendar"]


def test_a_history_that_the_run_did_not_see_is_marked_as_copied() -> None:
    with td.TraceRecorder() as recorder:
        ask(SYSTEM, USER, ASKING, ANSWER, {"role": "user", "content": "Sure?"}, reply="Yes.")
    trace = recorder.trace
    assert told(trace) == [
        ("user", "What is the time?", []),
        ("assistant", "", [("c1", "noon")]),
        ("user", "Sure?", []),
        ("assistant", "Yes.", []),
    ]
    assert trace.turns[1].copied_context
    assert not trace.turns[3].copied_context


def test_a_context_that_was_rewritten_is_noted() -> None:
    with td.TraceRecorder() as recorder:
        ask(SYSTEM, USER, reply="Noon.")
        ask(SYSTEM, {"role": "user", "content": "A summary of it all."}, reply="Fine.")
    trace = recorder.trace
    assert [turn.text for turn in trace.turns][2:] == ["A summary of it all.", "Fine."]
    (found,) = [note for note in trace.fidelity.notes if note.kind == "boundary_guessed"]
    assert found.places == ("turns[3]",)


def test_results_without_ids_go_to_the_calls_in_order() -> None:
    calls = (SeenCall("clock", None, {}), SeenCall("clock", None, {}))
    results = (SeenResult(content="one"), SeenResult(content="two", ok=False))
    user = Message("user", ({"type": "text", "text": "Twice."},))
    with td.TraceRecorder() as recorder:
        for messages, reply in (
            ([user], Message("assistant", calls)),
            ([user, Message("assistant", calls), Message("tool", results)], said("Done.")),
        ):
            call = start_model_call(lambda messages=messages: ModelRequest(messages))  # type: ignore[misc]  # bound at once
            assert call is not None
            call.succeed(lambda reply=reply: ModelReply(reply))  # type: ignore[misc]  # as above
    one, two = recorder.trace.calls
    assert one.result is not None
    assert one.result.content == "one"
    assert two.result is not None
    assert (two.result.content, two.result.ok) == ("two", False)


def test_models_that_a_tool_asks_have_a_run_of_their_own() -> None:
    @td.tool
    def summarise(text: str) -> str:
        ask(
            {"role": "system", "content": "Summarise."},
            {"role": "user", "content": text},
            reply="S",
        )
        return "S"

    with td.TraceRecorder(agent="main") as recorder:
        ask(SYSTEM, USER, reply="I look.")
        summarise("long")
        ask(SYSTEM, USER, {"role": "assistant", "content": "I look."}, reply="Noon.")
    main, inner = recorder.traces
    assert [turn.text for turn in main.turns] == ["What is the time?", "I look.", "Noon."]
    assert (inner.agent.name, inner.system_prompt) == ("summarise", "Summarise.")
    assert [turn.text for turn in inner.turns] == ["long", "S"]
    assert inner.parent is not None
    assert (inner.parent.trace_id, inner.parent.call_id) == (main.id, main.calls[0].id)
    assert inner.outcome is not None
    assert inner.outcome.ended


def test_a_model_call_within_another_one_is_part_of_it() -> None:
    with td.TraceRecorder() as recorder:
        outer = start_model_call(lambda: request_from_chat({"messages": [USER]}))
        assert outer is not None
        token = outer.enter()
        assert start_model_call(lambda: request_from_chat({"messages": [USER]})) is None
        outer.leave(token)
        outer.succeed(lambda: ModelReply(said("Noon.")))
        outer.fail(ValueError("too late"))
    assert [turn.text for turn in recorder.trace.turns] == ["What is the time?", "Noon."]


def test_replies_that_did_not_come_are_told_with_their_reason() -> None:
    with td.TraceRecorder() as recorder:
        for end in (
            lambda call: call.fail(ConnectionError("gone: sk-proj-" + "a1B2" * 10)),
            lambda call: call.fail(KeyboardInterrupt()),
            lambda call: call.abandon(lambda: ModelReply(said("Half"))),
            lambda call: None,
        ):
            call = start_model_call(lambda: request_from_chat({"messages": [USER]}))
            end(call)
    turns = recorder.trace.turns
    extra = [turn.model_extra or {} for turn in turns[1:]]
    assert [item.get("error", {}).get("type") for item in extra] == [
        "ConnectionError",
        "KeyboardInterrupt",
        None,
        None,
    ]
    assert "a1B2" not in str(extra)
    assert [item.get("interrupted") for item in extra] == [None, True, True, True]
    assert [turn.text for turn in turns[1:]] == ["", "", "Half", ""]


def test_what_cannot_be_read_is_counted_and_the_program_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(GUARD, "raises", False)

    def broken() -> Any:
        raise LookupError("no such field")

    with td.TraceRecorder() as recorder:
        assert start_model_call(broken) is None
        call = start_model_call(lambda: request_from_chat({"messages": [USER]}))
        assert call is not None
        call.succeed(broken)
    summary = recorder.close()
    assert dict(summary.faults) == {"model call: LookupError": 1, "reply: LookupError": 1}
    assert [turn.role for turn in recorder.trace.turns] == ["user", "assistant"]


def test_nothing_is_recorded_outside_a_recorder() -> None:
    assert start_model_call(lambda: pytest.fail("nobody needs this")) is None


def test_what_was_sent_is_on_disk_before_the_reply_comes(tmp_path: Path) -> None:
    with td.TraceRecorder(journal=tmp_path / "journal"):
        call = start_model_call(
            lambda: request_from_chat({"messages": [SYSTEM, USER], "tools": [TOOL]})
        )
        recover(tmp_path / "journal", out=tmp_path / "found")
        (path,) = (tmp_path / "found").glob("*.json")
        trace = td.load_trace(path)
        assert trace.system_prompt == "Be brief."
        assert [tool.name for tool in trace.tools] == ["clock"]
        assert told(trace) == [("user", "What is the time?", [])]
        assert call is not None
        call.succeed(lambda: ModelReply(said("Noon.")))


def test_threads_that_ask_at_once_lose_and_repeat_nothing() -> None:
    def work(number: int) -> None:
        for step in range(20):
            ask(SYSTEM, {"role": "user", "content": f"{number}.{step}"}, reply=f"r{number}.{step}")

    with td.TraceRecorder() as recorder:
        threads = [
            threading.Thread(target=recorder.wrap(work), args=(number,)) for number in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    texts = [turn.text for turn in recorder.trace.turns]
    wanted = [f"{number}.{step}" for number in range(8) for step in range(20)]
    assert sorted(texts) == sorted([*wanted, *(f"r{text}" for text in wanted)])
    assert not recorder.close().faults


def test_a_model_that_is_asked_in_between_takes_no_call_away() -> None:
    @td.tool
    def clock() -> str:
        return "noon"

    title = {"role": "user", "content": "A title, please."}
    with td.TraceRecorder() as recorder:
        ask(SYSTEM, USER, reply=ASKING)
        ask(title, reply="Times")
        clock()
        ask(SYSTEM, USER, ASKING, ANSWER, reply="Noon.")
    asking, titled = recorder.trace.turns[1], recorder.trace.turns[3]
    assert [(call.id, call.bound_by) for call in asking.calls] == [("c1", "key")]
    assert (titled.text, titled.calls) == ("Times", ())


def test_a_result_that_comes_after_another_models_turn_is_not_lost() -> None:
    with td.TraceRecorder() as recorder:
        ask(SYSTEM, USER, reply=ASKING)
        failed = start_model_call(lambda: request_from_chat({"messages": [USER]}))
        assert failed is not None
        failed.fail(ConnectionError("gone"))
        ask(SYSTEM, USER, ASKING, ANSWER, reply="Noon.")
    (call,) = recorder.trace.calls
    assert recorder.trace.turns[1].calls == (call,)
    assert call.result is not None
    assert call.result.content == "noon"


def test_a_call_with_an_id_goes_to_the_turn_that_asked_for_it() -> None:
    other = [{"id": "c9", "type": "function", "function": {"name": "clock", "arguments": "{}"}}]
    with td.TraceRecorder() as recorder:
        ask(SYSTEM, USER, reply=ASKING)
        ask({"role": "user", "content": "B"}, reply={**ASKING, "tool_calls": other})
        with recorder.call("clock", {}, id="c1") as call:
            call.result = "noon"
        with recorder.call("clock", {}, id="c9") as call:
            call.result = "one"
    found = [
        (turn.index, item.id, item.result and item.result.content)
        for turn in recorder.trace.turns
        for item in turn.calls
    ]
    assert found == [(1, "c1", "noon"), (3, "c9", "one")]


def test_calls_without_ids_keep_their_arguments() -> None:
    history = [
        USER,
        {"role": "assistant", "function_call": {"name": "f", "arguments": '{"x":1}'}},
        {"role": "function", "name": "f", "content": "r"},
    ]
    with td.TraceRecorder() as recorder:
        ask(*history, reply="Done.")
    (call,) = recorder.trace.calls
    assert (call.name, call.arguments) == ("f", {"x": 1})
    assert call.result is not None
    assert call.result.content == "r"


def test_replies_that_others_came_between_are_marked() -> None:
    with td.TraceRecorder() as recorder:
        calls = []
        for text in ("a", "b"):
            body = {"messages": [{"role": "user", "content": text}]}
            calls.append(start_model_call(lambda body=body: request_from_chat(body)))  # type: ignore[misc]  # called at once
        for text, call in zip("ab", calls, strict=True):
            assert call is not None
            call.succeed(lambda text=text: ModelReply(said(f"re {text}")))  # type: ignore[misc]  # as above
    replies = [turn for turn in recorder.trace.turns if turn.role == "assistant"]
    marks = [(turn.text, (turn.model_extra or {}).get("context_rewritten")) for turn in replies]
    assert marks == [("re a", True), ("re b", True)]


def test_what_was_to_be_recorded_is_not_quoted_in_the_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(GUARD, "raises", False)
    monkeypatch.setattr(GUARD, "_logged", set())
    with td.TraceRecorder() as recorder:
        assert start_model_call(lambda: request_from_chat({"messages": "sk-secret-text"})) is None
    assert dict(recorder.close().faults) == {"model call: InvalidTrace": 1}
    assert "InvalidTrace" in caplog.text
    assert "sk-secret" not in caplog.text


def test_a_reply_that_is_being_read_when_the_run_ends_keeps_what_came() -> None:
    with td.TraceRecorder() as recorder:
        call = start_model_call(lambda: request_from_chat({"messages": [USER]}))
        assert call is not None
        call.seen_so_far = lambda: ModelReply(said("Half"))
    last = recorder.trace.turns[-1]
    assert (last.text, (last.model_extra or {}).get("interrupted")) == ("Half", True)


def origins(trace: Trace) -> list[tuple[str, Any]]:
    return [(turn.origin, getattr(turn, "origin_rule", None)) for turn in trace.turns]


def work(call_id: str | None, *asked: Any, reply: Any = "Noon.") -> None:
    agent = start_agent("helper", call_id=call_id)
    tokens = agent.enter()
    ask(*asked, reply=reply)
    ask(*asked, {"role": "assistant", "content": "Noon."}, USER, reply="Still noon.")
    agent.leave(tokens)
    agent.succeed(None)


def test_the_task_of_a_sub_agent_was_written_by_whoever_called_it() -> None:
    @td.tool
    def ask_helper() -> None:
        work(None, USER)

    with td.TraceRecorder(agent="clerk") as recorder:
        ask(USER, reply="I ask.")
        ask_helper()
    clerk, helper = recorder.traces
    assert origins(clerk)[0] == ("human", None)
    human, agent = ("human", None), ("agent", None)
    assert origins(helper) == [("agent", "subagent-task"), agent, human, agent]


def test_a_conversation_that_an_agent_is_handed_stays_a_humans() -> None:
    with td.TraceRecorder(agent="clerk") as recorder:
        ask(USER, reply=ASKING)
        work("c1", USER, ASKING, ANSWER)
    helper = recorder.traces[1]
    assert helper.parent is not None
    assert helper.parent.call_id == "c1"
    assert [turn.origin for turn in helper.turns if turn.role == "user"] == ["human"] * 2


def test_an_agent_that_no_call_started_was_asked_by_a_human() -> None:
    with td.TraceRecorder(agent="clerk") as recorder:
        outer = start_agent("clerk")
        tokens = outer.enter()
        work(None, USER)
        outer.leave(tokens)
        outer.succeed(None)
    helper = recorder.traces[1]
    assert helper.parent is not None
    assert origins(helper)[0] == ("human", None)

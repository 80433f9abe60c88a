"""What a framework tells of an agent at work, and of tools and streams that stop on the way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from typing import Any

import pytest

import tracedance_sdk as td
from tracedance_sdk.formats import Message, ModelRequest, SeenCall
from tracedance_sdk.recording.driving import iterate_async_in, iterate_in
from tracedance_sdk.recording.guard import GUARD
from tracedance_sdk.recording.integrating import (
    AgentOperation,
    ModelReply,
    Reading,
    ToolUse,
    start_agent,
    start_model_call,
)
from tracedance_sdk.trace import UNKNOWN


class Waits(Exception):
    """Raised by a tool that waits for somebody."""


def said(*texts: str) -> ModelRequest:
    pieces = [({"type": "text", "text": text},) for text in texts]
    return ModelRequest([Message("user", piece) for piece in pieces])


def told(operation: AgentOperation, *states: Any) -> None:
    tokens = operation.enter()
    for state in states:
        operation.tell_state(lambda state=state: state)  # type: ignore[misc]
    operation.leave(tokens)
    operation.succeed(None)


@pytest.mark.parametrize("is_inner", [False, True], ids=["own run", "sub-agent"])
def test_the_first_state_told_is_the_one_before_and_the_last_the_one_after(is_inner: bool) -> None:
    def begin() -> None:
        told(start_agent("inner"), None, {"n": 1}, {"n": 2}, {"n": 3})

    with td.TraceRecorder() as recorder:
        if is_inner:
            ToolUse("ask", {}).run(begin)
        else:
            begin()
    trace = recorder.traces[-1]
    assert (trace.agent.name, trace.initial_state, trace.final_state) == (
        "inner",
        {"n": 1},
        {"n": 3},
    )


def test_no_state_told_is_an_unknown_one() -> None:
    with td.TraceRecorder() as recorder:
        told(start_agent("clerk"), None)
    assert (recorder.trace.initial_state, recorder.trace.final_state) == (UNKNOWN, UNKNOWN)


@pytest.mark.parametrize("whose", ["recorder", "agent"])
def test_a_source_counts_before_what_is_told(whose: str) -> None:
    def source() -> Any:
        return {"n": 0}

    with td.TraceRecorder(state=source if whose == "recorder" else None) as recorder:
        told(start_agent("clerk", state=source if whose == "agent" else None), {"n": 1})
    assert (recorder.trace.initial_state, recorder.trace.final_state) == ({"n": 0}, {"n": 0})


def test_a_state_that_cannot_be_read_is_a_fault_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GUARD, "raises", False)
    with td.TraceRecorder() as recorder:
        operation = start_agent("clerk")
        operation.tell_state(lambda: {}["no"])  # type: ignore[index]
        operation.recall(lambda: {}["no"])  # type: ignore[index]
    assert sorted(recorder.close().faults) == ["conversation: KeyError", "state: KeyError"]


def test_a_conversation_is_recalled_unless_some_of_it_is_known() -> None:
    with td.TraceRecorder() as recorder:
        operation = start_agent("clerk")
        operation.recall(lambda: None)
        operation.recall(lambda: said("Hello?", "Hello??"))
        operation.recall(lambda: said("Another one"))
        call = start_model_call(lambda: said("Hello?", "Hello??", "Well?"))
        assert call is not None
        call.succeed(lambda: ModelReply(Message("assistant", ({"type": "text", "text": "Yes."},))))
    assert [turn.text for turn in recorder.trace.turns] == ["Hello?", "Hello??", "Well?", "Yes."]


def test_outside_a_recorder_nothing_is_read() -> None:
    operation = start_agent(lambda: pytest.fail("no name is needed"))
    operation.tell_state(lambda: pytest.fail("no state is needed"))
    operation.recall(lambda: pytest.fail("no conversation is needed"))


def test_an_agent_without_a_name_is_called_like_the_tool_that_began_it() -> None:
    with td.TraceRecorder() as recorder:
        ToolUse("ask", {}).run(lambda: told(start_agent(lambda: None)))
        told(start_agent(None))
    assert [trace.agent.name for trace in recorder.traces] == ["agent", "ask"]


def use(body: Any, way: str) -> Any:
    async def waiting() -> Any:
        return body()

    found = ToolUse("send", lambda: {"to": "Sam"}, "c1", pauses=(Waits,))
    return found.run(body) if way == "sync" else asyncio.run(found.run_async(waiting))


def wait() -> None:
    raise Waits


@pytest.mark.parametrize("way", ["sync", "async"])
def test_a_use_that_waits_for_somebody_goes_on_as_the_same_call(way: str) -> None:
    @td.tool
    def send(to: str) -> str:
        return f"sent to {to}"

    with td.TraceRecorder() as recorder:
        with pytest.raises(Waits):
            use(wait, way)
        assert use(lambda: send("Sam"), way) == "sent to Sam"
    (call,) = recorder.trace.calls
    assert call.result is not None
    assert (call.id, call.result.ok, call.result.content) == ("c1", True, "sent to Sam")
    assert not recorder.close().faults


def test_a_use_that_still_waits_at_the_end_was_interrupted() -> None:
    with td.TraceRecorder() as recorder, pytest.raises(Waits):
        use(wait, "sync")
    (call,) = recorder.trace.calls
    assert call.result is not None
    assert (call.result.interrupted, call.result.error) == (True, None)


class _Texts:
    def __init__(self) -> None:
        self.text = ""

    def add(self, piece: Any) -> None:
        self.text += piece

    def reply(self) -> ModelReply:
        return ModelReply(Message("assistant", ({"type": "text", "text": self.text},)))


def pieces() -> Generator[str, None, None]:
    for piece in ("Good ", "morning", "."):
        assert start_model_call(lambda: said("asked by another library")) is None
        yield piece


async def pieces_async() -> AsyncGenerator[str, None]:
    for piece in pieces():
        yield piece


@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("n_read", [2, 3], ids=["left", "read"])
def test_a_library_that_asks_another_one_step_by_step_makes_one_model_call(
    way: str, n_read: int
) -> None:
    def begin() -> Reading:
        call = start_model_call(lambda: said("Hello?"))
        assert call is not None
        return Reading(call, _Texts())

    async def read() -> None:
        steps = iterate_async_in(begin, pieces_async())
        for _ in range(n_read):
            await anext(steps)
        if n_read == 3:
            assert [step async for step in steps] == []
        await steps.aclose()

    with td.TraceRecorder() as recorder:
        if way == "async":
            asyncio.run(read())
        else:
            steps = iterate_in(begin, pieces())
            for _ in range(n_read):
                next(steps)
            if n_read == 3:
                assert list(steps) == []
            steps.close()
    turns = recorder.trace.turns
    assert [turn.text for turn in turns] == ["Hello?", "Good morning" + "." * (n_read - 2)]
    assert turns[1].interrupted is (n_read == 2)


def test_a_call_asked_for_in_a_recalled_conversation_is_the_one_that_is_made() -> None:
    asked = Message("assistant", (SeenCall("send", "c1", {"to": "Sam"}),))
    with td.TraceRecorder() as recorder:
        start_agent("clerk").recall(lambda: ModelRequest([*said("Write!").messages, asked]))
        ToolUse("send", {"to": "Sam"}, "c1").run(lambda: "sent")
    (call,) = recorder.trace.calls
    assert (call.bound_by, call.id) == ("id", "c1")

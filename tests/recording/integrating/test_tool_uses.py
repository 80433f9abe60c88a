"""A framework's tool is one call, with the decorated function in it, and is answered in replays."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import tracedance_sdk as td
from tracedance_sdk.recording import AskedCall, GivenAnswer, LetRun, ReplayedError, answers_from
from tracedance_sdk.recording.guard import GUARD
from tracedance_sdk.recording.integrating import ToolOutcome, ToolUse
from tracedance_sdk.trace import UNKNOWN, Call, ErrorInfo, Result


def only(recorder: td.TraceRecorder) -> Call:
    (call,) = recorder.trace.calls
    return call


def came(call: Call) -> tuple[Any, Any, Any]:
    assert call.result is not None
    error = call.result.error
    return call.result.ok, call.result.content, error and (error.type, error.message)


def test_a_use_is_a_call() -> None:
    with td.TraceRecorder() as recorder:
        assert ToolUse("add", {"a": 1, "b": 2}, "c7").run(lambda: 3) == 3
    call = only(recorder)
    assert (call.id, call.name, call.arguments) == ("c7", "add", {"a": 1, "b": 2})
    assert came(call) == (True, 3, None)


def test_an_awaited_use_is_a_call() -> None:
    async def add() -> int:
        await asyncio.sleep(0)
        return 3

    async def main() -> int:
        return int(await ToolUse("add", {}).run_async(add))

    with td.TraceRecorder() as recorder:
        assert asyncio.run(main()) == 3
    assert came(only(recorder)) == (True, 3, None)


def test_outside_a_recorder_only_the_body_runs() -> None:
    assert ToolUse("add", object()).run(lambda: 3) == 3


def test_what_it_raises_passes_and_is_told() -> None:
    def fail() -> None:
        raise LookupError("no such thing")

    with td.TraceRecorder() as recorder, pytest.raises(LookupError):
        ToolUse("find", {}).run(fail)
    assert came(only(recorder)) == (False, UNKNOWN, ("LookupError", "no such thing"))


def test_a_failure_that_the_framework_caught_is_one() -> None:
    use = ToolUse("find", {}, outcome=lambda value: ToolOutcome(value, "ToolError", "no"))
    with td.TraceRecorder() as recorder:
        assert use.run(lambda: "sorry: no") == "sorry: no"
    assert came(only(recorder)) == (False, "sorry: no", ("ToolError", "no"))


def test_the_decorated_function_in_it_is_the_same_call() -> None:
    @td.tool(effect="read")
    def look_up(key: str) -> dict[str, str]:
        return {"key": key}

    with td.TraceRecorder() as recorder:
        shown = ToolUse("look_up", {"key": "a"}, "c1").run(lambda: str(look_up("a")))
    assert shown == "{'key': 'a'}"
    assert came(only(recorder)) == (True, {"key": "a"}, None)
    assert [(tool.name, tool.effect) for tool in recorder.trace.tools] == [("look_up", "read")]


def test_what_left_the_decorated_function_counts_before_what_was_made_of_it() -> None:
    @td.tool
    def look_up() -> None:
        raise LookupError("no such thing")

    def caught() -> str:
        try:
            look_up()
        except LookupError as error:
            return f"sorry: {error}"
        return ""

    with td.TraceRecorder() as recorder:
        assert ToolUse("look_up", {}).run(caught) == "sorry: no such thing"
    told = (False, "sorry: no such thing", ("LookupError", "no such thing"))
    assert came(only(recorder)) == told


def test_a_second_use_of_the_function_and_another_tool_are_calls_inside_it() -> None:
    @td.tool
    def look_up(depth: int) -> int:
        return depth if depth > 1 else look_up(depth + 1) + other()

    @td.tool
    def other() -> int:
        return 1

    with td.TraceRecorder() as recorder:
        ToolUse("look_up", {"depth": 1}).run(lambda: look_up(1))
    calls = [(call.name, call.arguments, call.requested_by) for call in recorder.trace.calls]
    assert calls == [
        ("look_up", {"depth": 1}, "agent"),
        ("look_up", {"depth": 2}, "tool"),
        ("other", {}, "tool"),
    ]


def test_a_generator_in_it_gives_its_items() -> None:
    @td.tool(reduce="".join)
    def spell(word: str) -> Any:
        yield from word

    with td.TraceRecorder() as recorder:
        ToolUse("spell", {"word": "ab"}).run(lambda: list(spell("ab")))
    assert came(only(recorder)) == (True, "ab", None)


class Answers:
    """Answers each call by the name of its tool."""

    def __init__(self, **by_name: Any) -> None:
        self.by_name = by_name
        self.asked: list[AskedCall] = []

    def answer(self, asked: AskedCall, /) -> GivenAnswer | LetRun:
        self.asked.append(asked)
        found: GivenAnswer | LetRun = self.by_name[asked.name]
        return found


def test_an_answer_from_elsewhere_reaches_the_framework_in_its_own_form() -> None:
    source = Answers(find=GivenAnswer(Result(ok=True, content={"n": 1}), {"stamp": "same"}))
    use = ToolUse("find", {"key": "a"}, rebuild=lambda content: ("framework", content))
    with td.TraceRecorder() as recorder, answers_from(source):
        assert use.run(lambda: pytest.fail("the body ran")) == ("framework", {"n": 1})
    (asked,) = source.asked
    assert (asked.name, asked.arguments) == ("find", {"key": "a"})
    assert getattr(only(recorder), "answer", None) == {"stamp": "same"}


def test_a_recorded_failure_is_raised_to_the_framework() -> None:
    failure = Result(ok=False, error=ErrorInfo(type="LookupError", message="no such thing"))
    source = Answers(find=GivenAnswer(failure))
    with td.TraceRecorder() as recorder, answers_from(source), pytest.raises(ReplayedError):
        ToolUse("find", {}).run(lambda: pytest.fail("the body ran"))
    ok, _, error = came(only(recorder))
    assert (ok, error[1]) == (False, "no such thing")


def test_the_decorated_function_in_it_is_not_asked_for_a_second_time() -> None:
    @td.tool
    def find() -> int:
        return 4

    source = Answers(find=LetRun({"stamp": "pure"}))
    with td.TraceRecorder() as recorder, answers_from(source):
        assert ToolUse("find", {}).run(find) == 4
    assert len(source.asked) == 1
    assert came(only(recorder)) == (True, 4, None)


def test_a_fault_of_ours_is_counted_and_the_tool_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GUARD, "raises", False)

    def broken(value: Any) -> ToolOutcome:
        raise TypeError("not what was expected")

    with td.TraceRecorder() as recorder:
        assert ToolUse("find", {}, outcome=broken).run(lambda: 5) == 5
    assert came(only(recorder)) == (True, 5, None)
    assert dict(recorder.close().faults) == {"outcome: TypeError": 1}


def test_a_cancelled_use_is_interrupted() -> None:
    async def main() -> None:
        task = asyncio.create_task(ToolUse("wait", {}).run_async(lambda: asyncio.sleep(10)))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with td.TraceRecorder() as recorder:
        asyncio.run(main())
    call = only(recorder)
    assert call.result is not None
    assert call.result.interrupted


def test_whoever_lets_it_run_is_told_what_the_tool_gave_and_not_what_was_made_of_it() -> None:
    @td.tool
    def find(key: str) -> dict[str, str]:
        return {"key": key}

    @td.tool
    def fail() -> None:
        raise LookupError("no such thing")

    def caught() -> str:
        try:
            fail()
        except LookupError as error:
            return f"sorry: {error}"
        return ""

    told: list[Result] = []
    let = LetRun(told=told.append)
    source = Answers(find=let, fail=let, plain=let, soft=let)
    soft = ToolUse("soft", {}, outcome=lambda value: ToolOutcome(value["words"], "Bad", "no"))
    with td.TraceRecorder(), answers_from(source):
        ToolUse("find", {"key": "a"}).run(lambda: {"framework": str(find("a"))})
        ToolUse("fail", {}).run(caught)
        ToolUse("plain", {}, outcome=lambda value: ToolOutcome(value["words"])).run(
            lambda: {"words": "hello", "status": 1}
        )
        soft.run(lambda: {"words": "sorry"})
    error = ErrorInfo(type="LookupError", message="no such thing")
    assert told == [
        Result(ok=True, content={"key": "a"}),
        Result(ok=False, error=error),
        Result(ok=True, content="hello"),
        Result(ok=False, content="sorry", error=ErrorInfo(type="Bad", message="no")),
    ]


def test_what_the_model_asked_for_is_kept_where_somebody_changed_it() -> None:
    with td.TraceRecorder() as recorder:
        asked = {"id": "c1", "name": "send", "arguments": {"to": "john"}}
        again = {"id": "c2", "name": "send", "arguments": {"to": "sam"}}
        recorder.record_turn("assistant", calls=[asked, again])
        ToolUse("send", {"to": "sam"}, "c1").run(lambda: "sent")
        ToolUse("send", {"to": "sam", "copies": 1}, "c2").run(lambda: "sent")
    changed, same = recorder.trace.calls
    assert (changed.arguments, changed.model_extra) == (
        {"to": "sam"},
        {"asked_arguments": {"to": "john"}},
    )
    assert same.arguments == {"to": "sam", "copies": 1}
    assert not same.model_extra

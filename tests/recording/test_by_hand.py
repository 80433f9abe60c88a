"""Calls reported by hand."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tracedance_sdk.errors import RecorderError
from tracedance_sdk.recording import TraceRecorder, tool
from tracedance_sdk.trace import UNKNOWN, ErrorInfo, Result


@tool
def look(what: str) -> str:
    return what


def test_a_call_by_hand_is_recorded_as_it_was_when_each_thing_was_said() -> None:
    arguments: dict[str, Any] = {"ids": [7]}
    answer = {"rows": [1]}
    with TraceRecorder() as recorder:
        with recorder.call("lookup", arguments, id="c1") as call:
            arguments["ids"].append(8)
            call.result = answer
            answer["rows"].append(2)
            assert call.id == "c1"
            assert call.result is answer
        answer["rows"].append(3)

    (found,) = recorder.trace.calls
    assert (found.id, found.name, found.arguments) == ("c1", "lookup", {"ids": [7]})
    assert found.result == Result(ok=True, content={"rows": [1]})
    assert found.duration_ms is not None


def test_an_exception_inside_is_recorded_and_goes_on() -> None:
    with TraceRecorder() as recorder:
        call = recorder.call("lookup")
        call.result = "half"
        with pytest.raises(KeyError, match="gone"), call:
            raise KeyError("gone")

    (found,) = recorder.trace.calls
    assert found.result == Result(ok=False, error=ErrorInfo(type="KeyError", message="'gone'"))


def test_a_failure_that_is_no_exception_can_be_said() -> None:
    with TraceRecorder() as recorder, recorder.call("shell", {"command": "ls /x"}) as call:
        call.result = "ls: /x: No such file"
        call.exit_code = 2
        call.truncated = True
        call.fail("ExitCode", "exit status 2")

    (found,) = recorder.trace.calls
    assert found.result == Result(
        ok=False,
        content="ls: /x: No such file",
        error=ErrorInfo(type="ExitCode", message="exit status 2"),
        exit_code=2,
        truncated=True,
    )


def test_calls_inside_are_calls_inside_it_and_none_is_a_value() -> None:
    with TraceRecorder() as recorder:
        with recorder.call("outer") as call:
            look("inner")
            call.result = None
        with recorder.call("silent"):
            pass

    outer, inner, silent = recorder.trace.calls
    assert inner.parent_call_id == outer.id
    assert outer.arguments == {}
    assert outer.result == Result(ok=True, content=None)
    assert silent.result == Result(ok=True, content=UNKNOWN)


def test_calls_by_hand_at_once_in_tasks_do_not_mix() -> None:
    async def fetch(recorder: TraceRecorder, n: int) -> None:
        async with recorder.call("fetch", {"n": n}) as call:
            await asyncio.sleep(0.001 * (3 - n))
            look(str(n))
            call.result = n

    async def main() -> TraceRecorder:
        async with TraceRecorder(state={"x": 1}, state_changes="per_call") as recorder:
            await asyncio.gather(*(fetch(recorder, n) for n in range(3)))
        return recorder

    trace = asyncio.run(main()).trace

    fetches = {call.id: call for call in trace.calls if call.name == "fetch"}
    assert {c.arguments["n"]: c.result and c.result.content for c in fetches.values()} == {
        0: 0, 1: 1, 2: 2,
    }  # fmt: skip
    for call in trace.calls:
        assert call.state_change == []
        if call.name == "look":
            assert str(fetches[call.parent_call_id or ""].arguments["n"]) == call.arguments["what"]


def test_a_cancelled_call_by_hand_is_interrupted() -> None:
    async def main() -> TraceRecorder:
        async with TraceRecorder() as recorder:

            async def fetch() -> None:
                async with recorder.call("fetch"):
                    await asyncio.sleep(10)

            task = asyncio.create_task(fetch())
            await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        return recorder

    (found,) = asyncio.run(main()).trace.calls
    assert found.result is not None
    assert found.result.interrupted
    assert found.result.error is not None
    assert found.result.error.message == "cancelled"


def test_a_call_left_open_when_the_run_ends_is_interrupted() -> None:
    with TraceRecorder() as recorder:
        call = recorder.call("forgotten").__enter__()
    (found,) = recorder.trace.calls

    assert found.result == Result(interrupted=True)
    call.__exit__(None, None, None)


def test_a_call_is_entered_once() -> None:
    with TraceRecorder() as recorder:
        call = recorder.call("x")
        with call:
            pass
        with pytest.raises(RecorderError, match="the call 'x' was entered before"), call:
            pass

    assert len(recorder.trace.calls) == 1

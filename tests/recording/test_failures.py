"""Exceptions pass as they are, and the record says what happened in words."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

from tracedance_sdk.recording import TraceRecorder, agent, tool
from tracedance_sdk.trace import ErrorInfo, Result


class Refused(Exception):
    pass


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise ValueError("not even that")


def result_of(recorder: TraceRecorder) -> Result:
    (call,) = recorder.trace.calls
    assert call.result is not None
    return call.result


@pytest.mark.parametrize(
    ("error", "kind", "message", "interrupted"),
    [
        (ValueError("bad amount"), "ValueError", "bad amount", False),
        (ValueError(), "ValueError", "ValueError without a message", False),
        (ValueError("  "), "ValueError", "ValueError without a message", False),
        (KeyError("k"), "KeyError", "'k'", False),
        (Refused("no"), f"{__name__}.Refused", "no", False),
        (TimeoutError(), "TimeoutError", "timed out without a message", False),
        (TimeoutError("timed out"), "TimeoutError", "timed out", False),
        (KeyboardInterrupt(), "KeyboardInterrupt", "interrupted from the keyboard", True),
        (SystemExit(3), "SystemExit", "3", True),
        (SystemExit(), "SystemExit", "the program was told to exit", True),
        (GeneratorExit(), "GeneratorExit", "closed before it was exhausted", True),
        (asyncio.CancelledError(), "asyncio.exceptions.CancelledError", "cancelled", True),
        (asyncio.CancelledError("why"), "asyncio.exceptions.CancelledError", "why", True),
        (ExceptionGroup("many", [ValueError()]), "ExceptionGroup", "many (1 sub-exception)", False),
        (ValueError("lone \udc80"), "ValueError", "lone \\udc80", False),
    ],
    ids=repr,
)
def test_an_exception_passes_unchanged_and_is_recorded_with_type_and_words(
    error: BaseException, kind: str, message: str, interrupted: bool
) -> None:
    @tool
    def fail() -> None:
        raise error

    @tool
    async def fail_later() -> None:
        raise error

    def await_it() -> None:
        fail_later().send(None)

    for run in (fail, await_it):
        with TraceRecorder() as recorder, pytest.raises(BaseException) as caught:  # noqa: PT011
            run()
        assert caught.value is error
        assert error.__context__ is None
        assert error.__cause__ is None
        assert result_of(recorder) == Result(
            ok=False, error=ErrorInfo(type=kind, message=message), interrupted=interrupted
        )


@pytest.mark.usefixtures("forgiving")
def test_an_exception_that_cannot_say_what_it_is_passes_all_the_same() -> None:
    @tool
    def fail() -> None:
        raise Unspeakable

    with TraceRecorder() as recorder, pytest.raises(Unspeakable):
        fail()

    error = result_of(recorder).error
    assert error is not None
    assert error.message == "Unspeakable without a message"


def test_a_timeout_cancels_the_tool_and_is_recorded_as_its_cancellation() -> None:
    @tool
    async def slow() -> None:
        await asyncio.sleep(10)

    async def main() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await slow()

    with TraceRecorder() as recorder:
        asyncio.run(main())

    result = result_of(recorder)
    assert (result.ok, result.interrupted) == (False, True)
    assert result.error is not None
    assert result.error.message == "cancelled"


def test_the_message_of_a_cancellation_is_kept() -> None:
    @tool
    async def slow() -> None:
        await asyncio.sleep(10)

    async def main() -> BaseException:
        task = asyncio.create_task(slow())
        await asyncio.sleep(0.01)
        task.cancel("the user left")
        with pytest.raises(asyncio.CancelledError) as caught:
            await task
        return caught.value

    with TraceRecorder() as recorder:
        error = asyncio.run(main())

    assert error.args == ("the user left",)
    found = result_of(recorder).error
    assert found is not None
    assert found.message == "the user left"


def test_a_tool_that_swallows_its_cancellation_succeeds() -> None:
    @tool
    async def stubborn() -> str:
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            return "done anyway"
        return "never"

    async def main() -> str:
        task = asyncio.create_task(stubborn())
        await asyncio.sleep(0.01)
        task.cancel()
        return await task

    with TraceRecorder() as recorder:
        assert asyncio.run(main()) == "done anyway"

    assert result_of(recorder) == Result(ok=True, content="done anyway")


def test_a_real_interrupt_from_the_keyboard_stops_the_tool_and_the_program() -> None:
    @tool
    def wait() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)

    recorder = TraceRecorder()
    with pytest.raises(KeyboardInterrupt), recorder:
        wait()

    result = result_of(recorder)
    assert (result.ok, result.interrupted) == (False, True)
    outcome = recorder.trace.outcome
    assert outcome is not None
    assert outcome.ended is False
    assert outcome.error == ErrorInfo(
        type="KeyboardInterrupt", message="interrupted from the keyboard"
    )


def test_a_failed_call_that_succeeds_later_stays_on_record() -> None:
    attempts: list[int] = []

    @tool
    def flaky() -> str:
        attempts.append(1)
        if len(attempts) == 1:
            raise ConnectionError("reset")
        return "ok"

    with TraceRecorder() as recorder:
        with pytest.raises(ConnectionError):
            flaky()
        assert flaky() == "ok"

    assert [call.failed for call in recorder.trace.calls] == [True, False]


def test_a_very_long_message_is_cut_and_says_so() -> None:
    @tool
    def fail() -> None:
        raise ValueError("x" * 100_000)

    with TraceRecorder() as recorder, pytest.raises(ValueError, match="xxx"):
        fail()

    error = result_of(recorder).error
    assert error is not None
    assert len(error.message) < 10_000
    assert error.message.endswith(" ...")


def test_a_secret_in_an_exception_is_masked_in_the_record_only() -> None:
    @tool
    def fail() -> None:
        raise PermissionError("key AKIAIOSFODNN7EXAMPLE is refused")

    with TraceRecorder() as recorder, pytest.raises(PermissionError, match="AKIAIOSFODNN7EXAMPLE"):
        fail()

    error = result_of(recorder).error
    assert error is not None
    assert "AKIAIOSFODNN7EXAMPLE" not in recorder.trace.model_dump_json()
    assert "[MASKED:" in error.message


def test_tasks_of_a_group_that_fails_are_each_recorded() -> None:
    @tool
    async def work(n: int) -> int:
        if n == 0:
            raise ValueError("first")
        await asyncio.sleep(10)
        return n

    async def main() -> None:
        async with asyncio.TaskGroup() as group:
            for n in range(3):
                group.create_task(work(n))

    with TraceRecorder() as recorder, pytest.raises(ExceptionGroup):
        asyncio.run(main())

    errors = [call.result and call.result.error for call in recorder.trace.calls]
    assert [error and error.message for error in errors] == ["first", "cancelled", "cancelled"]


@pytest.mark.parametrize("decorate", [tool, agent], ids=["tool", "agent"])
def test_tracebacks_still_lead_into_the_function(decorate: Callable[..., Any]) -> None:
    def fail_here() -> None:
        raise ValueError("here")

    with TraceRecorder(), pytest.raises(ValueError, match="here") as caught:
        decorate(fail_here)()

    assert caught.traceback[-1].name == "fail_here"

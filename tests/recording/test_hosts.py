"""What state sources and values raise is no business of the program, unless it was meant for it."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from tracedance_sdk import TraceRecorder, tool
from tracedance_sdk.recording.values import freeze
from tracedance_sdk.trace import UNKNOWN

OWN = [SystemExit(6), asyncio.CancelledError("mine"), GeneratorExit(), BaseException("odd")]


@tool
def act(given: object = None) -> object:
    return given


class Odd:
    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __repr__(self) -> str:
        raise self.error


class Wordless(Exception):
    def __str__(self) -> str:
        raise SystemExit(6)


def after(looks: int, error: BaseException) -> Callable[[], object]:
    """Return a state source that raises from its n-th look on."""
    left = [looks]

    def state() -> object:
        left[0] -= 1
        if left[0] < 0:
            raise error
        return {"n": 1}

    return state


@pytest.mark.usefixtures("forgiving")
@pytest.mark.parametrize("error", OWN, ids=repr)
@pytest.mark.parametrize("looks", [0, 1, 2])
def test_what_a_state_source_raises_stays_ours(error: BaseException, looks: int) -> None:
    with TraceRecorder(state=after(looks, error), state_changes="per_call") as recorder:
        assert act(1) == 1
    trace = recorder.trace
    assert [call.arguments for call in trace.calls] == [{"given": 1}]
    assert trace.final_state is UNKNOWN
    assert recorder.close().faults == {f"state: {type(error).__name__}": 2 if looks < 2 else 1}


@pytest.mark.usefixtures("forgiving")
def test_an_async_source_that_cancels_itself_stays_ours_and_a_cancelled_task_stops() -> None:
    async def cancels_itself() -> object:
        raise asyncio.CancelledError("mine")

    async def never() -> object:
        return await asyncio.Event().wait()

    async def main() -> TraceRecorder:
        async with TraceRecorder(state=cancels_itself) as recorder:
            act(1)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05), TraceRecorder(state=never):
                pass
        return recorder

    recorder = asyncio.run(main())
    assert len(recorder.trace.calls) == 1
    assert recorder.close().faults == {"state: CancelledError": 2}


@pytest.mark.parametrize("error", OWN, ids=repr)
def test_what_a_value_raises_leaves_a_stub(error: BaseException) -> None:
    with TraceRecorder() as recorder:
        odd = Odd(error)
        assert act([odd, 1]) == [odd, 1]
    (call,) = recorder.trace.calls
    assert call.result is not None
    assert f"{type(error).__name__} was raised" in str(call.result.content)


@pytest.mark.usefixtures("forgiving")
def test_an_exception_whose_words_end_the_program_reaches_it_as_itself() -> None:
    @tool
    def fail() -> None:
        raise Wordless

    with TraceRecorder() as recorder, pytest.raises(Wordless):
        fail()
    (call,) = recorder.trace.calls
    assert call.result is not None
    assert call.result.error is not None
    assert call.result.error.type.endswith("Wordless")


class Slow:
    """A value in the middle of whose recording a signal comes."""

    def __repr__(self) -> str:
        signal.raise_signal(signal.SIGTERM)
        return "never shown"


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("replaced", [False, True])
def test_what_a_signal_handler_raises_reaches_the_program(replaced: bool) -> None:
    def stop(number: int, frame: FrameType | None) -> None:
        if replaced:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        sys.exit(143)

    def stop_with(*given: Any) -> None:
        stop(*given)

    before = signal.getsignal(signal.SIGTERM)
    try:
        for handler in (stop, stop_with):
            signal.signal(signal.SIGTERM, handler)
            with pytest.raises(SystemExit):
                freeze(Slow())
            signal.signal(signal.SIGTERM, handler)
            with pytest.raises(SystemExit), TraceRecorder(state=lambda: repr(Slow())):
                pass
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_keyboard_interrupt_in_a_value_reaches_the_program() -> None:
    with pytest.raises(KeyboardInterrupt):
        freeze(Odd(KeyboardInterrupt()))

"""Faults of the recorder itself: logged once per place, counted, never the program's."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from tracedance_sdk.recording import TraceRecorder, agent, tool
from tracedance_sdk.recording.guard import GUARD, Guard
from tracedance_sdk.trace import Result


@tool
def act(n: int = 0) -> int:
    return n


@tool
async def act_later() -> str:
    return "later"


@tool
def rows() -> Iterator[int]:
    yield 1


@tool
async def stream() -> AsyncIterator[int]:
    yield 1


async def collect() -> list[int]:
    return [n async for n in stream()]


@agent
def work() -> int:
    return act()


USES: dict[str, tuple[Callable[[], Any], Any]] = {
    "plain": (act, 0),
    "coroutine": (lambda: asyncio.run(act_later()), "later"),
    "generator": (lambda: list(rows()), [1]),
    "async generator": (lambda: asyncio.run(collect()), [1]),
    "agent": (work, 0),
}

PLACES = [
    "tracedance_sdk.recording.tools.start_call",
    "tracedance_sdk.recording.arguments.ArgumentPlan.bind",
    "tracedance_sdk.recording.calls.freeze",
    "tracedance_sdk.recording.calls.call_attributes",
    "tracedance_sdk.recording.calls.result_attributes",
    "tracedance_sdk.recording.streams.freeze",
    "tracedance_sdk.recording.runs.Run._keep",
    "tracedance_sdk.recording.lives.open_run",
    "tracedance_sdk.recording.lives.root_span",
    "tracedance_sdk.recording.closing.run_end_attributes",
    "tracedance_sdk.recording.opening.run_attributes",
]


def broken(*args: Any, **kwargs: Any) -> Any:
    raise RuntimeError("a fault of ours")


@pytest.mark.usefixtures("forgiving")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("use", "expected"), USES.values(), ids=USES)
def test_a_fault_anywhere_in_the_recorder_leaves_the_program_alone(
    place: str, use: Callable[[], Any], expected: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with TraceRecorder(), monkeypatch.context() as patched:
        patched.setattr(place, broken)
        assert use() == expected
        assert use() == expected


@pytest.mark.usefixtures("forgiving")
def test_a_fault_is_logged_once_per_place_and_counted_every_time(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with TraceRecorder() as recorder:
        with monkeypatch.context() as patched, caplog.at_level(logging.WARNING):
            patched.setattr("tracedance_sdk.recording.tools.start_call", broken)
            for _ in range(5):
                act()
        act(7)

    (record,) = caplog.records
    assert record.getMessage() == (
        "tracedance could not record (start: RuntimeError); the program goes on, further faults of"
        " this kind are only counted"
    )
    assert record.exc_info is None
    assert recorder.close().faults == {"start: RuntimeError": 5}
    assert [call.arguments for call in recorder.trace.calls] == [{"n": 7}]


def test_the_log_line_of_a_fault_quotes_the_system_and_not_what_was_recorded(
    caplog: pytest.LogCaptureFixture,
) -> None:
    guard, faults = Guard(), Counter[str]()
    with caplog.at_level(logging.WARNING):
        guard.note("write", faults, OSError(28, "No space left\non device"))
        guard.note("result", faults, ValueError("cannot encode 'my secret'"))

    told = [record.getMessage().partition(";")[0] for record in caplog.records]
    assert told == [
        "tracedance could not record (write: OSError: [Errno 28] No space left on device)",
        "tracedance could not record (result: ValueError)",
    ]


class BrokenHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        raise ValueError("I/O operation on closed file")


def test_a_log_that_cannot_be_written_is_not_the_programs_trouble() -> None:
    guard, faults = Guard(), Counter[str]()
    logger, handler = logging.getLogger("tracedance_sdk"), BrokenHandler()
    logger.addHandler(handler)
    try:
        assert guard.attempt("write", faults, int, "no number") is None
    finally:
        logger.removeHandler(handler)

    assert faults == {"write: ValueError": 1}


@pytest.mark.usefixtures("forgiving")
def test_a_fault_in_opening_a_run_does_not_stop_the_recorders_statement(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("tracedance_sdk.recording.closing.run_end_attributes", broken)
        with TraceRecorder() as recorder:
            act()

    (call,) = recorder.trace.calls
    assert call.result == Result(ok=True, content=0)
    assert recorder.close().faults == {"end: RuntimeError": 1}


@pytest.mark.usefixtures("forgiving")
def test_a_provider_or_exporter_that_fails_costs_spans_and_not_the_record() -> None:
    class Provider:
        def get_tracer(self, *args: Any, **kwargs: Any) -> Any:
            return self

        def start_span(self, *args: Any, **kwargs: Any) -> Any:
            raise ConnectionError("no spans today")

    class Exporter:
        def export(self, spans: Any) -> Any:
            raise ConnectionError("no export today")

        def __hash__(self) -> int:
            raise TypeError("not even a hash")

    for options in ({"tracer_provider": Provider()}, {"exporter": Exporter()}):
        with TraceRecorder(**options) as recorder:
            assert act(3) == 3
            recorder.record_turn("assistant", "done")
        assert [call.arguments for call in recorder.trace.calls] == [{"n": 3}]
        assert recorder.trace.turns[1].text == "done"


def test_in_our_own_tests_faults_are_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    assert GUARD.raises
    with TraceRecorder(), monkeypatch.context() as patched:
        patched.setattr("tracedance_sdk.recording.tools.start_call", broken)
        with pytest.raises(RuntimeError, match="a fault of ours"):
            act()


def test_what_is_no_fault_passes() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    faults: Counter[str] = Counter()
    with pytest.raises(KeyboardInterrupt):
        Guard().attempt("x", faults, interrupted)
    assert not faults

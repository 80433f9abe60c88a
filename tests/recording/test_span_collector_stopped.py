"""Spans of code that was stopped from outside: OpenTelemetry leaves them without any mark."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

import pytest
from opentelemetry.trace import Tracer

from tests.support.live_spans import agent, model, tool
from tracedance_sdk.recording import SpanCollector
from tracedance_sdk.trace import Call, Outcome, Trace

STOPPING: list[type[BaseException]] = [
    asyncio.CancelledError,
    KeyboardInterrupt,
    SystemExit,
]


@pytest.fixture
def collector() -> SpanCollector:
    return SpanCollector()


@pytest.fixture
def tracer(collector: SpanCollector) -> Tracer:
    return collector.provider.get_tracer("test")


def stop_and_tidy(tracer: Tracer) -> None:
    try:
        stop()
    finally:
        with tool(tracer, "tidy", "c1"):
            pass


def stop() -> None:
    raise asyncio.CancelledError


def the_run(collector: SpanCollector) -> tuple[Trace, Call, Outcome]:
    [trace] = collector.traces
    [call] = trace.calls
    assert trace.outcome is not None
    return trace, call, trace.outcome


@pytest.mark.parametrize("error", STOPPING)
def test_a_call_that_was_stopped_did_not_succeed(
    error: type[BaseException], collector: SpanCollector, tracer: Tracer
) -> None:
    def run() -> None:
        with agent(tracer):
            model(tracer, "Pay.")
            with tool(tracer, "pay", "c1"):
                raise error

    with pytest.raises(error):
        run()
    _, call, outcome = the_run(collector)
    assert call.result is not None
    assert call.result.error is not None
    assert call.result.error.type.endswith(error.__name__)
    assert (call.result.ok, call.result.interrupted) == (False, True)
    assert outcome.error is not None
    assert (outcome.ended, outcome.error.type) == (False, call.result.error.type)


def test_a_tool_that_ran_out_of_time_was_cancelled(
    collector: SpanCollector, tracer: Tracer
) -> None:
    async def run() -> None:
        with agent(tracer):
            model(tracer, "Pay.")
            with tool(tracer, "pay", "c1"):
                await asyncio.sleep(60)

    with pytest.raises(TimeoutError):
        asyncio.run(asyncio.wait_for(run(), 0.05))
    _, call, outcome = the_run(collector)
    assert call.result is not None
    assert (call.result.ok, call.result.interrupted, outcome.ended) == (False, True, False)


def test_what_is_done_while_a_cancellation_is_dealt_with_is_not_stopped(
    collector: SpanCollector, tracer: Tracer
) -> None:
    with agent(tracer):
        model(tracer, "Tidy up.")
        with contextlib.suppress(asyncio.CancelledError):
            stop_and_tidy(tracer)
    _, call, outcome = the_run(collector)
    assert call.result is not None
    assert (call.result.ok, call.result.interrupted, outcome.ended) == (True, False, True)


def test_a_stream_that_nobody_reads_on_has_not_failed(
    collector: SpanCollector, tracer: Tracer
) -> None:
    def pieces() -> Iterator[int]:
        with tool(tracer, "count", "c1"):
            yield from range(9)

    with agent(tracer):
        model(tracer, "Count.")
        with contextlib.closing(pieces()) as stream:  # type: ignore[type-var]  # a generator
            next(stream)
    _, call, outcome = the_run(collector)
    assert call.result is not None
    assert (call.result.ok, outcome.ended) == (True, True)

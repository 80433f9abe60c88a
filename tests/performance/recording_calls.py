"""What a recorded call costs beside a bare SDK span that carries the same data."""

from __future__ import annotations

import json
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import wrapt
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.trace import SpanKind, Tracer

import tracedance_sdk as td
from tests.performance.measuring import Budget, Chunk, Effort, Measured, compare, timed
from tests.performance.sample_data import record_of_size, records_of_size, text_of_size

ARGUMENTS = record_of_size(300)
RESULT = record_of_size(700)


def bare_tracer() -> Tracer:
    """Return a tracer of a provider of its own; its one processor drops every span."""
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SpanProcessor())
    return provider.get_tracer("bare")


def bare_span(tracer: Tracer, function: Callable[..., object]) -> Callable[[], object]:
    """Return what one writes by hand: a span with arguments and result as JSON attributes."""

    def call() -> object:
        with tracer.start_as_current_span("execute_tool lookup", kind=SpanKind.INTERNAL) as span:
            span.set_attribute("gen_ai.operation.name", "execute_tool")
            span.set_attribute("gen_ai.tool.name", "lookup")
            span.set_attribute("gen_ai.tool.type", "function")
            span.set_attribute("gen_ai.tool.call.id", f"call_{uuid.uuid4().hex[:12]}")
            span.set_attribute("gen_ai.tool.call.arguments", json.dumps(ARGUMENTS))
            result = function(**ARGUMENTS)
            span.set_attribute("gen_ai.tool.call.result", json.dumps(result))
            return result

    return call


def recorded(function: Callable[..., object], n_calls: int, **settings: Any) -> Chunk:
    """Return a chunk of calls inside one open recorder; opening and closing are not counted."""
    decorated = td.tool(function)

    def chunk() -> float:
        with td.TraceRecorder(task_id="bench", **settings):
            started = time.process_time()
            for _ in range(n_calls):
                decorated(**ARGUMENTS)
            return (time.process_time() - started) / n_calls

    return chunk


def returning(result: object) -> Callable[..., object]:
    """Return the tool of these measurements: it does nothing but return a value."""

    def lookup(**_fields: object) -> object:
        return result

    return lookup


def call_without_journal(effort: Effort) -> Measured:
    return _against_bare_span(RESULT, effort, n_calls=400)


def call_with_journal(effort: Effort) -> Measured:
    # The journal stays open for the next recorder, so its folder outlives the measurement.
    return _against_bare_span(RESULT, effort, n_calls=400, journal=Path(tempfile.mkdtemp()))


def big_records(effort: Effort) -> Measured:
    return _against_bare_span(records_of_size(1_000_000), effort, n_calls=3)


def big_text(effort: Effort) -> Measured:
    return _against_bare_span(text_of_size(1_000_000), effort, n_calls=10)


def _against_bare_span(
    result: object, effort: Effort, *, n_calls: int, **settings: Any
) -> Measured:
    function = returning(result)
    n_calls = effort.calls(n_calls)
    return compare(
        recorded(function, n_calls, **settings),
        timed(bare_span(bare_tracer(), function), n_calls),
        rounds=effort.rounds,
    )


def tool_without_recorder(effort: Effort) -> Measured:
    def add(left: int, right: int) -> int:
        return left + right

    @wrapt.decorator
    def does_nothing(
        wrapped: Callable[..., int], instance: object, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> int:
        return wrapped(*args, **kwargs)

    ours, theirs = td.tool(add), does_nothing(add)
    n_calls = effort.calls(20_000)
    return compare(
        timed(lambda: ours(1, 2), n_calls),
        timed(lambda: theirs(1, 2), n_calls),
        rounds=effort.rounds,
    )


BARE_SPAN = "a bare SDK span with the same data by json.dumps"

BUDGETS = (
    Budget(
        "call",
        "a recorded call: 300 B arguments, 700 B result, redaction on, no journal",
        BARE_SPAN,
        1.2,
        "x",
        call_without_journal,
    ),
    Budget("call-journal", "the same with the journal", BARE_SPAN, 2.0, "x", call_with_journal),
    Budget(
        "call-1mb-records",
        "the same with a 1 MB result of many records, no journal",
        BARE_SPAN,
        1.0,
        "x",
        big_records,
    ),
    Budget(
        "call-1mb-text",
        "the same with a 1 MB result of one text, no journal",
        BARE_SPAN,
        1.0,
        "x",
        big_text,
    ),
    Budget(
        "tool-idle",
        "@td.tool with no recorder open",
        "the same function under a wrapt.decorator that does nothing",
        1.25,
        "x",
        tool_without_recorder,
    ),
)

"""The queue in front of an exporter is bounded by count and by size, and counts what it drops."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tracedance_sdk.journal import INTERNAL, SpanRecord
from tracedance_sdk.recording import TraceRecorder, tool
from tracedance_sdk.recording.leaving import leaving
from tracedance_sdk.recording.outbox import (
    MAX_BATCH_BYTES,
    MAX_QUEUE_BYTES,
    Limits,
    Outbox,
    Parcel,
    limits_asked_for,
)
from tracedance_sdk.recording.tallies import CLOSED, FULL, LATE, Tally

RESULT = "gen_ai.tool.call.result"


def record(text: str, *, name: str = "span") -> SpanRecord:
    return SpanRecord(name, "1" * 32, "2" * 16, None, INTERNAL, 1, 2, {RESULT: json.dumps(text)})


class Gate:
    """Takes batches, the first one only when it is opened."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.batches: list[list[SpanRecord]] = []

    def send(self, parcels: list[Parcel]) -> None:
        self.opened.wait(20)
        self.batches.append([parcel.record for parcel in parcels])
        for parcel in parcels:
            parcel.tally.exported += 1


@pytest.fixture
def gate() -> Iterator[Gate]:
    found = Gate()
    yield found
    found.opened.set()


def outbox(gate: Gate, *, spans: int = 10, batch: int = 4, with_content: bool = True) -> Outbox:
    limits = Limits(spans, batch, 60.0)
    return Outbox(gate.send, with_content=with_content, limits=limits)


def test_spans_beyond_the_count_are_dropped_and_the_others_leave_in_order(gate: Gate) -> None:
    queue, tally = outbox(gate), Tally()
    for n in range(30):
        queue.put(record("x", name=str(n)), tally)
    assert not queue.flush(0.05)
    n_dropped = tally.failed[FULL]
    gate.opened.set()

    assert queue.flush(5)
    assert 16 <= n_dropped <= 20
    assert (tally.handed, tally.exported, tally.dropped) == (30, 30 - n_dropped, {FULL: n_dropped})
    sent = [int(span.name) for batch in gate.batches for span in batch]
    assert sent == sorted(sent)
    assert max(map(len, gate.batches)) <= 4


def test_the_size_of_what_waits_is_bounded_and_large_values_wait_as_stubs(gate: Gate) -> None:
    queue, tally = outbox(gate, spans=10_000), Tally()
    text = "x" * (4 * 1024 * 1024)
    for _ in range(100):
        queue.put(record(text), tally)
    small = "y" * 30_000
    for _ in range(2000):
        queue.put(record(small), tally)

    assert 0 < tally.failed[FULL] < 2100
    assert queue._size <= MAX_QUEUE_BYTES
    gate.opened.set()
    assert queue.flush(10)
    assert queue._size == 0
    values = [str(span.attributes[RESULT]) for batch in gate.batches for span in batch]
    assert max(map(len, values)) < 32 * 1024
    assert {json.loads(value)["$size"] for value in values if value.startswith("{")} == {
        len(text) + 2
    }


def test_a_request_holds_no_more_than_receivers_take(gate: Gate) -> None:
    gate.opened.set()
    queue, tally = outbox(gate, spans=1000, batch=500), Tally()
    for _ in range(400):
        queue.put(record("x" * 20_000), tally)

    assert queue.flush(10)
    sizes = [sum(len(str(span.attributes[RESULT])) for span in batch) for batch in gate.batches]
    assert sum(sizes) > 3 * MAX_BATCH_BYTES
    assert max(sizes) <= MAX_BATCH_BYTES


def test_what_comes_after_the_end_is_counted(gate: Gate) -> None:
    queue, tally = outbox(gate), Tally()
    queue.put(record("x"), tally)
    assert queue.close(0.05) == 1
    queue.put(record("x"), tally)

    assert tally.failed[CLOSED] + tally.dropped.get(LATE, 0) == 2


def test_an_end_waits_for_what_is_sent_and_no_longer(gate: Gate) -> None:
    queue, tally = outbox(gate), Tally()
    queue.put(record("x"), tally)
    threading.Timer(0.2, gate.opened.set).start()
    began = time.monotonic()

    assert queue.close(5) == 0
    assert time.monotonic() - began < 2
    assert (tally.exported, tally.dropped) == (1, {})


def test_an_end_without_anything_sent_is_immediate(gate: Gate) -> None:
    queue = outbox(gate)
    queue.start()
    began = time.monotonic()

    assert queue.close(5) == 0
    assert time.monotonic() - began < 1


def test_who_waits_is_told_when_his_spans_are_sent(gate: Gate) -> None:
    queue, told = outbox(gate), threading.Event()
    queue.flush_and_tell(told.set)
    assert told.is_set()

    told.clear()
    queue.put(record("x"), Tally())
    queue.flush_and_tell(told.set)
    assert not told.wait(0.1)
    gate.opened.set()
    assert told.wait(5)


def test_without_content_neither_small_nor_large_values_leave() -> None:
    small, large = record("x"), record("x" * 100_000)

    for span in (small, large):
        assert leaving(span, with_content=False).attributes == {}
    assert leaving(small, with_content=True) is small
    assert json.loads(str(leaving(large, with_content=True).attributes[RESULT]))["$size"] == 100_002


@pytest.mark.parametrize(
    ("queue", "batch", "limits"),
    [
        (None, None, Limits(2048, 512, 5.0)),
        ("100", None, Limits(100, 100, 5.0)),
        ("0", "0", Limits(1, 1, 5.0)),
        ("50", "7", Limits(50, 7, 5.0)),
    ],
)
def test_the_bounds_are_those_of_opentelemetrys_variables(
    queue: str | None, batch: str | None, limits: Limits, monkeypatch: pytest.MonkeyPatch
) -> None:
    if queue is not None:
        monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", queue)
    if batch is not None:
        monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", batch)

    assert limits_asked_for() == limits


def test_an_exporter_beside_ones_own_provider_gets_the_same_spans() -> None:
    theirs, ours = InMemorySpanExporter(), InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(theirs))

    @tool
    def look() -> int:
        return 1

    with TraceRecorder(tracer_provider=provider, exporter=ours):
        look()
    provider.shutdown()

    ids = [
        {span.name: span.context.span_id for span in spans.get_finished_spans() if span.context}
        for spans in (theirs, ours)
    ]
    assert ids[0] == ids[1]
    assert set(ids[0]) == {"execute_tool look", "invoke_agent agent"}

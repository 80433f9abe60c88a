"""Receivers that are slow, refuse, hang, die or reject never reach the program that records."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.durability.hosts import Finished, run_host
from tests.durability.receivers import RECEIVERS, Manner, Received, free_port
from tests.support.tables import AddRow
from tracedance_sdk.journal import read_journal
from tracedance_sdk.otel import assemble
from tracedance_sdk.recording.exporting import REJECTED
from tracedance_sdk.recording.tallies import FULL, LATE
from tracedance_sdk.trace import Trace

N_CALLS = 300
N_SPANS = N_CALLS + 1
"""Those of the calls, and the run's."""


class Fault(NamedTuple):
    """One way for an export to go wrong.

    Attributes:
        manner: Of the receiver; None is a port where nobody listens.
        reasons: For the spans dropped; {} when all are exported.
        arrive: How many spans the receiver has when the program has ended.
    """

    name: str
    protocol: str
    manner: Manner | None
    reasons: dict[str, int]
    arrive: int
    timeout: float = 1.5
    slow: bool = False


HTTP, GRPC = "http/protobuf", "grpc"
FAULTS = [
    Fault("none", HTTP, Manner(), {}, N_SPANS),
    Fault("none", GRPC, Manner(), {}, N_SPANS),
    Fault("answers after 0.5 s", HTTP, Manner(delay_seconds=0.5), {}, N_SPANS, slow=True),
    Fault("answers after 0.5 s", GRPC, Manner(delay_seconds=0.5), {}, N_SPANS, slow=True),
    Fault("answers after 3 s", HTTP, Manner(delay_seconds=3), {LATE: N_SPANS}, N_CALLS, 10),
    Fault(
        "answers after 3 s", GRPC, Manner(delay_seconds=3), {LATE: N_SPANS}, N_CALLS, 10, slow=True
    ),
    Fault("nobody listens", HTTP, None, {"no answer: ConnectionError": N_SPANS}, 0),
    Fault("nobody listens", GRPC, None, {"gRPC UNAVAILABLE": N_SPANS}, 0),
    Fault("400", HTTP, Manner(refuse="400"), {"HTTP 400": N_SPANS}, 0),
    Fault("401", HTTP, Manner(refuse="401"), {"HTTP 401": N_SPANS}, 0, slow=True),
    Fault(
        "INVALID_ARGUMENT",
        GRPC,
        Manner(refuse="INVALID_ARGUMENT"),
        {"gRPC INVALID_ARGUMENT": N_SPANS},
        0,
    ),
    Fault("500", HTTP, Manner(refuse="500"), {"HTTP 500": N_SPANS}, 0, slow=True),
    Fault(
        "503, Retry-After: 1",
        HTTP,
        Manner(refuse="503", retry_after=1),
        {"HTTP 503": N_SPANS},
        0,
    ),
    Fault(
        "429, Retry-After: 3600",
        HTTP,
        Manner(refuse="429", retry_after=3600),
        {"HTTP 429": N_SPANS},
        0,
        10,
        slow=True,
    ),
    Fault(
        "UNAVAILABLE, retry in 1 s",
        GRPC,
        Manner(refuse="UNAVAILABLE", retry_after=1),
        {"gRPC UNAVAILABLE": N_SPANS},
        0,
    ),
    Fault(
        "RESOURCE_EXHAUSTED, retry in 1 h",
        GRPC,
        Manner(refuse="RESOURCE_EXHAUSTED", retry_after=3600),
        {"gRPC RESOURCE_EXHAUSTED": N_SPANS},
        0,
        10,
        slow=True,
    ),
    Fault(
        "503 once, then well",
        HTTP,
        Manner(refuse="503", retry_after=1, refusals=1),
        {},
        N_SPANS,
        10,
        slow=True,
    ),
    Fault(
        "UNAVAILABLE once, then well",
        GRPC,
        Manner(refuse="UNAVAILABLE", retry_after=1, refusals=1),
        {},
        N_SPANS,
        10,
        slow=True,
    ),
    Fault("never answers", HTTP, Manner(hang=True), {LATE: N_SPANS}, 0, 10),
    Fault("never answers", GRPC, Manner(hang=True), {LATE: N_SPANS}, 0, 10),
    Fault(
        "never answers, short timeout",
        HTTP,
        Manner(hang=True),
        {"no answer: ReadTimeout": N_SPANS},
        0,
        0.4,
        slow=True,
    ),
    Fault(
        "never answers, short timeout",
        GRPC,
        Manner(hang=True),
        {"gRPC DEADLINE_EXCEEDED": N_SPANS},
        0,
        0.4,
        slow=True,
    ),
    Fault(
        "dies in its answer",
        HTTP,
        Manner(die=True),
        {"no answer: ChunkedEncodingError": N_SPANS},
        0,
    ),
    Fault("dies in its answer", GRPC, Manner(die=True), {"gRPC UNAVAILABLE": N_SPANS}, 0),
    # Of two requests: the run's own span comes in one of its own, after the flush.
    Fault("rejects 7 spans", HTTP, Manner(reject=7), {REJECTED: 8}, N_SPANS - 8),
    Fault("rejects 7 spans", GRPC, Manner(reject=7), {REJECTED: 8}, N_SPANS - 8),
]


@contextlib.contextmanager
def receiver_of(fault: Fault) -> Iterator[tuple[str, Received | None]]:
    if fault.manner is None:
        yield f"http://127.0.0.1:{free_port()}", None
        return
    with RECEIVERS[fault.protocol](fault.manner) as found:
        yield found


def journal_of(folder: Path) -> list[Trace]:
    contents = read_journal(folder)
    traces = assemble(contents, blobs=contents.get_blob)
    assert contents.problems == []
    return traces


def row_of(fault: Fault, done: Finished, arrived: int) -> dict[str, str]:
    said = done.said
    dropped = ", ".join(f"{n} {why}" for why, n in said["summary"]["dropped"].items())
    return {
        "receiver": fault.name,
        "protocol": fault.protocol,
        "exported": str(said["summary"]["exported"]),
        "dropped": dropped or "-",
        "arrived": str(arrived),
        "median call": f"{said['beside_ms'] / said['alone_ms']:.2f} x",
        "slowest call": f"{said['slowest_ms']:.1f} ms",
        "flush": f"{said['flush_seconds']:.2f} s",
        "close": f"{said['close_seconds']:.2f} s",
        "exit": f"{done.exit_seconds:.2f} s",
    }


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(
            fault,
            id=f"{fault.protocol}-{fault.name}",
            marks=[pytest.mark.durability] if fault.slow else [],
        )
        for fault in FAULTS
    ],
)
def test_no_receiver_slows_the_program_or_costs_it_evidence(
    fault: Fault, tmp_path: Path, add_row: AddRow
) -> None:
    with receiver_of(fault) as (endpoint, received):
        done = run_host(
            "export_host.py",
            {"calls": N_CALLS, "journal": str(tmp_path)},
            OTEL_EXPORTER_OTLP_ENDPOINT=endpoint,
            OTEL_EXPORTER_OTLP_PROTOCOL=fault.protocol,
            OTEL_EXPORTER_OTLP_TIMEOUT=str(fault.timeout),
        )
        arrived = 0 if received is None else len(received.spans)
        add_row(f"export faults, {N_SPANS} spans each", **row_of(fault, done, arrived))

    said: dict[str, Any] = done.said
    assert said["summary"]["dropped"] == fault.reasons
    assert said["summary"]["exported"] == N_SPANS - sum(fault.reasons.values())
    assert said["summary"]["faults"] == {}
    assert arrived == fault.arrive
    assert said["flush_seconds"] < 2.5
    assert said["close_seconds"] < 2.5
    assert done.exit_seconds < 4
    # A call that waited for the receiver would take as long as its answer.
    assert said["slowest_ms"] < 450
    assert said["beside_ms"] < 4 * said["alone_ms"] + 0.2
    (exported,) = [trace for trace in journal_of(tmp_path) if trace.task_id == "exported"]
    assert len(exported.calls) == N_CALLS
    assert all(call.result is not None and call.result.ok is True for call in exported.calls)


@pytest.mark.parametrize("protocol", RECEIVERS)
def test_a_receiver_that_hangs_costs_a_bounded_queue_and_the_rest_is_counted(
    protocol: str, tmp_path: Path
) -> None:
    n_calls, n_queued = 6000, 256
    with RECEIVERS[protocol](Manner(hang=True)) as (endpoint, received):
        done = run_host(
            "export_host.py",
            {"calls": n_calls, "journal": str(tmp_path), "text": 4000},
            OTEL_EXPORTER_OTLP_ENDPOINT=endpoint,
            OTEL_EXPORTER_OTLP_PROTOCOL=protocol,
            OTEL_EXPORTER_OTLP_TIMEOUT="100",
            OTEL_BSP_MAX_QUEUE_SIZE=str(n_queued),
        )

    said = done.said
    dropped = said["summary"]["dropped"]
    assert sum(dropped.values()) == n_calls + 1
    assert dropped.keys() == {FULL, LATE}
    # Those queued, and the batch that is being sent.
    assert n_queued <= dropped[LATE] <= 2 * n_queued
    assert len(received.headers) == 1
    assert said["growth_mib"] < 40
    assert said["slowest_ms"] < 1000
    (exported,) = [trace for trace in journal_of(tmp_path) if trace.task_id == "exported"]
    assert len(exported.calls) == n_calls

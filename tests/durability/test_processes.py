"""Processes of every model: each writes its own journal, none mixes or loses, all are exported."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.durability.hosts import ROOT, clean_environment
from tests.durability.process_models import CALLS, MODELS, REQUESTS, WORKERS, requests_of
from tests.durability.receivers import http_receiver
from tests.durability.service_check import check_apart, check_sent, read_service
from tests.support.tables import AddRow


@pytest.mark.parametrize(
    "before",
    [
        pytest.param(False, id="loaded"),
        pytest.param(True, id="recorded before", marks=pytest.mark.durability),
    ],
)
@pytest.mark.parametrize("model", MODELS)
def test_every_process_records_and_exports_its_own_runs(
    model: str, before: bool, tmp_path: Path, add_row: AddRow
) -> None:
    began = time.monotonic()
    with http_receiver() as (endpoint, received):
        done = subprocess.run(
            [sys.executable, "-m", "tests.durability.process_models", model, *["y"] * before],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env=clean_environment(
                TRACEDANCE_JOURNAL=str(tmp_path), OTEL_EXPORTER_OTLP_ENDPOINT=endpoint
            ),
        )
    took = time.monotonic() - began

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    service = read_service(tmp_path)
    check_apart(service)
    assert set(service.traces) == requests_of(WORKERS) | ({"before"} if before else set())
    for trace in service.traces.values():
        assert [call.arguments["n"] for call in trace.calls] == list(range(CALLS))
        assert trace.outcome is not None
        assert trace.outcome.ended
    # An executor may give all work to one of its processes.
    at_most = WORKERS + before
    assert 1 + before <= len(service.processes) <= at_most
    if "Executor" not in model and "pool" not in model:
        assert len(service.processes) == at_most
    check_sent(service.traces.values(), received.spans)
    add_row(
        "processes",
        model=f"{model}{', parent recorded before' if before else ''}",
        version=f"Python {sys.version.split()[0]}",
        requests=f"{len(service.traces)} of {WORKERS * REQUESTS + before}",
        calls=sum(len(trace.calls) for trace in service.traces.values()),
        mixed=service.mixed,
        journal_files=len(service.processes),
        spans_sent=len(received.spans),
        seconds=f"{took:.1f}",
    )


INHERITED = """
import multiprocessing, sys
import tracedance_sdk as td

@td.tool
def look_up(request, n):
    return n

def work(n):
    look_up("one", n)

if __name__ == "__main__":
    with td.TraceRecorder():
        look_up("one", 0)
        process = multiprocessing.get_context("fork").Process(target=work, args=(1,))
        process.start()
        process.join()
        look_up("one", 2)
"""


def test_calls_of_a_process_forked_within_a_run_belong_to_it_and_are_sent(tmp_path: Path) -> None:
    with http_receiver() as (endpoint, received):
        subprocess.run(
            [sys.executable, "-c", INHERITED],
            check=True,
            timeout=60,
            env=clean_environment(
                TRACEDANCE_JOURNAL=str(tmp_path), OTEL_EXPORTER_OTLP_ENDPOINT=endpoint
            ),
        )

    service = read_service(tmp_path)
    check_apart(service)
    assert [call.arguments["n"] for call in service.traces["one"].calls] == [0, 1, 2]
    assert len(service.processes) == 2
    check_sent(service.traces.values(), received.spans)

"""A program that records calls while its spans are exported; it prints what that cost as JSON.

python tests/durability/export_host.py '{"calls": 300, "journal": "traces/"}'
"""

from __future__ import annotations

import json
import logging
import statistics
import sys
import time
from pathlib import Path
from typing import Any


def peak_mib() -> float:
    """Return the most memory this process ever had resident."""
    status = Path("/proc/self/status").read_text()
    return float(status.split("VmHWM:")[1].split()[0]) / 1024


def main(asked: dict[str, Any]) -> None:
    if asked.get("log"):
        logging.basicConfig(stream=sys.stderr, level=logging.DEBUG)
    import tracedance_sdk as td

    text = "x" * asked.get("text", 200)

    @td.tool
    def lookup(n: int) -> dict[str, Any]:
        return {"n": n, "text": text + str(n)}

    def record(n_calls: int) -> list[float]:
        took = []
        for n in range(n_calls):
            began = time.perf_counter()
            lookup(n)
            took.append((time.perf_counter() - began) * 1000)
        return took

    journal: Any = asked.get("journal") or False
    with td.TraceRecorder(journal=journal, exporter=False):
        alone = record(asked["calls"])
    before = peak_mib()
    recorder = td.TraceRecorder(journal=journal, task_id="exported")
    with recorder:
        beside = record(asked["calls"])
        began = time.perf_counter()
        flushed = recorder.flush()
        flush_seconds = time.perf_counter() - began
        began = time.perf_counter()
        recorder.close()
    close_seconds = time.perf_counter() - began
    summary = recorder.close()
    with td.TraceRecorder(journal=journal, exporter=False):
        alone += record(asked["calls"])
    print(
        json.dumps(
            {
                "alone_ms": statistics.median(alone),
                "beside_ms": statistics.median(beside),
                "slowest_ms": max(beside),
                "flush_seconds": flush_seconds,
                "close_seconds": close_seconds,
                "flushed": flushed._asdict(),
                "summary": summary._asdict(),
                "growth_mib": peak_mib() - before,
                "trace_id": recorder.trace.otel.trace_id if recorder.trace.otel else None,
            }
        )
    )


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))

"""A long run in a process of its own; it prints its peak memory as it goes, as JSON.

    python tests/durability/long_run.py '{"calls": 10000, "bytes": 10000, "journal": "traces/"}'

Content is made as it is needed, so that what grows is what the recorder keeps.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import tracedance_sdk as td


def memory_mib(field: str) -> float:
    """Return ``VmHWM``, the most memory this process ever had, or ``VmRSS``, what it has now."""
    status = Path("/proc/self/status").read_text()
    return float(status.split(f"{field}:")[1].split()[0]) / 1024


def main(asked: dict[str, Any]) -> None:
    n_calls, size, every = asked["calls"], asked["bytes"], asked.get("large_every", 0)

    @td.tool
    def read(n: int) -> dict[str, Any]:
        large = every and n % every == 0
        text = f"{n:08d} " * ((1_000_000 if large else size) // 9)
        return {"n": n, "text": text}

    curve: list[tuple[int, float]] = []
    marks = {1000, *(n_calls * part // 10 for part in range(1, 11))}
    options: dict[str, Any] = {"exporter": False}
    if "exporter" in asked:
        options["exporter"] = asked["exporter"]
    began = time.perf_counter()
    with td.TraceRecorder(journal=asked["journal"], **options) as recorder:
        for n in range(1, n_calls + 1):
            read(n)
            if n in marks:
                curve.append((n, memory_mib("VmHWM")))
    seconds = time.perf_counter() - began
    answer: dict[str, Any] = {"curve": curve, "seconds": seconds}
    if asked.get("trace"):
        before, began = memory_mib("VmRSS"), time.perf_counter()
        trace = recorder.trace
        answer["trace"] = {
            "calls": len(trace.calls),
            "seconds": time.perf_counter() - began,
            "held_mib": memory_mib("VmRSS") - before,
            "peak_mib": memory_mib("VmHWM") - before,
        }
    answer["summary"] = recorder.close()._asdict()
    print(json.dumps(answer))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))

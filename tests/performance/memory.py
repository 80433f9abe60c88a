"""How much a long run grows: the peak of a process of its own, between two points of one run."""

from __future__ import annotations

import tempfile

from tests.performance.measuring import Budget, Effort, Measured, run_child

EARLY, LATE = 2_000, 20_000
LIMIT_MIB = 8.0

PROGRAM = f"""
import resource, sys
from pathlib import Path
import tracedance_sdk as td
from tests.performance.sample_data import record_of_size

arguments, result = record_of_size(300), record_of_size(700)

@td.tool
def lookup(**fields):
    return dict(result)

def peak_kib():
    status = Path("/proc/self/status")
    if status.exists():
        # Linux counts what stood before exec, the parent's size, into ru_maxrss.
        return float(status.read_text().split("VmHWM:")[1].split()[0])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1024 if sys.platform == "darwin" else peak

with td.TraceRecorder(task_id="bench", journal=sys.argv[1]):
    for number in range({LATE}):
        lookup(**arguments)
        if number + 1 == {EARLY}:
            early = peak_kib()
    late = peak_kib()
written = sum(path.stat().st_size for path in Path(sys.argv[1]).rglob("*.jsonl"))
print(early, late, written / 1024)
"""


def long_run(effort: Effort) -> Measured:
    """Return the growth of the peak resident set in MiB; `effort` makes no difference."""
    with tempfile.TemporaryDirectory(prefix="tracedance-bench-") as folder:
        output = run_child(["-c", PROGRAM, folder]).stdout
    early, late, written = (float(part) / 1024 for part in output.split())
    if written < LATE * 1000 / 1024**2:
        raise RuntimeError(f"the journal has only {written:.1f} MiB for {LATE:,} calls")
    growth = late - early
    detail = f"{late:.1f} MiB at the end, {written:.1f} MiB in the journal"
    return Measured(growth, growth, growth, detail)


BUDGETS = (
    Budget(
        "memory",
        f"growth of the peak memory from call {EARLY:,} to call {LATE:,}, with the journal",
        "itself",
        LIMIT_MIB,
        "MiB",
        long_run,
    ),
)

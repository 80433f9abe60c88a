"""How much a long run grows: the peak of a process of its own, between two points of one run."""

from __future__ import annotations

import tempfile

from tests.performance.measuring import Budget, Effort, Measured, run_child

EARLY, LATE = 2_000, 20_000
LIMIT_MIB = 8.0

PROGRAM = f"""
import resource, sys
import tracedance_sdk as td
from tests.performance.sample_data import record_of_size

arguments, result = record_of_size(300), record_of_size(700)

@td.tool
def lookup(**fields):
    return dict(result)

def peak_kib():
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1024 if sys.platform == "darwin" else peak

with td.TraceRecorder(task_id="bench", journal=sys.argv[1]):
    for number in range({LATE}):
        lookup(**arguments)
        if number + 1 == {EARLY}:
            early = peak_kib()
    late = peak_kib()
print(early, late)
"""


def long_run(effort: Effort) -> Measured:
    """Return the growth of the peak resident set in MiB; `effort` makes no difference."""
    with tempfile.TemporaryDirectory(prefix="tracedance-bench-") as folder:
        output = run_child(["-c", PROGRAM, folder]).stdout
    early, late = (float(part) / 1024 for part in output.split())
    growth = late - early
    return Measured(growth, growth, growth, f"{late:.1f} MiB at the end")


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

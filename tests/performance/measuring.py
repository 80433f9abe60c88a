"""Ratios that hold on a noisy machine: both sides interleaved, processor time, paired medians.

Every round times the subject and then the baseline, so that a slow spell of the machine meets
both. What is reported is the median of the rounds' ratios with its quartiles.
"""

from __future__ import annotations

import gc
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

Chunk = Callable[[], float]
"""Does some work and returns the processor seconds of one operation."""


class Effort(NamedTuple):
    """How long to measure: ``rounds`` of both sides; ``scale`` shortens each of them."""

    rounds: int = 31
    process_rounds: int = 15
    scale: float = 1.0

    def calls(self, n_calls: int) -> int:
        """How many operations one chunk does, at full scale `n_calls`."""
        return max(1, int(n_calls * self.scale))


FULL = Effort()
QUICK = Effort(rounds=7, process_rounds=5, scale=0.3)


class Measured(NamedTuple):
    """One figure.

    Attributes:
        value: The median, in the budget's unit.
        low: First quartile of the rounds (the value itself where there is one round).
        high: Third quartile.
        detail: Both sides in absolute terms, for reading.
    """

    value: float
    low: float
    high: float
    detail: str = ""


class Budget(NamedTuple):
    """One promise about cost.

    Attributes:
        name: For ``--only``.
        what: What is measured.
        against: The baseline, measured in the same run.
        limit: The most that `value` may be.
        unit: ``x`` for a ratio, else what the value counts.
        measure: Takes the effort, returns the figure or the reason why there is none.
    """

    name: str
    what: str
    against: str
    limit: float
    unit: str
    measure: Callable[[Effort], Measured | str]


def timed(operation: Callable[[], object], n_calls: int) -> Chunk:
    """Return a chunk that runs an operation `n_calls` times."""

    def chunk() -> float:
        repeat = range(n_calls)
        started = time.process_time()
        for _ in repeat:
            operation()
        return (time.process_time() - started) / n_calls

    return chunk


def compare(subject: Chunk, baseline: Chunk, *, rounds: int) -> Measured:
    """Measure both sides in turn, after one round that is not counted.

    Args:
        subject: The chunk whose cost is of interest.
        baseline: The chunk it is measured against.
        rounds: How many times each is run; the order alternates from round to round.
    """
    subject(), baseline()
    pairs: list[tuple[float, float]] = []
    for number in range(rounds):
        gc.collect()
        if number % 2:
            below = baseline()
            pairs.append((subject(), below))
        else:
            above = subject()
            pairs.append((above, baseline()))
    ratios = sorted(above / below for above, below in pairs)
    low, middle, high = quartiles(ratios)
    ours = statistics.median(above for above, _ in pairs)
    theirs = statistics.median(below for _, below in pairs)
    return Measured(middle, low, high, f"{duration(ours)} against {duration(theirs)}")


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the first quartile, the median and the third quartile."""
    if len(values) < 2:
        return values[0], values[0], values[0]
    low, middle, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, middle, high


def duration(seconds: float) -> str:
    """Write a duration in the unit that suits it."""
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "µs")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def run_child(
    arguments: Sequence[str], *, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run this Python with the arguments and return what it printed.

    Raises:
        RuntimeError: The child failed; the message holds the end of what it wrote.
    """
    result = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **(environment or {})},
    )
    if result.returncode:
        raise RuntimeError(f"{arguments!r} failed: {(result.stderr or result.stdout)[-500:]}")
    return result


def child_chunk(arguments: Sequence[str], *, environment: Mapping[str, str] | None = None) -> Chunk:
    """Return a chunk that runs this Python to its end and counts the child's processor time."""

    def chunk() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run_child(arguments, environment=environment)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return (after.ru_utime - before.ru_utime) + (after.ru_stime - before.ru_stime)

    return chunk


def statement_chunk(statement: str) -> Chunk:
    """Return a chunk that times one statement in a fresh Python, its start left out."""
    program = (
        f"import time; started = time.process_time(); {statement}; "
        "print(time.process_time() - started)"
    )

    def chunk() -> float:
        return float(run_child(["-c", program]).stdout.split()[-1])

    return chunk

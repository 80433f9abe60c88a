"""Three benchmarks of all real sessions of coding agents, over the turns that were withheld."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.support.real_runs import CODING
from tests.support.tables import AddRow
from tracedance_sdk.behaviors import (
    RECORDED_SOURCE,
    TraceConstraints,
    benchmark_rates,
    build_benchmark,
    parse_query,
    read_benchmark,
    recorded_responses,
    rule_rows,
)
from tracedance_sdk.store import TraceStore

pytestmark = pytest.mark.timeout(600)

BENCHMARKS = {"action": ("A04", 5), "failure": ("F01", 9), "claim": ("C01", 2)}
"""By frame: the behaviour that most of their turns show, and how many."""


@pytest.mark.parametrize("frame", BENCHMARKS)
def test_those_who_made_a_benchmark_of_coding_sessions_fail_it(
    frame: str, real_runs: TraceStore, tmp_path: Path, add_row: AddRow
) -> None:
    behavior, n = BENCHMARKS[frame]
    query = parse_query(behavior, kmin=1, kmax=1_000, constraints=TraceConstraints(sources=CODING))
    built = build_benchmark(query, real_runs, tmp_path / "b.jsonl")
    benchmark = read_benchmark(built.path)
    assert (len(benchmark.instances), benchmark.problems) == (n, ())
    assert built.about["refused"] == {}
    assert [item["frame"] for item in built.about["behaviors"]] == [frame]
    extras = [item.model_extra or {} for item in benchmark.instances]
    assert {extra["lineage"]["collector"] for extra in extras} <= set(CODING)
    assert all(item.trace.tools for item in benchmark.instances)

    rows = list(rule_rows(recorded_responses(benchmark), model=RECORDED_SOURCE))
    (rate,) = (rate for rate in benchmark_rates(rows) if rate.kind == "benchmark")
    scores = Counter((row.model_extra or {})["rubric_score"] for row in rows)
    found = built.about["found"]["by_behavior"][behavior]
    add_row(
        "benchmarks of coding sessions, by their own withheld turns",
        behavior=behavior,
        candidates=found["candidates"],
        hits=found["hits"],
        instances=n,
        passed=rate.passed,
        scores=dict(sorted(scores.items())),
        tokens=f"{min(e['tokens'] for e in extras):,}-{max(e['tokens'] for e in extras):,}",
    )
    assert (rate.valid, rate.passed) == (n, 0)
    assert scores == {0: n}
    # A model with a small window can take none of them.
    assert min(extra["tokens"] for extra in extras) > 2_500

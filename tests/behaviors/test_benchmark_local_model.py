"""A real model takes benchmarks made of real runs, and rules score it: at most 20 calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.local_model import MOST_CALLS, local_model, name_at
from tests.support.tables import AddRow
from tracedance_sdk.behaviors import RULE_GRADER, build_benchmark, parse_query, read_benchmark
from tracedance_sdk.cli import run
from tracedance_sdk.grading import read_results
from tracedance_sdk.store import TraceStore

pytestmark = pytest.mark.timeout(900)

MOST_TOKENS = 2_500
MOST_ASKED = 1_000
"""Longer contexts are left out with a reason: on two processors each takes minutes."""

BENCHMARKS = {"A04": 7, "F01": 9, "C02": 3}
"""An action, a failure, a claim: how many of their instances are as short as that."""

OPTIONS = ("--temperature", "0", "--concurrency", "1", "--retries", "0", "--offline")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with local_model() as found:
        yield found


def test_a_small_model_takes_the_short_instances(
    address: str, real_runs: TraceStore, tmp_path: Path, add_row: AddRow
) -> None:
    files = {}
    for behavior in BENCHMARKS:
        files[behavior] = tmp_path / f"{behavior}.jsonl"
        build_benchmark(parse_query(behavior, kmin=1, kmax=1_000), real_runs, files[behavior])
    short = {
        behavior: {
            instance.id
            for instance in read_benchmark(path).instances
            if (instance.model_extra or {})["tokens"] <= MOST_TOKENS
        }
        for behavior, path in files.items()
    }
    assert {behavior: len(ids) for behavior, ids in short.items()} == BENCHMARKS

    out = tmp_path / "out"
    named = ["--model", name_at(address, "openai"), "--out", str(out)]
    limits = ["--max-tokens", "80", "--max-context-tokens", str(MOST_ASKED)]
    calls = ["--max-calls", str(MOST_CALLS)]
    code = run(["benchmark", "run", *map(str, files.values()), *named, *limits, *calls, *OPTIONS])
    found = read_results(out)
    assert 0 < found.manifest["calls"]["sent"] <= MOST_CALLS
    left_out = {item["instance_id"]: item["reason"] for item in found.manifest["excluded"]}
    for behavior, ids in short.items():
        rows = [row for row in found.rows if row.grader == f"{RULE_GRADER}{behavior}"]
        assert {row.subject.instance_id for row in rows} | ids & left_out.keys() == ids
        scores = Counter(
            (row.model_extra or {})["rubric_score"] for row in rows if row.missing_reason is None
        )
        missing = Counter(left_out[name] for name in ids & left_out.keys())
        missing.update(row.missing_reason for row in rows if row.missing_reason is not None)
        assert scores.total() + missing.total() == len(ids)
        assert all(0 <= score <= 5 for score in scores)
        add_row(
            "benchmarks of real runs, by a small model",
            behavior=behavior,
            instances=len(ids),
            passed=sum(n for score, n in scores.items() if score >= 4),
            scores=dict(sorted(scores.items())),
            missing=dict(missing),
        )
    assert code in (0, 3)

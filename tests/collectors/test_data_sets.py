"""Samples of the Agent Data Protocol, and tau-bench's few-shot texts."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from inline_snapshot import snapshot
from tracedance_collectors import adp, tau_bench, tau_bench_few_shot

from tests.counters import adp as adp_counter
from tests.counters import tau_bench_few_shot as few_shot_counter
from tests.support.recounting import differences, imported
from tests.support.shared_data import shared_data
from tracedance_sdk.formats import collect_paths
from tracedance_sdk.trace import UNKNOWN, Trace


def samples() -> list[Path]:
    return sorted(shared_data("agent-data-protocol").rglob("*.json"))


@pytest.fixture(scope="module")
def rows() -> list[Trace]:
    return imported(samples(), adp.collector)


def test_every_trajectory_agrees_with_an_independent_count() -> None:
    assert differences(samples(), adp.collector, adp_counter.count) == []


def test_raw_and_standard_rows_tell_the_same_run(rows: list[Trace]) -> None:
    raw, standard = rows[:5], rows[5:]
    for one, other in zip(raw, standard, strict=True):
        assert one.task_id == other.task_id
        assert {turn.model for turn in one.turns} == {turn.model for turn in other.turns}
        names = [call.name for call in one.calls]
        assert names == [call.name for call in other.calls]


def test_only_raw_rows_say_whether_the_tests_passed(rows: list[Trace]) -> None:
    verdicts = [trace.outcome.success for trace in rows if trace.outcome]
    assert verdicts == [True] * 5 + [None] * 5


def test_few_shot_texts_agree_with_an_independent_count() -> None:
    paths = list((shared_data("tau-bench") / "few_shot_data").iterdir())
    assert differences(paths, tau_bench_few_shot.collector, few_shot_counter.count) == []


def test_few_shot_texts_hold_neither_names_nor_arguments() -> None:
    found = list(
        collect_paths(
            [shared_data("tau-bench")],
            collectors=[tau_bench.collector, tau_bench_few_shot.collector],
        )
    )
    assert [str(item.problem) for item in found if item.problem] == []
    counted = Counter(item.collector for item in found)
    assert counted == {"tau_bench": 200, "tau_bench_few_shot": 88}
    traces = [item.trace for item in found if item.collector == "tau_bench_few_shot"]
    calls = [call for trace in traces if trace for call in trace.calls]
    assert {(call.name, call.arguments) for call in calls} == {("unknown", UNKNOWN)}
    fits = Counter(trace.fidelity.fit_for for trace in traces if trace)
    assert fits == snapshot(Counter({("reading",): 87, ("reading", "grading", "next_turn"): 1}))

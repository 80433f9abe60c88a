"""Two hundred real conversations: verdicts must be the rewards of the real environment."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from tracedance_collectors.tau_bench import collector

from tests.support.shared_data import shared_data
from tracedance_sdk.grading import TaskSpec, Verdict, evaluate, read_spec
from tracedance_sdk.trace import Json, Trace, parse_json


@pytest.fixture(scope="module")
def runs() -> list[tuple[Trace, dict[str, Any]]]:
    """Return each conversation with what the real environment did, by the oracle."""
    conversations = shared_data("tau-bench") / "historical_trajectories/gpt-4o-airline.json.gz"
    oracle = _lines(shared_data("tau-bench-oracle") / "airline.jsonl.gz")
    traces = [item for item in collector.collect(conversations) if isinstance(item, Trace)]
    return [
        (
            trace.model_copy(
                update={
                    "initial_state": truth["initial_state"],
                    "final_state": truth["final_state"],
                }
            ),
            truth,
        )
        for trace, truth in zip(traces, oracle, strict=True)
    ]


def _lines(path: Path) -> list[dict[str, Any]]:
    return [
        parse_json(line, where=str(path))
        for line in gzip.decompress(path.read_bytes()).splitlines()
    ]


def spec_of(trace: Trace, truth: dict[str, Any]) -> TaskSpec:
    """Return the task's specification: end state, required outputs, a proper end."""
    reference = trace.metadata["reference"]
    outcomes: list[Json] = [
        {
            "id": "end-state",
            "expected_state": {"$literal": truth["expected_final_state"]},
            "match": "exact",
        },
        {"id": "ended", "type": "outcome", "ended": True},
    ]
    if reference.get("outputs"):
        outcomes.append(
            {
                "id": "outputs",
                "type": "reply",
                "contains": reference["outputs"],
                "beside_calls": False,
                "normalize": ["remove_commas", "fold_case"],
            }
        )
    document = {"format": "tracedance.task", "version": 1, "id": trace.task_id}
    return read_spec({**document, "outcomes": outcomes})


def test_the_verdict_is_pass_exactly_where_the_environment_gave_the_reward(
    runs: list[tuple[Trace, dict[str, Any]]],
) -> None:
    reports = [evaluate(trace, spec_of(trace, truth)) for trace, truth in runs]
    agreeing = [
        (report.verdict is Verdict.PASS) == (truth["reward"] == 1)
        for report, (_, truth) in zip(reports, runs, strict=True)
    ]
    assert (len(runs), sum(agreeing)) == (200, 200)
    assert sum(report.passed for report in reports) == 84
    assert all(report.verdict in (Verdict.PASS, Verdict.FAIL) for report in reports)


def test_each_condition_agrees_with_the_environment_by_itself(
    runs: list[tuple[Trace, dict[str, Any]]],
) -> None:
    for trace, truth in runs:
        grades = {grade.criterion: grade for grade in evaluate(trace, spec_of(trace, truth)).grades}
        passed = {name: grade.verdict is Verdict.PASS for name, grade in grades.items()}
        assert passed["end-state"] == truth["final_state_equal"]
        assert passed["ended"] == truth["ended"]
        assert passed.get("outputs", True) == all(truth["outputs_said"].values())
        assert passed["unexpected_changes"]
        said = {item.expected for item in grades["outputs"].evidence} if "outputs" in grades else ()
        assert set(said) == {name for name, heard in truth["outputs_said"].items() if not heard}


def test_outputs_count_only_in_replies_of_the_agent(
    runs: list[tuple[Trace, dict[str, Any]]],
) -> None:
    trace, truth = next(pair for pair in runs if pair[1]["outputs_said"])
    silent = tuple(turn for turn in trace.turns if turn.role != "assistant")
    report = evaluate(trace.model_copy(update={"turns": silent}), spec_of(trace, truth))
    outputs = next(grade for grade in report.grades if grade.criterion == "outputs")
    assert outputs.verdict is Verdict.FAIL

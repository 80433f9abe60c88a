"""mini-swe-agent's own trajectories: every command, its return code, and the verdicts."""

from __future__ import annotations

from collections import Counter

import pytest
from inline_snapshot import snapshot
from tracedance_collectors.mini_swe_agent import collector

from tests.counters.mini_swe_agent import count
from tests.support.recounting import differences, imported
from tests.support.shared_data import shared_data
from tracedance_sdk.trace import Trace


@pytest.fixture(scope="module")
def runs() -> list[Trace]:
    return imported(sorted(shared_data("mini-swe-agent-deepseek").rglob("*.traj.json*")), collector)


def test_every_run_agrees_with_an_independent_count() -> None:
    paths = list(shared_data("mini-swe-agent-deepseek").rglob("*.traj.json*"))
    assert len(paths) == 69
    assert differences(paths, collector, count) == []


def test_the_verdicts_are_those_of_the_report_beside(runs: list[Trace]) -> None:
    verdicts = Counter(trace.outcome.success if trace.outcome else None for trace in runs)
    assert verdicts == {True: 41, False: 26, None: 2}


def test_models_costs_and_times_come_along(runs: list[Trace]) -> None:
    for trace in runs:
        if trace.agent.version is None:
            continue
        replies = [turn for turn in trace.turns if turn.role == "assistant"]
        costs = [turn.usage.cost_usd or 0 for turn in replies if turn.usage]
        assert sum(costs) == pytest.approx(trace.metadata["model_stats"]["instance_cost"])
        assert {turn.model for turn in replies} == {"deepseek-chat"}
        assert all(turn.ended_at is not None for turn in replies)


def test_commands_in_code_blocks_are_calls_too(runs: list[Trace]) -> None:
    local = next(trace for trace in runs if trace.task_id == "local")
    found = [(call.name, call.arguments, call.result) for call in local.calls]
    assert [(name, given["command"]) for name, given, _ in found] == [
        ("bash", "echo 'hello world'"),
        ("bash", "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"),
    ]
    assert [result.exit_code for _, _, result in found if result] == [0, None]


def test_no_run_lacks_anything_but_states_and_tools(runs: list[Trace]) -> None:
    kinds = Counter(note.kind for trace in runs for note in trace.fidelity.notes)
    assert kinds == snapshot(
        Counter({"final_state_unknown": 69, "initial_state_unknown": 69, "tools_missing": 69})
    )

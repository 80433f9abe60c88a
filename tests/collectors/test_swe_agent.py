"""SWE-agent's own trajectories, of 2024 and 2025: every step, verdict and dialect."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from inline_snapshot import snapshot
from tracedance_collectors.swe_agent import collector

from tests.counters.swe_agent import count
from tests.support.recounting import differences, imported
from tests.support.shared_data import shared_data
from tracedance_sdk.trace import Trace


@pytest.fixture(scope="module")
def verified() -> list[Trace]:
    return imported(sorted((shared_data("swe-agent-verified") / "trajs").iterdir()), collector)


@pytest.fixture(scope="module")
def demonstrations() -> list[Trace]:
    return imported(sorted(shared_data("swe-agent-demos").rglob("*.traj")), collector)


@pytest.mark.parametrize("folder", ["swe-agent-verified", "swe-agent-demos"])
def test_every_run_agrees_with_an_independent_count(folder: str) -> None:
    paths = [path for path in shared_data(folder).rglob("*.traj*") if path.is_file()]
    assert paths
    assert differences(paths, collector, count) == []


def test_the_verdicts_are_those_of_the_reports_beside(verified: list[Trace]) -> None:
    verdicts = Counter(trace.outcome.success for trace in verified if trace.outcome)
    assert verdicts == {True: 27, False: 68, None: 3}
    folder = shared_data("swe-agent-verified") / "reports"
    for trace in verified:
        path = folder / f"{trace.task_id}.report.json"
        if path.exists() and trace.outcome is not None:
            report = json.loads(path.read_bytes())[trace.task_id]
            assert trace.outcome.success is report["resolved"]
            assert trace.outcome.details["report"] == {**report, "file": path.name}


def test_a_submission_forced_by_a_limit_is_no_proper_end(verified: list[Trace]) -> None:
    ends = Counter(
        (trace.outcome.ended, trace.outcome.error.type if trace.outcome.error else None)
        for trace in verified
        if trace.outcome
    )
    assert ends == {(True, None): 77, (False, "exit_cost"): 21}


def test_no_two_runs_share_an_id(verified: list[Trace], demonstrations: list[Trace]) -> None:
    runs = [*verified, *demonstrations]
    assert len({trace.id for trace in runs}) == len(runs) == 108


def test_own_commands_are_tools_and_all_others_the_shells(verified: list[Trace]) -> None:
    names = Counter(call.name for trace in verified for call in trace.calls)
    assert names == snapshot(
        Counter(
            {
                "bash": 969,
                "edit": 922,
                "open": 382,
                "goto": 265,
                "search_file": 247,
                "create": 121,
                "find_file": 115,
                "submit": 77,
                "scroll_down": 13,
                "search_dir": 4,
                "scroll_up": 1,
            }
        )
    )
    assert {tuple(call.arguments) for trace in verified for call in trace.calls} == {("command",)}


def test_function_calls_keep_the_names_and_arguments_that_were_asked_for(
    demonstrations: list[Trace],
) -> None:
    found = next(t for t in demonstrations if t.task_id == "SWE-agent__test-repo-i1")
    assert [(call.name, call.bound_by, list(call.arguments)) for call in found.calls] == snapshot(
        [
            ("find_file", "id", ["file_name"]),
            ("open", "id", ["path"]),
            ("edit", "id", ["search", "replace", "replace-all"]),
            ("bash", "id", ["command"]),
            ("submit", "order", ["command"]),
        ]
    )
    assert {tool.name for tool in found.tools} >= {call.name for call in found.calls}
    assert all(tool.parameters for tool in found.tools)


def test_what_the_model_wrote_and_saw_can_be_put_together_again() -> None:
    checked = 0
    for path in sorted((shared_data("swe-agent-demos")).rglob("*.traj")):
        record = json.loads(path.read_bytes())
        steps = record.get("trajectory", [])
        (trace,) = imported([path], collector)
        turns = [turn for turn in trace.turns if turn.calls]
        for step, turn in zip(steps, turns, strict=False):
            (call,) = turn.calls
            assert call.result is not None
            assert call.result.content == step["observation"]
            extra = turn.model_extra or {}
            around = extra.get("swe_agent", {}).get("response")
            if isinstance(around, dict):
                action = step["action"].strip("\n")
                whole = turn.text + around["before_action"] + action + around["after_action"]
            else:
                whole = around if around is not None else turn.text
            assert whole == step["response"]
            checked += 1
    assert checked == snapshot(90)

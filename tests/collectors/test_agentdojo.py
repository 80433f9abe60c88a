"""AgentDojo's published runs: every call and error, and what came of the attacks."""

from __future__ import annotations

from collections import Counter

import pytest
from inline_snapshot import snapshot
from tracedance_collectors.agentdojo import collector

from tests.counters.agentdojo import count, repeats
from tests.support.recounting import differences, imported
from tests.support.shared_data import shared_data
from tracedance_sdk.trace import Trace


@pytest.fixture(scope="module")
def runs() -> list[Trace]:
    return imported(sorted(shared_data("agentdojo-runs").glob("*.gz")), collector)


def test_every_run_agrees_with_an_independent_count() -> None:
    paths = list(shared_data("agentdojo-runs").glob("*.gz"))
    assert len(paths) == 12
    assert differences(paths, collector, count) == []


def test_all_conversations_of_all_models_are_there(runs: list[Trace]) -> None:
    assert len({trace.id for trace in runs}) == len(runs) == 2328
    assert sum(len(trace.calls) for trace in runs) == 8773


def test_a_prompt_that_the_defence_repeats_is_the_harness_s(runs: list[Trace]) -> None:
    said = [turn for trace in runs for turn in trace.turns if turn.role == "user"]
    again = [turn for turn in said if turn.origin == "harness"]
    counted = sum(repeats(path) for path in shared_data("agentdojo-runs").glob("*.gz"))
    assert len(again) == counted == snapshot(673)
    rules = {(turn.__pydantic_extra__ or {})["origin_rule"] for turn in again}
    assert rules == {"repeat-user-prompt"}
    assert {turn.origin for turn in said} == {"human", "harness"}


def test_security_counts_in_runs_with_an_attack_alone(runs: list[Trace]) -> None:
    found: Counter[object] = Counter()
    for trace in runs:
        assert trace.outcome is not None
        found[trace.outcome.details.get("injection_succeeded")] += 1
        is_attack = trace.metadata["injection_task_id"] is not None
        assert ("injection_succeeded" in trace.outcome.details) is is_attack
    assert found == {True: 193, False: 971, None: 1164}


def test_the_users_task_is_the_success(runs: list[Trace]) -> None:
    solved = Counter(trace.outcome.success for trace in runs if trace.outcome)
    assert solved == snapshot(Counter({True: 1124, False: 1204}))


def test_errors_have_the_type_that_the_environment_names(runs: list[Trace]) -> None:
    errors = Counter(
        call.result.error.type
        for trace in runs
        for call in trace.calls
        if call.result and call.result.error
    )
    assert errors == snapshot(
        Counter(
            {
                "ValueError": 389,
                "ValidationError": 157,
                "TypeError": 32,
                "AttributeError": 8,
                "ToolNotFoundException": 2,
            }
        )
    )


def test_what_is_missing_is_noted(runs: list[Trace]) -> None:
    kinds = Counter(note.kind for trace in runs for note in trace.fidelity.notes)
    assert kinds == snapshot(
        Counter(
            {
                "final_state_unknown": 2328,
                "initial_state_unknown": 2328,
                "tools_missing": 2127,
                "record_lost": 34,
                "result_missing": 39,
                "duplicate_call_id": 21,
            }
        )
    )


def test_every_reply_names_the_model_of_its_run() -> None:
    files = sorted(shared_data("agentdojo-runs").glob("*gpt-4o-mini*"))
    models = {
        turn.model
        for trace in imported(files, collector)
        for turn in trace.turns
        if turn.role == "assistant" and not turn.synthetic
    }
    assert models == {"gpt-4o-mini-2024-07-18"}

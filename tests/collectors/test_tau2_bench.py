"""τ²-bench's published results and the verdicts of a judge: rewards, costs, joined records."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from inline_snapshot import snapshot
from tracedance_collectors.tau2_bench import collector

from tests.counters.tau2_bench import count
from tests.support.recounting import differences, imported
from tests.support.shared_data import shared_data
from tracedance_sdk.formats import collect_paths
from tracedance_sdk.trace import Trace


def result_files() -> list[Path]:
    return sorted(shared_data("tau2-bench").glob("*.json.gz"))


@pytest.fixture(scope="module")
def results() -> list[Trace]:
    return imported(result_files(), collector)


@pytest.fixture(scope="module")
def judged() -> list[Trace]:
    return imported([shared_data("tau2-judge-verdicts") / "azure-airline-full.json.gz"], collector)


def test_every_simulation_agrees_with_an_independent_count() -> None:
    judged = shared_data("tau2-judge-verdicts") / "azure-airline-full.json.gz"
    assert differences([*result_files(), judged], collector, count) == []


def test_the_rewards_are_those_of_the_published_table(results: list[Trace]) -> None:
    assert len({trace.id for trace in results}) == len(results) == 220
    found: dict[str, Counter[float | None]] = {}
    for trace in results:
        assert trace.source is not None
        assert trace.outcome is not None
        name = Path(trace.source.uri or "").name[:30]
        found.setdefault(name, Counter())[trace.outcome.reward] += 1
    assert found == snapshot(
        {
            "claude-sonnet-4-5_aide-platfor": Counter({1.0: 36, 0.0: 14}),
            "ft_gpt-4.1-2025-04-14_sierra_t": Counter({1.0: 13, 0.0: 7}),
            "gpt-4.1_airline_default_gpt-4.": Counter({1.0: 10, 0.0: 10}),
            "gpt-4.1_retail_defautl_gpt-4.1": Counter({1.0: 34, 0.0: 6}),
            "gpt-4.1_telecom_no-user_gpt-4.": Counter({1.0: 20, 0.0: 20}),
            "toolorchestra_nvidia_2025-12-0": Counter({0.0: 22, 1.0: 28}),
        }
    )


def test_a_breakdown_stands_beside_the_reward(results: list[Trace]) -> None:
    keys = {key for trace in results if trace.outcome for key in trace.outcome.details}
    assert keys == snapshot(
        {
            "action_checks",
            "communicate_checks",
            "db_check",
            "env_assertions",
            "info",
            "nl_assertions",
            "reward_basis",
            "reward_breakdown",
            "termination_reason",
        }
    )


def test_the_policy_is_the_prompt_and_the_expected_actions_are_not_seen(
    results: list[Trace],
) -> None:
    for trace in results:
        assert trace.system_prompt
        assert "actions" in trace.metadata["reference"]
        assert "evaluation_criteria" not in trace.metadata["task"]


def test_the_first_greeting_is_the_harnesss(results: list[Trace]) -> None:
    origins = Counter(
        turn.origin for trace in results for turn in trace.turns if turn.role == "assistant"
    )
    assert origins == snapshot(Counter({"harness": 180, "agent": 2458}))


def test_costs_add_up_to_the_agents(results: list[Trace]) -> None:
    checked = 0
    for trace in results:
        told = trace.metadata.get("agent_cost")
        if told:
            replies = [turn for turn in trace.turns if turn.role == "assistant" and turn.usage]
            spent = sum(turn.usage.cost_usd or 0 for turn in replies if turn.usage)
            assert spent == pytest.approx(told)
            checked += 1
    assert checked == snapshot(150)


def test_verdicts_beside_are_joined_to_their_simulations(judged: list[Trace]) -> None:
    assert len(judged) == 50
    for trace in judged:
        verdicts = trace.metadata["annotations"]
        names = [verdict["judge_prompt_name"] for verdict in verdicts]
        assert sorted(names) == ["customer_outcome_v1", "policy_chain_of_thought_v1"]
        assert trace.source is not None
        assert trace.outcome is not None
        assert {verdict["simulation_id"] for verdict in verdicts} == {trace.source.native_id}
        assert {verdict["tau2_reward"] for verdict in verdicts} == {trace.outcome.reward}


def test_verdicts_tasks_and_databases_are_no_runs() -> None:
    folders = [shared_data("tau2-judge-verdicts"), shared_data("tau2-bench")]
    found = list(collect_paths(folders, collectors=[collector]))
    assert [str(item.problem) for item in found if item.problem] == []
    assert len(found) == 270

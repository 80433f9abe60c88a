"""200 real conversations: every answer at its call, as the real environment gave it."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot
from tracedance_collectors import tau_bench

from tests.support.shared_data import shared_data
from tracedance_sdk.formats import (
    ImportProblem,
    Place,
    collect_paths,
    load_trace,
    messages_from_trace,
    save_trace,
)
from tracedance_sdk.trace import Trace, assess

FILE = "historical_trajectories/gpt-4o-airline.json.gz"


@pytest.fixture(scope="module")
def source() -> Path:
    return shared_data("tau-bench") / FILE


@pytest.fixture(scope="module")
def runs(source: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(gzip.decompress(source.read_bytes()))
    return found


@pytest.fixture(scope="module")
def airline(source: Path) -> list[Trace]:
    collected = list(collect_paths([source]))
    assert {item.collector for item in collected} == {"tau_bench"}
    return [item.trace for item in collected if item.trace is not None]


@pytest.fixture(scope="module")
def oracle() -> list[dict[str, Any]]:
    data = gzip.decompress((shared_data("tau-bench-oracle") / "airline.jsonl.gz").read_bytes())
    return [json.loads(line) for line in data.splitlines()]


def test_every_conversation_is_one_trace_with_an_id_of_its_own(airline: list[Trace]) -> None:
    assert len(airline) == 200
    assert len({trace.id for trace in airline}) == 200
    assert Counter(trace.group for trace in airline) == {str(task): 4 for task in range(50)}
    assert Counter(trace.metadata["trial"] for trace in airline) == dict.fromkeys(range(4), 50)


def test_every_answer_is_at_its_call(airline: list[Trace], oracle: list[dict[str, Any]]) -> None:
    reused = 0
    for trace, truth in zip(airline, oracle, strict=True):
        assert trace.task_id == str(truth["task_id"])
        assert trace.metadata["trial"] == truth["trial"]
        found = [
            {
                "name": call.name,
                "arguments": call.arguments,
                "answer": call.result.content if call.result else None,
            }
            for call in trace.actions
        ]
        assert found == truth["calls"]
        reused += trace.fidelity.count("duplicate_call_id") > 0
    assert sum(len(trace.calls) for trace in airline) == 1164
    assert reused == 49


def test_the_reward_and_the_end_are_the_oracles(
    airline: list[Trace], oracle: list[dict[str, Any]]
) -> None:
    for trace, truth in zip(airline, oracle, strict=True):
        assert trace.outcome is not None
        assert trace.outcome.reward == truth["reward"]
        assert trace.outcome.success is (truth["reward"] == 1)
        assert trace.outcome.ended is truth["ended"]
    assert Counter(t.outcome.ended for t in airline if t.outcome) == {True: 195, False: 5}


def test_no_conversation_lacks_anything_the_file_holds(airline: list[Trace]) -> None:
    kinds = Counter(note.kind for trace in airline for note in trace.fidelity.notes)
    assert kinds == snapshot(
        Counter(
            {
                "duplicate_call_id": 49,
                "final_state_unknown": 200,
                "initial_state_unknown": 200,
                "tools_missing": 182,
            }
        )
    )
    assert all("grading" in trace.fidelity.fit_for for trace in airline)
    assert all(assess(trace) == trace for trace in airline)


def test_failures_of_the_environment_are_failed_calls(airline: list[Trace]) -> None:
    results = [call.result for trace in airline for call in trace.calls if call.result]
    assert Counter(result.ok for result in results) == snapshot(Counter({True: 1091, False: 73}))
    for result in results:
        assert (result.ok is False) == result.content.startswith("Error:")


def test_the_conversation_comes_back_as_it_was(
    airline: list[Trace], runs: list[dict[str, Any]], source: Path
) -> None:
    for trace, run in zip(airline, runs, strict=True):
        messages = messages_from_trace(trace)
        assert messages == run["traj"]
        again = tau_bench.trace_from_run({**run, "traj": messages}, Place("again"), uri=str(source))
        assert again == trace


def test_the_model_never_sees_the_expected_solution(airline: list[Trace]) -> None:
    trace = airline[0]
    assert set(trace.metadata["reference"]) == {"actions", "outputs"}
    assert set(trace.metadata["task"]) == {"user_id", "instruction"}
    for item in airline:
        said = json.dumps([turn.model_dump(mode="json") for turn in item.turns])
        instruction = json.dumps(item.metadata["task"]["instruction"])[1:-1]
        assert instruction not in said
        assert instruction not in (item.system_prompt or "")


def test_reading_a_moved_plain_copy_gives_the_same_traces(
    airline: list[Trace], runs: list[dict[str, Any]], tmp_path: Path
) -> None:
    moved = tmp_path / "moved.json"
    moved.write_text(json.dumps(runs[:8], indent=1))
    lines = tmp_path / "moved.jsonl"
    lines.write_text("".join(f"{json.dumps(run)}\n" for run in runs[:8]))
    for path in (moved, lines):
        found = [item.trace for item in collect_paths([path])]
        assert [trace and trace.id for trace in found] == [trace.id for trace in airline[:8]]
        assert [trace and trace.turns for trace in found] == [t.turns for t in airline[:8]]


def test_a_trace_file_of_a_conversation_is_equal(airline: list[Trace], tmp_path: Path) -> None:
    for trace in airline[:20]:
        save_trace(trace, tmp_path / "one.json.gz")
        assert load_trace(tmp_path / "one.json.gz") == trace


def a_run(**fields: Any) -> dict[str, Any]:
    known = {
        "task_id": 3,
        "reward": 1.0,
        "trial": 2,
        "info": {"task": {"instruction": "Be Mia", "actions": [], "outputs": ["5"]}, "cost": 0.1},
        "traj": [{"role": "user", "content": "Hi ###STOP###"}],
    }
    return {**known, **fields}


def call(name: str, content: str) -> list[dict[str, Any]]:
    request = {"id": "a", "type": "function", "function": {"name": name, "arguments": "{}"}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [request]},
        {"role": "tool", "tool_call_id": "a", "name": name, "content": content},
    ]


@pytest.mark.parametrize(
    ("messages", "ended"),
    [
        pytest.param([], False, id="nothing said"),
        pytest.param([{"role": "user", "content": "###STOP###"}], True, id="stop"),
        pytest.param(
            [{"role": "user", "content": "Thanks! ###STOP###\n"}], True, id="stop, thanks"
        ),
        pytest.param([{"role": "user", "content": "Go on"}], False, id="no stop"),
        pytest.param(
            [{"role": "assistant", "content": "###STOP###"}], False, id="the agent's word"
        ),
        pytest.param(call("transfer_to_human_agents", "Transfer successful"), True, id="transfer"),
        pytest.param(call("cancel", "done"), False, id="another tool"),
        pytest.param([*call("transfer_to_human_agents", "x"), *call("pay", "y")], False, id="on"),
    ],
)
def test_a_conversation_ends_with_a_stop_word_or_a_transfer(
    messages: list[dict[str, Any]], ended: bool
) -> None:
    trace = tau_bench.trace_from_run(a_run(traj=messages), Place("x"))
    assert trace.outcome is not None
    assert trace.outcome.ended is ended


def test_a_run_without_reward_has_no_verdict() -> None:
    trace = tau_bench.trace_from_run({"task_id": "t", "traj": []}, Place("x"))
    assert trace.outcome is not None
    assert (trace.outcome.success, trace.outcome.reward) == (None, None)
    assert (trace.group, trace.metadata) == ("t", {"trial": 0})


def test_a_broken_run_is_a_problem_and_the_others_are_read(tmp_path: Path) -> None:
    path = tmp_path / "runs.json"
    runs = [
        a_run(),
        5,
        a_run(task_id=None),
        a_run(reward="1"),
        a_run(traj={}),
        a_run(traj=[{"role": "user", "content": 5}]),
        a_run(trial=3),
    ]
    path.write_text(json.dumps(runs))
    found = list(tau_bench.collector.collect(path))
    assert [
        str(item).replace(str(path), "FILE") if isinstance(item, ImportProblem) else item.group
        for item in found
    ] == snapshot(
        [
            "3",
            "FILE: expected an object, got 5 @ $[1]",
            "FILE: expected a task id, got None @ $[2].task_id",
            "FILE: expected a number, got '1' @ $[3].reward",
            "FILE: expected a list, got {} @ $[4].traj",
            "FILE: expected text, a list of parts or null, got 5 @ $[5].traj[0].content",
            "3",
        ]
    )

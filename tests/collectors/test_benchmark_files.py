"""Files of benchmarks are told apart by all collectors together, and bad records cost no others."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from inline_snapshot import snapshot

from tests.formats.benchmarks import examples
from tracedance_sdk.formats import collect_paths, collect_source, find_sources
from tracedance_sdk.trace import Json

TAU2 = {
    "timestamp": "2025-01-01",
    "info": examples.TAU2_INFO,
    "tasks": [{"id": "7", "evaluation_criteria": {"actions": []}}],
    "simulations": [examples.TAU2],
}
RUN: dict[str, Any] = {
    "task_id": 1,
    "reward": 0.0,
    "info": {},
    "traj": [{"role": "user", "content": "Hi", "index": 1}],
    "trial": 0,
}
MAGENTIC = examples.WHO_AND_WHEN["history"]
ROW = {
    "instance_id": "a",
    "test_result": {"git_patch": "diff"},
    "metadata": {"agent_class": "CodeActAgent"},
    "history": examples.OPENHANDS_EVENTS,
}
HEADER = {"metadata": {"benchmark": "agent-dojo", "name": "m-1", "accuracy": 0.5}}


def written(path: Path, content: Json) -> None:
    """Write a document, the lines of a tuple, or a text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, tuple):
        text = "".join(f"{json.dumps(line)}\n" for line in content)
    else:
        text = content if isinstance(content, str) else json.dumps(content)
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


FILES: dict[str, tuple[str, Json]] = {
    "a.traj": ("swe_agent", examples.SWE_AGENT),
    "b.traj.gz": ("swe_agent", {"history": examples.SWE_AGENT["history"]}),
    "c.traj.json": ("mini_swe_agent", examples.MINI_SWE_AGENT),
    "d.traj.json": ("mini_swe_agent", examples.MINI_SWE_AGENT["messages"][:2]),
    "e.json": ("openhands", examples.OPENHANDS_LOG),
    "f.json.gz": ("openhands", examples.OPENHANDS_EVENTS),
    "output.jsonl": ("openhands", (ROW, ROW)),
    "g.jsonl.gz": ("agentdojo", (HEADER, examples.AGENTDOJO)),
    "h.json": ("tau2_bench", TAU2),
    "i.json": ("who_and_when", examples.WHO_AND_WHEN),
    "j.json": ("agentrx", MAGENTIC),
    "k.json": ("agentrx", [RUN]),
    "l.json": ("adp", [examples.ADP]),
    "m.json.gz": ("adp", [examples.NEBIUS]),
    "env_results_trial_2.json": ("reflexion", [examples.ALFWORLD]),
    "n.txt": ("reflexion", examples.REACT),
    "o.jsonl": ("tau_bench_few_shot", (examples.FEW_SHOT,)),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_recognised_among_all_formats(tmp_path: Path, name: str) -> None:
    collector, content = FILES[name]
    written(tmp_path / "folder" / name, content)
    found = list(collect_paths([tmp_path]))
    assert [str(item.problem) for item in found if item.problem] == []
    assert {item.collector for item in found} == {collector}
    traces = [item.trace for item in found if item.trace]
    assert len({trace.id for trace in traces}) == len(traces) > 0


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.report.json", {"a": {"patch_exists": True, "resolved": True}}),
        ("eval_report.json", {"resolved_ids": [], "unresolved_ids": ["a"]}),
        ("preds.json", {"a": {"model_patch": "diff"}}),
        ("judge.json", ({"judge_response": "pass", "simulation_id": "sim-1"},) * 2),
        ("tasks.json", [{"id": "1", "user_scenario": {}, "evaluation_criteria": {}}]),
        ("ground_truth.json", [{"trajectory_id": 1, "failures": []}]),
        ("tools_structure.json", [{"role": "assistant", "content": None, "index": 11}]),
        ("flights.json", {"HAT001": {"flight_number": "HAT001"}}),
    ],
)
def test_a_file_that_only_accompanies_runs_is_passed_over(
    tmp_path: Path, name: str, content: Json
) -> None:
    written(tmp_path / name, content)
    passed: list[str] = []
    for source in find_sources([tmp_path]):
        found = collect_source(source, on_companion=lambda path, _of: passed.append(path.name))
        assert list(found) == []
    assert passed == [name]


def test_a_bad_record_is_one_problem_and_the_others_are_read(tmp_path: Path) -> None:
    bad = {**examples.TAU2, "messages": [{"role": "assistant", "tool_calls": [5]}]}
    written(tmp_path / "a.json", {**TAU2, "simulations": [5, bad, examples.TAU2]})
    tool = {"role": "tool", "tool_call_id": 5}
    broken = {**examples.AGENTDOJO, "messages": [tool]}
    written(tmp_path / "b.jsonl", (HEADER, broken, examples.AGENTDOJO))
    written(tmp_path / "c.json", [RUN, {**RUN, "reward": "1"}, {**RUN, "task_id": 2}])
    written(tmp_path / "d.json", [examples.ADP, {**examples.ADP, "content": [{"class_": 1}]}])
    written(
        tmp_path / "env_results_trial_0.json",
        [examples.ALFWORLD, {"name": "b", "memory": [], "is_success": "yes"}],
    )
    found = list(collect_paths([tmp_path]))
    problems = [str(item.problem).replace(f"{tmp_path}/", "") for item in found if item.problem]
    assert problems == snapshot(
        [
            "a.json: expected an object, got 5 @ $.simulations[0]",
            "a.json: expected an object, got 5 @ $.simulations[1].messages[0]",
            "b.jsonl:2: expected text, got 5 @ $.messages[0].tool_call_id",
            "c.json: expected a number, got '1' @ $[1].reward",
            "d.json: expected text, got 1 @ $[1].content[0].class_",
            "env_results_trial_0.json: expected true or false, got 'yes' @ $[1].is_success",
        ]
    )
    assert [item.path.name for item in found if item.trace] == snapshot(
        ["a.json", "b.jsonl", "c.json", "c.json", "d.json", "env_results_trial_0.json"]
    )


def test_verdicts_of_a_judge_are_joined_where_they_are_about_a_simulation(tmp_path: Path) -> None:
    written(tmp_path / "runs.json", TAU2)
    verdict = {"simulation_id": "sim-1", "judge_response": "fail", "prompt": "p"}
    other = {**verdict, "simulation_id": "sim-2"}
    written(tmp_path / "judge_a.json", (other, {**verdict, "judge_prompt": "p"}))
    (trace,) = [item.trace for item in collect_paths([tmp_path])]
    assert trace is not None
    assert trace.metadata["annotations"] == [
        {"simulation_id": "sim-1", "judge_response": "fail", "judge_prompt": "p"}
    ]
    alone = list(collect_paths([tmp_path / "judge_a.json"]))
    assert [item.trace for item in alone] == [None] * len(alone)

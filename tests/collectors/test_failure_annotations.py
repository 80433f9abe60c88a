"""Who&When and AgentRx: who spoke, and what humans said of the failures, joined to the runs."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from inline_snapshot import snapshot
from tracedance_collectors import agentrx, who_and_when

from tests.counters import agentrx as agentrx_counter
from tests.counters import who_and_when as who_and_when_counter
from tests.support.recounting import differences, imported
from tests.support.shared_data import shared_data
from tracedance_sdk.formats import collect_paths
from tracedance_sdk.trace import Reasoning, Trace


def conversations() -> list[Path]:
    return sorted(shared_data("whoandwhen").rglob("*.json"))


def run_files() -> list[Path]:
    folder = shared_data("agentrx")
    return sorted([*folder.glob("tau_retail/*"), *folder.glob("magentic_dataset/*")])


@pytest.fixture(scope="module")
def failed() -> list[Trace]:
    return imported(conversations(), who_and_when.collector)


@pytest.fixture(scope="module")
def annotated() -> list[Trace]:
    return imported(run_files(), agentrx.collector)


def in_list(traces: list[Trace], name: str) -> list[Trace]:
    return [trace for trace in traces if trace.source and name in (trace.source.uri or "")]


def test_every_conversation_agrees_with_an_independent_count() -> None:
    assert len(conversations()) == 127
    assert differences(conversations(), who_and_when.collector, who_and_when_counter.count) == []
    assert differences(run_files(), agentrx.collector, agentrx_counter.count) == []


def test_a_labelled_step_is_the_turn_of_that_index(failed: list[Trace]) -> None:
    for trace in failed:
        assert trace.source is not None
        record = json.loads(Path(trace.source.uri or "").read_bytes())
        labels = trace.metadata["annotations"]
        assert labels["mistake_step"] == record["mistake_step"]
        turn = trace.turns[int(labels["mistake_step"])]
        said = "".join(part.text for part in turn.content if hasattr(part, "text"))
        assert said == record["history"][int(labels["mistake_step"])]["content"]
        assert trace.outcome is not None
        assert trace.outcome.success is False
        assert trace.metadata["reference"] == {"ground_truth": record["ground_truth"]}


def test_speakers_are_names_and_ledgers_are_reasoning(failed: list[Trace]) -> None:
    logs = [trace for trace in failed if trace.agent.name == "magentic-one"]
    assert len(logs) == 42
    names = Counter(turn.name for trace in logs for turn in trace.turns)
    assert names == snapshot(
        Counter(
            {
                "human": 42,
                "Orchestrator": 1741,
                "WebSurfer": 441,
                "Assistant": 24,
                "FileSurfer": 22,
                "ComputerTerminal": 10,
            }
        )
    )
    thoughts = [
        turn
        for trace in logs
        for turn in trace.turns
        if any(isinstance(part, Reasoning) for part in turn.content)
    ]
    assert {turn.name for turn in thoughts} == {"Orchestrator"}
    assert len(thoughts) == 1190


def test_runs_have_the_annotations_of_every_file_beside(annotated: list[Trace]) -> None:
    found = {
        name: Counter(
            tuple(item["file"] for item in trace.metadata.get("annotations", ()))
            for trace in in_list(annotated, name)
        )
        for name in ("tau_dataset_full", "tau_dataset_failed", "magentic_dataset")
    }
    assert found == snapshot(
        {
            "tau_dataset_full": Counter(
                {
                    ("tau_ground_truth.json", "tau_retail.json"): 16,
                    (): 40,
                    ("tau_ground_truth.json",): 2,
                }
            ),
            "tau_dataset_failed": Counter(
                {("tau_ground_truth.json", "tau_retail.json"): 16, ("tau_ground_truth.json",): 3}
            ),
            "magentic_dataset": Counter({("magentic_one_ground_truth.json",): 31, (): 11}),
        }
    )


def test_a_run_in_two_lists_is_one_trace(annotated: list[Trace]) -> None:
    full = {trace.id: trace for trace in in_list(annotated, "tau_dataset_full")}
    again = [trace for trace in in_list(annotated, "tau_dataset_failed") if trace.id in full]
    assert (len(full), len(again)) == (58, 18)
    for trace in again:
        assert full[trace.id].turns == trace.turns
        assert full[trace.id].metadata == trace.metadata


def test_annotations_and_samples_of_tools_are_no_runs() -> None:
    found = list(collect_paths([shared_data("agentrx")], collectors=[agentrx.collector]))
    assert [str(item.problem) for item in found if item.problem] == []
    assert len(found) == 58 + 19 + 42

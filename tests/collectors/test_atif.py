"""ATIF files as they lie in folders: the golden trajectories of Harbor's own tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from tracedance_collectors.atif import collector

from tests.counters.atif import count
from tests.counters.counts import Counts
from tests.support.shared_data import SHARED_DATA, shared_data
from tracedance_sdk.trace import Trace

FILES = sorted((SHARED_DATA / "atif-fixtures").glob("*.json"))


def _counted(trace: Trace) -> Counts:
    """Count a trace as the raw file counts: feedback without a call is a result there."""
    feedback = [t for t in trace.turns if t.role == "user" and t.origin == "environment"]
    results = [call.result for call in trace.calls if call.result is not None]
    return Counts(
        session=trace.session_id or "",
        user_turns=sum(turn.role == "user" for turn in trace.turns) - len(feedback),
        assistant_turns=sum(turn.role == "assistant" for turn in trace.turns),
        calls=len(trace.calls),
        results=len(results) + len(feedback),
        errors=sum(result.ok is False for result in results),
    )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_real_trajectory_has_what_an_independent_counter_finds(path: Path) -> None:
    shared_data("atif-fixtures")
    assert collector.sniff(path, path.read_bytes()[:65536])
    found = list(collector.collect(path))
    assert [_counted(trace) for trace in found if isinstance(trace, Trace)] == count(path)


def test_the_real_trajectories_are_different_runs_and_say_how_they_go_on() -> None:
    folder = shared_data("atif-fixtures")
    traces = {
        path.name: trace
        for path in FILES
        for trace in collector.collect(folder / path.name)
        if isinstance(trace, Trace)
    }
    assert len({trace.id for trace in traces.values()}) == len(FILES) == 4
    first = traces["terminus_2_hello-world-context-summarization-linear-history.trajectory.json"]
    assert first.metadata["continued_trajectory_ref"] == "trajectory.cont-1.json"
    marked = [turn.index for turn in first.turns if (turn.model_extra or {}).get("compaction")]
    assert marked == [len(first.turns) - 1]
    later = traces[
        "terminus_2_hello-world-context-summarization-linear-history.trajectory.cont-1.json"
    ]
    copied = [(turn.model_extra or {}).get("copied_context") for turn in later.turns[:4]]
    assert copied == [True] * 4
    tools = {tool.name for tool in traces["openhands_hello-world.trajectory.json"].tools}
    assert {"execute_bash", "str_replace_editor", "finish"} < tools

"""Which of several traces a verb takes: sub-agents, ids, the library's own files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tracedance_sdk as td
from tests.cli.conftest import Tracedance
from tracedance_sdk.cli.choosing import part_names
from tracedance_sdk.trace import Parent, Trace

SPEC = """\
format: tracedance.task
version: 1
id: travel
criteria:
  - {type: required_actions, actions: [book]}
"""

TOGETHER = SPEC.replace("[book]", "[book, look_up]")


@td.agent(name="researcher")
def research() -> None:
    look_up()


@td.tool
def look_up() -> int:
    return 5


@td.tool
def book() -> None:
    research()


@pytest.fixture
def journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[td.Trace]:
    """Record a run with a sub-agent into ``runs/``; return both traces, the planner's first."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "task.yaml").write_text(SPEC)
    with td.TraceRecorder(task_id="travel", agent="planner", journal="runs") as recorder:
        book()
    own, other = recorder.traces
    assert other.parent is not None
    return [own, other]


def test_a_sub_agent_is_not_held_to_its_parents_task(
    journal: list[td.Trace], tracedance: Tracedance
) -> None:
    for chosen in (("--spec", "task.yaml"), ("--tasks", ".")):
        ran = tracedance("evaluate", "runs", *chosen)
        assert ran.code == 0
        assert ran.err == (
            "tracedance: note: 1 sub-agent trace not graded; --sub-agents grades it too, "
            "--together as part of the runs that started them\n"
        )
        assert ran.out.startswith("runs\n")


def test_sub_agents_are_graded_when_asked_for(
    journal: list[td.Trace], tracedance: Tracedance
) -> None:
    ran = tracedance("evaluate", "runs", "--spec", "task.yaml", "--sub-agents")
    assert (ran.code, ran.err) == (1, "")
    assert [line.split()[0] for line in ran.out.splitlines()[1:3]] == [
        "runs#planner/travel",
        "runs#researcher/travel",
    ]


def test_runs_are_graded_together_with_their_sub_agents(
    journal: list[td.Trace], tracedance: Tracedance
) -> None:
    for number, trace in enumerate(journal):
        td.save_trace(trace, f"files/{number}.json")
    Path("both.yaml").write_text(TOGETHER)
    for place in ("runs", "files"):
        ran = tracedance("evaluate", place, "--spec", "both.yaml", "--together")
        assert (ran.code, ran.err) == (0, "")
        assert "PASS" in ran.out
        assert tracedance("evaluate", place, "--spec", "both.yaml").code == 1
    ran = tracedance("evaluate", "files/0.json", "--spec", "both.yaml", "--together")
    assert (ran.code, "traces of its own and was not graded" in ran.out) == (1, True)
    ran = tracedance("evaluate", "files/1.json", "--spec", "both.yaml", "--together")
    assert ran.code == 1


@pytest.mark.parametrize("other", [("--sub-agents",), ("--trace", "x"), ("--jobs", "2")])
def test_together_goes_with_nothing_that_grades_traces_one_by_one(
    journal: list[td.Trace], tracedance: Tracedance, other: tuple[str, ...]
) -> None:
    ran = tracedance("evaluate", "runs", "--spec", "task.yaml", "--together", *other)
    assert ran.code == 2
    assert "--together" in ran.err


def test_a_sub_agents_file_that_is_named_is_graded(
    journal: list[td.Trace], tracedance: Tracedance
) -> None:
    td.save_trace(journal[1], "files/sub.json")
    ran = tracedance("evaluate", "files/sub.json", "--spec", "task.yaml")
    assert (ran.code, ran.err) == (1, "")
    ran = tracedance("evaluate", "files", "--spec", "task.yaml")
    assert (ran.code, ran.out) == (2, "")
    assert "1 sub-agent trace not graded; --sub-agents" in ran.err


@pytest.mark.parametrize("jobs", [1, 2])
def test_one_trace_is_graded_by_its_id(
    journal: list[td.Trace], tracedance: Tracedance, jobs: int
) -> None:
    td.save_trace(journal[0], "runs/more/own.json")
    given = ("evaluate", "runs", "--spec", "task.yaml", "--jobs", jobs, "--trace")
    ran = tracedance(*map(str, given), journal[1].id[:12])
    assert (ran.code, ran.err) == (1, "")
    assert "book did not happen" in ran.out
    ran = tracedance(*map(str, given), "zz")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "tracedance: no traces with the id 'zz' in 'runs'\n"


def test_what_was_left_out_stands_in_the_result_set(
    journal: list[td.Trace], tracedance: Tracedance
) -> None:
    tracedance("evaluate", "runs", "--spec", "task.yaml", "--out", "results")
    manifest = json.loads(Path("results/manifest.json").read_text())
    assert manifest["exclusions"] == {"sub-agent": 1}


def test_init_drafts_from_the_run_that_is_no_sub_agents(
    journal: list[td.Trace], tracedance: Tracedance
) -> None:
    ran = tracedance("init", "runs")
    assert (ran.code, ran.err) == (0, "")
    assert "id: travel" in ran.out
    with td.TraceRecorder(journal="runs") as recorder:
        pass
    ran = tracedance("init", "runs")
    assert ran.code == 2
    assert f"{journal[0].id[:8]} (agent planner, task travel), {recorder.trace.id[:8]}" in ran.err
    assert "researcher" not in ran.err


@pytest.mark.parametrize("verb", ["evaluate", "init", "show"])
def test_what_the_command_wrote_itself_is_passed_over(
    work: Path, tracedance: Tracedance, verb: str
) -> None:
    only = ("--spec", "task.yaml", "--trace", "zz")
    (work / "traces" / "efficient.json").rename(work / "efficient.json")
    for path in (work / "traces").iterdir():
        path.unlink()
    (work / "efficient.json").rename(work / "traces" / "efficient.json")
    tracedance("evaluate", "traces", *only[:2], "--out", "traces/results")
    written = tracedance("evaluate", "traces", *only[:2], "--json")
    (work / "traces" / "report.json").write_text(written.out)
    ran = tracedance(verb, "traces", *(only[:2] if verb == "evaluate" else ()))
    assert ran.code == 0
    assert ran.err.splitlines() == [
        "tracedance: note: 'traces/report.json' is passed over: a tracedance.evaluation, no trace",
        "tracedance: note: 'traces/results' holds a result set, which is passed over",
    ]


def test_a_named_file_that_is_no_trace_is_no_note_but_a_problem(
    work: Path, tracedance: Tracedance
) -> None:
    tracedance("evaluate", "traces", "--spec", "task.yaml", "--out", "results")
    ran = tracedance("evaluate", "results/manifest.json", "--spec", "task.yaml")
    assert ran.code == 2
    assert "no collector recognises this file" in ran.err


def test_every_trace_of_a_source_has_a_name_of_its_own() -> None:
    one = Trace(id="abcdefgh1", task_id="t")
    other = Trace(id="ijklmnop2", task_id="t", parent=Parent(trace_id="abcdefgh1"))
    bare = Trace(id="qrstuvwx3")
    assert part_names([one, bare]) == ["t", "qrstuvwx"]
    assert part_names([one, other]) == ["t#abcdefgh", "t#ijklmnop"]
    assert part_names([one, one]) == ["1", "2"]

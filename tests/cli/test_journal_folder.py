"""The verbs on a journal folder, whole and torn, as a recorder left it."""

from __future__ import annotations

from pathlib import Path

import pytest

import tracedance_sdk as td
from tests.cli.conftest import Tracedance
from tracedance_sdk.cli.program import tracedance as program


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record three runs into the journal ``runs/``; return their ids, the first one's bad."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    ids = []
    for name in ("John", "Sam", "Sam"):
        box: dict[str, list[str]] = {"sent": []}
        recorder = td.TraceRecorder(task_id="mail", state=box, journal="runs")
        with recorder, recorder.call("send", {"to": name}) as call:
            box["sent"].append(name)
            call.result = {"sent": True, "receipt": "r" * 100_000}
        ids.append(recorder.trace.id)
    return ids


def test_a_run_of_a_journal_becomes_a_task_that_grades_them_all(
    runs: list[str], tracedance: Tracedance
) -> None:
    drafted = tracedance("init", "runs", "--trace", runs[1])
    assert drafted.code == 0
    Path("task.yaml").write_text(drafted.out)
    graded = tracedance("evaluate", "runs", "--spec", "task.yaml")
    assert (graded.code, graded.err) == (1, "")
    rows = [line.split() for line in graded.out.splitlines()[1:4]]
    assert [row[0] for row in rows] == [f"runs#mail#{trace_id[:8]}" for trace_id in runs]
    assert [row[-1] for row in rows] == ["FAIL", "PASS", "PASS"]


def test_show_finds_a_run_by_the_id_in_the_table(runs: list[str], tracedance: Tracedance) -> None:
    ran = tracedance("show", "runs", "--trace", runs[2][:8])
    assert ran.code == 0
    assert ran.out.startswith(f"trace {runs[2]}\n")
    assert 'send {"to":"Sam"}' in ran.out


def test_a_torn_journal_gives_every_whole_run(runs: list[str], tracedance: Tracedance) -> None:
    (journal,) = Path("runs").glob("*.jsonl")
    journal.write_bytes(journal.read_bytes()[:-20])
    ran = tracedance("show", "runs")
    assert ran.out.count("\ntask mail\n") == 3


def test_the_examples_of_the_help_work(runs: list[str], tracedance: Tracedance) -> None:
    Path("runs").rename("traces")
    Path("run.json").write_bytes(b"")
    td.save_trace(_traces("traces")[1], "run.json")
    lines = [line.strip() for line in (program.help or "").splitlines()]
    examples = [line.partition("  ")[0] for line in lines if line.startswith("tracedance ")]
    assert len(examples) == 4
    for example in examples:
        command, redirect, target = example.partition(" > ")
        ran = tracedance(*command.split()[1:])
        assert (ran.code in (0, 1), ran.err) == (True, "")
        if redirect:
            Path(target).write_text(ran.out)


def _traces(folder: str) -> list[td.Trace]:
    from tracedance_sdk.formats import collect_paths

    return [found.trace for found in collect_paths([folder]) if found.trace is not None]

"""Verbs on a store of which one partition is damaged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Tracedance
from tests.store.stored import run
from tracedance_sdk.store import TraceStore

LINE = "is damaged: "
REST = "; 1 of its 1 traces were not read"


@pytest.fixture
def torn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand beside a store with three partitions, the documents of the second one damaged."""
    monkeypatch.chdir(tmp_path)
    store = TraceStore.create("torn")
    for name in ("one", "two", "three"):
        store.add([run(name)])
    files = [file for file in store.files() if file.kind == "documents"]
    files[1].path.write_bytes(b"PAR1")
    return Path("torn")


@pytest.mark.parametrize("choice", [(), ("--where", "turns > 0")], ids=["all", "where"])
def test_what_is_whole_is_exported(
    torn: Path, tracedance: Tracedance, choice: tuple[str, ...]
) -> None:
    ran = tracedance("export", torn, "--to", "trace-json", "--out", "out.jsonl", *choice)
    assert (ran.code, ran.err.count("\n")) == (3, 1)
    assert LINE in ran.err
    assert REST in ran.err
    ids = [json.loads(line)["id"] for line in Path("out.jsonl").read_bytes().splitlines()]
    assert ids == ["one", "three"]


def test_what_is_whole_is_graded_and_shown(torn: Path, tracedance: Tracedance) -> None:
    Path("task.yaml").write_text("format: tracedance.task\nversion: 1\nid: task-1\n")
    graded = tracedance("evaluate", torn, "--spec", "task.yaml", "--json")
    assert graded.out.count('"trace_id":') >= 2
    assert LINE in graded.out + graded.err
    shown = tracedance("show", torn)
    assert "trace one" in shown.out
    assert "trace three" in shown.out
    assert REST in shown.err


def test_one_damaged_trace_is_no_fault_of_the_file_that_is_written(
    torn: Path, tracedance: Tracedance
) -> None:
    ran = tracedance("export", torn, "--to", "trace-json", "--out", "out.jsonl", "--trace", "two")
    assert ran.code != 0
    assert LINE in ran.err
    assert "cannot be written" not in ran.err

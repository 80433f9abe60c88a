"""Nothing to grade, and no room to say it in."""

from __future__ import annotations

import json
import os
import pickle
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Tracedance


def test_a_json_document_says_why_nothing_was_graded(work: Path, tracedance: Tracedance) -> None:
    (work / "bad.json").write_text("{")
    ran = tracedance("evaluate", "bad.json", "--spec", "task.yaml", "--json")
    document = json.loads(ran.out)
    assert (ran.code, document["summary"]["unread"]) == (2, 1)
    assert "not JSON" in document["rows"][0]["problem"]
    assert "not JSON" in ran.err


def test_a_terminal_of_one_column_is_not_believed(
    work: Path, tracedance: Tracedance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "1")
    ran = tracedance("show", "traces/efficient.json")
    assert ran.code == 0
    assert max(map(len, ran.out.splitlines())) > 12


class Making:
    """Unpickled, it makes a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.folder),)


@pytest.mark.parametrize("protocol", [0, 4])
def test_a_pickle_is_one_line_and_never_loaded(
    work: Path, tracedance: Tracedance, protocol: int
) -> None:
    mark = work / "ran"
    evil = pickle.dumps(Making(mark), protocol=protocol)
    for name in ("evil.json", "evil.pkl", "evil.yaml"):
        (work / name).write_bytes(evil)
    as_trace = ["evaluate", "evil.json", "evil.pkl", "--spec", "task.yaml"]
    for arguments in (
        as_trace,
        ["evaluate", "traces/efficient.json", "--spec", "evil.yaml"],
        ["evaluate", "traces/efficient.json", "--spec", "evil.json"],
        ["evaluate", "traces/efficient.json", "--judge", "recorded:evil.json"],
        ["show", "evil.pkl"],
        ["init", "evil.json"],
        ["verify", "evil.pkl"],
    ):
        ran = tracedance(*arguments)
        lines = ran.err.splitlines()
        assert (ran.code, len(lines)) == (2, 2 if arguments is as_trace else 1), ran.err
        assert all(line.startswith("tracedance: ") for line in lines)
    assert not mark.exists()
    # The file is what it is said to be: loading it does make the folder.
    pickle.loads(evil)
    assert mark.is_dir()


@pytest.mark.parametrize(
    "arguments",
    [
        ["import", "traces", "--store", "made"],
        ["scan", "empty"],
        ["scan", "empty", "--out", "made"],
        ["index", "empty"],
        ["compact", "empty"],
        ["behaviors", "A01", "--try", "empty"],
    ],
    ids=" ".join,
)
def test_without_the_extra_a_store_is_missing_it_and_nothing_is_left_behind(
    work: Path, tracedance: Tracedance, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    (work / "empty" / "parts").mkdir(parents=True)
    monkeypatch.setitem(sys.modules, "duckdb", None)
    ran = tracedance(*arguments)
    line = "duckdb is not installed; install it with: pip install 'tracedance-sdk[store]'"
    assert (ran.code, ran.out, ran.err) == (2, "", f"tracedance: {line}\n")
    assert not (work / "made").exists()

"""Nothing to grade, and no room to say it in."""

from __future__ import annotations

import json
import os
import pickle
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

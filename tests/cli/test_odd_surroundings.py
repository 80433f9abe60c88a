"""Nothing to grade, and no room to say it in."""

from __future__ import annotations

import json
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

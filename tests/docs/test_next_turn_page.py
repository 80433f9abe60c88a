"""The page on next turns: its tables are those of the code."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import code_names, page, section, table
from tests.support.scripted_models import Answer, saying, scripted_models
from tracedance_sdk.cli import run
from tracedance_sdk.cli.next_turn import _EXIT_CODES
from tracedance_sdk.llm import MISSING, PROVIDERS


def test_the_kinds_of_missing_replies_are_those_of_the_code() -> None:
    rows = table(section(page("next_turn.md"), "Replies"))
    assert {code_names(row[0])[0]: row[1] for row in rows} == MISSING


def test_the_providers_are_those_of_the_code() -> None:
    rows = table(section(page("next_turn.md"), "Models"))
    named = {code_names(row[0])[0].partition(":")[0] for row in rows}
    assert named - {"PROVIDER", "recorded"} == set(PROVIDERS)


def test_the_exit_codes_are_those_of_the_help() -> None:
    rows = table(section(page("next_turn.md"), "The result set"))
    assert [(row[0], row[1]) for row in rows] == re.findall(r"(\d)  (.+)", _EXIT_CODES)


def test_the_runs_to_try_it_on_have_turns_that_can_be_taken_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = re.search(
        r"^<!-- file: make_traces.py -->\n```python\n(.*?)^```$",
        page("next_turn.md"),
        re.MULTILINE | re.DOTALL,
    )
    assert found
    subprocess.run([sys.executable, "-c", found[1]], cwd=tmp_path, check=True, timeout=60)
    monkeypatch.chdir(tmp_path)
    with scripted_models(lambda *_: Answer(saying("openai", "Done."))) as server:
        options = ["--model", server.name("openai"), "--out", "out"]
        assert run(["next-turn", "traces", "--before-call", "send_email", *options]) == 0
    assert len(server.requests) == 4


def test_the_runs_of_the_demo_have_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["demo", "--out", str(tmp_path / "demo")]) == 0
    model = ["--model", "openai:m@http://127.0.0.1:9/v1", "--out", str(tmp_path / "out")]
    assert run(["next-turn", str(tmp_path / "demo"), *model]) == 2
    assert "no turn of the model's (4)" in capsys.readouterr().err

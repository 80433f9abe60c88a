"""Run the command as its users do, and make files for it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tracedance_sdk.cli import run
from tracedance_sdk.demo import SCRIPTS, judgements_text, record_run, task_text
from tracedance_sdk.formats import save_trace


class Ran(NamedTuple):
    """What a command did: its exit code and what it wrote."""

    code: int
    out: str
    err: str


Tracedance = Callable[..., Ran]


@pytest.fixture
def tracedance(capsys: pytest.CaptureFixture[str]) -> Tracedance:
    """Run the command in this process."""

    def call(*arguments: str | Path) -> Ran:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        return Ran(code, *capsys.readouterr())

    return call


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a folder with the demo's files: traces/, task.yaml, judgements.json."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "traces").mkdir()
    for name in SCRIPTS:
        save_trace(record_run(name), tmp_path / "traces" / f"{name}.json")
    (tmp_path / "task.yaml").write_text(task_text(), encoding="utf-8")
    (tmp_path / "judgements.json").write_text(judgements_text(), encoding="utf-8")
    return tmp_path


def in_process_of_its_own(
    *arguments: str, environment: dict[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run the installed command in a process of its own."""
    command = Path(sys.executable).with_name("tracedance")
    return subprocess.run(
        [command, *arguments],
        capture_output=True,
        env={**os.environ, **(environment or {})},
        cwd=cwd,
        check=False,
        timeout=60,
    )

"""`tracedance replay` with agents that wander off, die, print, or are run twice at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.test_replay_verb import suite  # noqa: F401 - a fixture
from tests.replay.test_rebuilding import order_trace
from tracedance_sdk.cli import run
from tracedance_sdk.grading import read_results
from tracedance_sdk.recording import SecretRedactor, redaction_key
from tracedance_sdk.replay import Masked, rebuild, save_tests

TRACEDANCE = Path(sys.executable).with_name("tracedance")

DIES = """
import json, os, sys
print("starting with sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123", file=sys.stderr)
for line in sys.stdin:
    if json.loads(line)["test_id"] in sys.argv[1:]:
        os._exit(9)
    print('"It is too late."', flush=True)
"""


def replayed(
    folder: Path, agent: str, *options: str, out: str = "out"
) -> subprocess.CompletedProcess[str]:
    command = [str(TRACEDANCE), "replay", "rebuilt", "--agent", agent]
    return subprocess.run(
        [*command, "--out", out, *options],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        timeout=60,
    )


def program(folder: Path, text: str) -> str:
    (folder / "program.py").write_text(text)
    return f"cmd:{sys.executable} program.py"


def test_an_agent_that_goes_elsewhere_does_not_take_the_results_along(suite: Path) -> None:  # noqa: F811
    folder = suite.parent
    (folder / "agents.py").write_text(
        "import os\ndef agent(messages):\n    os.chdir('/')\n    return 'Well.'\n"
    )
    ran = replayed(folder, "agents.py:agent", "--traces", "traces")
    assert ran.returncode == 3, ran.stderr
    assert len(read_results(folder / "out").rows) == 2
    assert len(list((folder / "traces").iterdir())) == 2
    assert "result set: out\n" in ran.stdout


@pytest.mark.parametrize("runs", ["1", "4"])
def test_a_program_that_dies_at_its_first_request_loses_that_run_alone(
    suite: Path,  # noqa: F811
    runs: str,
) -> None:
    ran = replayed(suite.parent, f"{program(suite.parent, DIES)} t0", "--runs", runs)
    assert ran.returncode == 1, ran.stderr
    found = read_results(suite.parent / "out").rows
    rows = {row.subject.instance_id: row.model_extra or {} for row in found}
    assert [row.verdict for row in found] == ["fail", "inconclusive"]
    assert [rows[test]["ended"] for test in ("t0", "t1")] == ["agent_error", "customer"]
    assert "exit code 9" in rows["t0"]["reason"]


def test_a_program_that_dies_in_every_run_is_one_that_cannot_start(suite: Path) -> None:  # noqa: F811
    ran = replayed(suite.parent, f"{program(suite.parent, DIES)} t0 t1")
    (line,) = [line for line in ran.stderr.splitlines() if not line.startswith("agent:")]
    assert ran.returncode == 2
    assert "ended with exit code 9 before it replied to anything" in line
    assert not (suite.parent / "out" / "rows.jsonl").exists()


def test_what_a_program_writes_to_its_errors_is_masked_and_bounded(suite: Path) -> None:  # noqa: F811
    agent = program(
        suite.parent,
        DIES + ("\nfor n in range(9999): print('line', n, file=sys.stderr)"),
    )
    ran = replayed(suite.parent, agent)
    lines = ran.stderr.splitlines()
    assert all(line.startswith("agent: ") for line in lines)
    assert len(lines) == 21
    assert lines[-1] == "agent: ... more lines are not shown"
    assert "starting with [MASKED:anthropic_key:" in ran.stderr
    assert "abcdefghijklmnop" not in ran.stderr


def test_a_child_that_keeps_the_pipes_open_is_not_waited_for(suite: Path) -> None:  # noqa: F811
    agent = program(
        suite.parent,
        "import subprocess, sys\n"
        "subprocess.Popen(['sleep', '20'], start_new_session=True)\n"
        "for line in sys.stdin: print('\"Well.\"', flush=True)\n",
    )
    began = time.monotonic()
    ran = replayed(suite.parent, agent)
    assert (ran.returncode, ran.stderr) == (3, "")
    assert time.monotonic() - began < 15


def test_what_an_agent_prints_is_no_part_of_the_report(suite: Path) -> None:  # noqa: F811
    (suite.parent / "agents.py").write_text(
        "print('imported')\ndef agent(messages):\n    print('thinking')\n    return 'Well.'\n"
    )
    ran = replayed(suite.parent, "agents.py:agent", "--json")
    assert json.loads(ran.stdout)["runs"] == 2
    assert ran.stderr.count("thinking") == 2


def test_two_runs_at_once_do_not_share_a_folder(suite: Path) -> None:  # noqa: F811
    folder = suite.parent
    (folder / "agents.py").write_text(
        "import os, time\n"
        "def agent(messages):\n"
        "    open('asked', 'w').close()\n"
        "    while not os.path.exists('go'): time.sleep(0.02)\n"
        "    return 'Well.'\n"
    )
    command = [str(TRACEDANCE), "replay", "rebuilt"]
    first = subprocess.Popen(
        [*command, "--agent", "agents.py:agent", "--out", "out"],
        cwd=folder,
        stdout=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + 30
        while not (folder / "asked").exists() and time.monotonic() < until:
            time.sleep(0.02)
        second = replayed(folder, "recorded")
        assert (second.returncode, len(second.stderr.splitlines())) == (2, 1)
        assert "is being written by another replay" in second.stderr
    finally:
        (folder / "go").touch()
        assert first.wait(60) == 3
    assert replayed(folder, "recorded").returncode == 3


@pytest.mark.parametrize("option", ["-p hunter2xyzzy", "-p=hunter2xyzzy", "-phunter2xyzzy"])
def test_short_options_of_passwords_are_masked(option: str) -> None:
    masked = Masked(SecretRedactor(key=redaction_key(None)))
    shown = masked.agent(f"cmd:agent {option} -port 80 -profile=eu -v")
    assert "hunter2" not in shown
    assert shown.endswith("-port 80 -profile=eu -v")


def test_what_is_named_as_a_test_and_cannot_be_opened_is_told(
    suite: Path,  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    (suite / "gone.yaml").symlink_to("nowhere")
    (suite / "folder.yaml").mkdir()
    os.mkfifo(suite / "pipe.yaml")
    grader = suite.parent / "agents.py"
    arguments = ["--agent", "recorded", "--grader", f"{grader}:asked_before_cancelling"]
    assert run(["replay", str(suite), *arguments, "--out", str(suite.parent / "out")]) == 3
    told = capsys.readouterr().err
    assert [name in told for name in ("gone.yaml", "folder.yaml", "pipe.yaml")] == [True] * 3
    assert len(read_results(suite.parent / "out").manifest["broken"]) == 3


def test_long_ids_and_verdicts_are_shown_whole_in_eighty_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    names = [f"conversation-of-a-customer-{n}-with-the-shop-about-an-order" for n in range(2)]
    save_tests(rebuild([order_trace(name, name) for name in names]).tests, tmp_path / "rebuilt")
    arguments = ["--agent", "recorded", "--out", str(tmp_path / "out")]
    assert run(["replay", str(tmp_path / "rebuilt"), *arguments]) == 3
    printed = capsys.readouterr().out
    assert all(f"{name} #0" in printed.replace("\n", "") for name in names)
    assert printed.count("inconclusive") >= 2
    assert "production" not in printed
    assert all(len(line) <= 80 for line in printed.splitlines())

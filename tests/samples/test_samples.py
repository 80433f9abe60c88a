"""Every sample runs as its first lines say, and prints what a newcomer will see."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from inline_snapshot import snapshot

SAMPLES = Path(__file__).resolve().parents[2] / "samples"


def run_sample(*command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if "PYTEST" not in key}
    return subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=environment,
        check=False,
        timeout=60,
    )


def printed(name: str, cwd: Path) -> str:
    ran = run_sample(str(SAMPLES / name), cwd=cwd)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert list(cwd.iterdir()) == []
    return ran.stdout


def test_the_decorator_sample(tmp_path: Path) -> None:
    assert printed("decorator.py", tmp_path) == snapshot("""\
find_total({'quarter': 'Q2'}) -> 310000
find_total({'quarter': 'Q3'}) -> 482500
send_email({'to': 'Sam', 'body': 'Total revenue: $482500'}) -> 'sent'

verdict: fail
  pass: final_state: the final state is as expected
  fail: acceptable_inputs: action 1 (find_total) was given {'quarter': 'Q2'}; acceptable: {'quarter': 'Q3'}
  pass: critical_errors: no critical error
  pass: unexpected_changes: nothing else changed
""")  # noqa: E501 - what the sample prints


def test_the_async_sample(tmp_path: Path) -> None:
    assert printed("async_agent.py", tmp_path) == snapshot("""\
travel
  book({'flight': 'Monday 09:10'}) -> 'booked Monday 09:10'
planner (inside another agent's run)
  search_flights({'day': 'Monday'}) -> ['Monday 09:10', 'Monday 17:45']
  search_flights({'day': 'Tuesday'}) -> ['Tuesday 09:10', 'Tuesday 17:45']
""")


def test_the_sample_of_calls_by_hand(tmp_path: Path) -> None:
    assert printed("by_hand.py", tmp_path) == snapshot("""\
user: What is the weather in Lisbon and Atlantis?
assistant: Let me look.
  a weather({'city': 'Lisbon'}) -> {'city': 'Lisbon', 'celsius': 21}
  b weather({'city': 'Atlantis'}) -> LookupError: no such city
assistant: 21 degrees in Lisbon; I know no Atlantis.
""")


def test_the_sample_of_rebuilt_tests(tmp_path: Path) -> None:
    assert printed("rebuilt_tests.py", tmp_path) == snapshot("""\
apples: pass (answers: same)
pears: fail (answers: other)
""")


def test_the_pytest_sample_passes_once_and_fails_once_with_the_reason(tmp_path: Path) -> None:
    arguments = ("-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), "--tb=short")
    ran = run_sample("-m", "pytest", *arguments, str(SAMPLES / "test_with_pytest.py"), cwd=tmp_path)
    assert ran.returncode == 1
    assert re.search(r"1 failed, 1 passed", ran.stdout)
    assert "action 1 (send): no spam" in ran.stdout


def test_the_pytest_sample_needs_none_of_the_plugins_of_our_own_tests(tmp_path: Path) -> None:
    code = (
        "import os, sys; sys.modules['pytest_benchmark'] = None; "
        "os.environ['PYTEST_DISABLE_PLUGIN_AUTOLOAD'] = '1'; "
        "import pytest; sys.exit(pytest.main(sys.argv[1:]))"
    )
    ours = ("-p", "tracedance_sdk.pytest_plugin", f"--tracedance-dir={tmp_path}")
    options = ("-q", "-p", "no:cacheprovider", *ours)
    sample = SAMPLES / "test_with_pytest.py"
    ran = run_sample("-c", code, *options, str(sample), cwd=SAMPLES.parent)
    assert (ran.returncode, ran.stderr) == (1, "")
    assert "1 failed, 1 passed" in ran.stdout


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_every_sample_is_run_here_and_says_how_to_run_it(path: Path) -> None:
    assert path.name in Path(__file__).read_text(encoding="utf-8")
    runner = "pytest" if path.name.startswith("test_") else "python"
    assert f"Run it with: {runner} samples/{path.name}\n" in path.read_text(encoding="utf-8")

"""Agents of frameworks in rebuilt tests: recorded, rebuilt, changed, replayed and graded.

All of it as users do it: programs and the command line, in processes of their own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import tracedance_sdk as td
from tests.docs.test_pages import check_page
from tests.frameworks.replayed_agents import office
from tracedance_sdk.grading import read_results
from tracedance_sdk.testing import Endpoint, scripted_models

ROOT = Path(__file__).parents[2]
GRADER = "tests.frameworks.replayed_agents.office:right_mail"


def _agent(name: str, framework: str, package: str, *needs: str) -> Any:
    marks = [
        pytest.mark.needs(*needs, "openai"),
        pytest.mark.cell(framework, "replay", package=package),
    ]
    return pytest.param(f"tests.frameworks.replayed_agents.{name}", id=framework, marks=marks)


AGENTS = (
    _agent(
        "langgraph_clerk", "langgraph", "langgraph", "langchain", "langgraph", "langchain_openai"
    ),
    _agent("openai_agents_clerk", "openai-agents", "openai-agents", "agents"),
    _agent("pydantic_ai_clerk", "pydantic-ai", "pydantic-ai-slim", "pydantic_ai"),
    _agent("mcp_clerk", "mcp client", "mcp", "mcp"),
)


class Shell(NamedTuple):
    """Runs programs in a folder, with the office's model at hand."""

    folder: Path
    endpoint: Endpoint

    @property
    def ran(self) -> list[str]:
        """The tools whose code has run."""
        path = self.folder / "ran.txt"
        return path.read_text().split() if path.exists() else []

    def run(self, *command: str, code: int = 0) -> str:
        """Return what a program of this environment prints."""
        of_office = {
            office.URL: self.endpoint.url,
            office.RAN: str(self.folder / "ran.txt"),
            "PYTHONPATH": str(ROOT),
            "COLUMNS": "100",
        }
        done = subprocess.run(
            [Path(sys.executable).with_name(command[0]), *command[1:]],
            cwd=self.folder,
            env={**os.environ, **of_office},
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def replay(self, agent: str, *options: str, out: str, code: int) -> dict[str, Any]:
        """Return the report of ``tracedance replay``."""
        where = ("--out", out, "--traces", f"{out}-traces", "--grader", GRADER, "--json")
        command = ("tracedance", "replay", "rebuilt", "--agent", agent, *where, *options)
        found: dict[str, Any] = json.loads(self.run(*command, code=code))
        return found

    def calls(self, out: str, test: str) -> list[tuple[str, Any, Any]]:
        """Return tool, first argument and origin of the calls that a run of a test made."""
        (path,) = (self.folder / f"{out}-traces").glob(f"{test}*.json")
        return [
            (call.name, next(iter(call.arguments.values())), (call.model_extra or {})["answer"])
            for call in td.load_trace(path).calls
        ]

    def verdicts(self, out: str) -> dict[str, tuple[str, str]]:
        """Return by test the verdict and what the grader or the run said."""
        rows = read_results(self.folder / out).rows
        return {
            str(row.subject.instance_id): (str(row.verdict), str((row.model_extra or {})["reason"]))
            for row in rows
        }


@pytest.fixture(scope="module", params=AGENTS)
def agent(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def rebuilt(agent: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """Record an agent, and have the tests made; only then tools run."""
    with scripted_models(*office.SCENES) as endpoint:
        shell = Shell(tmp_path_factory.mktemp("suite"), endpoint)
        (shell.folder / "traces").mkdir()
        shell.run("python", "-m", agent, "traces")
        assert shell.ran == ["find_contact", "send_mail"] * 2
        (shell.folder / "ran.txt").unlink()
        shell.run("tracedance", "rebuild", "traces", "--out", "rebuilt")
        yield shell


def test_a_changed_agent_is_graded_on_rebuilt_answers(agent: str, rebuilt: Shell) -> None:
    report = rebuilt.replay(f"{agent}:changed", out="changed", code=1)
    assert report["answers"] == {"same": 3, "other": 3}
    assert report["verdicts"] == {"pass": 1, "fail": 1}
    assert rebuilt.verdicts("changed") == {
        "about-sam": ("pass", "mails went to ['sam@example.com']"),
        "about-kim": ("fail", "mails went to ['sam@example.com']"),
    }
    calls = rebuilt.calls("changed", "about-sam")
    # Two calls of one turn are made in any order.
    assert sorted((name, first, answer["stamp"]) for name, first, answer in calls[:2]) == [
        ("find_contact", "Kim", "other"),
        ("find_contact", "Sam", "same"),
    ]
    origins = {answer["origin"]["conversation"] for _, _, answer in calls[:2]}
    assert origins == {"about-sam", "about-kim"}
    assert [(name, answer["stamp"]) for name, _, answer in calls[2:]] == [("send_mail", "same")]
    assert rebuilt.ran == []


def test_what_no_recording_answers_is_not_run_and_decides_nothing(
    agent: str, rebuilt: Shell
) -> None:
    report = rebuilt.replay(f"{agent}:lost", "--test", "about-sam", out="lost", code=3)
    assert report["misses"] == {"something_new": 1}
    assert report["verdicts"] == {"inconclusive": 1}
    assert [answer["stamp"] for _, _, answer in rebuilt.calls("lost", "about-sam")] == [
        "same",
        "failed",
    ]
    assert rebuilt.ran == []


def test_one_test_answers_the_agent_in_python_too(agent: str, rebuilt: Shell) -> None:
    program = f"""
import asyncio
from {agent} import changed
from tracedance_sdk.replay import replaying

with replaying("rebuilt/about-sam.yaml", answers=["same", "other"]) as session:
    print(asyncio.run(changed([{{"role": "user", "content": "Ask Sam to lunch."}}])))
print(sorted(answer.stamp for answer in session.answers))
"""
    (rebuilt.folder / "play.py").write_text(program)
    said = rebuilt.run("python", "play.py")
    assert said == "The mail is on its way.\n['other', 'same', 'same']\n"
    assert rebuilt.ran == []


@pytest.mark.needs("langchain", "langgraph", "langchain_openai")
@pytest.mark.cell("langgraph", "replay")
def test_the_page_shows_what_happens_with_langgraph(tmp_path: Path) -> None:
    page = ROOT / "docs" / "integrations.md"
    assert check_page(page, tmp_path, info="console langgraph") == 3

"""What the README and the pages under docs/ show is what happens.

A page is a script: a code block under ``<!-- file: NAME -->`` is that file, and in a ``console``
block every line that starts with ``$ `` is run, in order, in one empty folder per page. What
follows is its standard output with its standard error; a line ``...`` stands for any lines, a
``…`` for anything in its line. A line ``(exit 1)`` at the end is the exit code, when it is not 0.
A block ``console NAME`` is run where that framework is installed, by its own tests.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

_BLOCK = re.compile(
    r"(?:<!-- file: (?P<file>\S+) -->\n+)?^```(?P<info>[^\n`]*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


class Step(NamedTuple):
    """One command of a page and what the page says it prints."""

    command: str
    output: str
    exit_code: int


def steps(text: str) -> list[Step]:
    found: list[Step] = []
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, output = part.partition("\n")
        while command.endswith("\\"):
            more, _, output = output.partition("\n")
            command = f"{command[:-1]}{more}"
        code = re.search(r"^\(exit (\d+)\)\n?\Z", output, re.MULTILINE)
        if code:
            output = output[: code.start()]
        found.append(Step(command, output, int(code[1]) if code else 0))
    return found


def fits(output: str, shown: str) -> bool:
    pieces = re.split(r"^\.\.\.\n", shown.rstrip("\n") + "\n", flags=re.MULTILINE)
    pattern = "(?:.*\n)*".join(map(re.escape, pieces)).replace("…", ".*")
    return re.fullmatch(pattern, tidy(output)) is not None


def tidy(output: str) -> str:
    lines = [line.rstrip() for line in output.rstrip("\n").splitlines()]
    return "\n".join(lines) + "\n"


_NOT_PASSED_ON = ("TRACEDANCE_", "OTEL_", "PYTEST_")


def run(command: str, folder: Path) -> tuple[str, int]:
    # Plugins of pytest print more where CI is set, or inside another run of pytest.
    passed_on = {k: v for k, v in os.environ.items() if not k.startswith(_NOT_PASSED_ON)}
    passed_on.pop("CI", None)
    environment = {
        **passed_on,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "100",
        "NO_COLOR": "1",
        "PYTHONUTF8": "1",
    }
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=100,
        check=False,
        text=True,
    )
    return done.stdout, done.returncode


def check_page(page: Path, folder: Path, *, info: str = "console") -> int:
    """Write the files of a page into a folder and run its blocks of a kind.

    Returns:
        How many commands were run.
    """
    n_run = 0
    for block in _BLOCK.finditer(page.read_text(encoding="utf-8")):
        if block["file"]:
            target = folder / block["file"]
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block["text"], encoding="utf-8")
        if block["info"].strip() != info:
            continue
        for step in steps(block["text"]):
            output, code = run(step.command, folder)
            assert fits(output, step.output), f"{page.name}: $ {step.command}\n{tidy(output)}"
            assert code == step.exit_code, f"{page.name}: $ {step.command}\nexit {code}"
            n_run += 1
    return n_run


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_shows_what_happens(page: Path, tmp_path: Path) -> None:
    check_page(page, tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_a_page_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for link in re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", text):
        assert (page.parent / link).exists(), f"{page.name} links to {link!r}"


def test_a_page_that_shows_something_else_is_noticed() -> None:
    assert fits("a\nb\nc\n", "a\n...\nc\n")
    assert not fits("a\nb\nc\n", "a\n...\nd\n")
    assert not fits("a\nb\n", "a\n")
    assert steps("$ x \\\n  y\nout\n(exit 3)\n") == [Step("x   y", "out\n", 3)]

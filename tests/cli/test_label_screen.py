"""What the screen of `tracedance label` shows of long system prompts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Tracedance
from tests.cli.test_label_verb import OUT, conversation, lines
from tracedance_sdk.formats import save_trace

__all__ = ["lines"]

PROMPT = "\n".join(["You help guests.", *(f"Rule {n}: be kind." for n in range(1, 41))])


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in an empty folder, at a terminal of 82 columns."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "82")
    return tmp_path


def shown_with(prompt: str, tracedance: Tracedance) -> str:
    """Return what the screen shows of a conversation with a system prompt."""
    Path("contexts").mkdir()
    told = conversation().model_copy(update={"system_prompt": prompt})
    save_trace(told, Path("contexts/t1.json"))
    ran = tracedance("label", "contexts", "--rubric", "honest-claims", *OUT)
    assert ran.code == 0
    return ran.out


@pytest.mark.parametrize(
    ("prompt", "hidden"),
    [(PROMPT, "... 35 more lines (m shows all)"), ("kind " * 900, "... 4,021 more characters (m")],
    ids=["lines", "one long line"],
)
def test_a_system_prompt_is_cut_to_its_beginning_until_more_is_asked_for(
    here: Path, tracedance: Tracedance, lines: Any, *, prompt: str, hidden: str
) -> None:
    lines("m", "4")
    first, more = shown_with(prompt, tracedance).split("q quit")[:2]
    assert hidden in first
    assert "A room, please." in first
    assert ("Rule 5:" in first, "Rule 6:" in first) == ("Rule" in prompt, False)
    assert "shows all" not in more
    assert prompt.count("kind") == more.count("kind")


def test_a_short_system_prompt_is_shown_whole(
    here: Path, tracedance: Tracedance, lines: Any
) -> None:
    lines("4")
    shown = shown_with("\n".join(PROMPT.splitlines()[:8]), tracedance)
    assert "Rule 7: be kind." in shown
    assert "shows all" not in shown

"""The programs on the page of short programs, each run where its framework is installed."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.docs.test_pages import ROOT, check_page

PAGE = ROOT / "docs" / "frameworks.md"


def shown(page: str, *modules: str, commands: int) -> object:
    return pytest.param(page, commands, id=page, marks=pytest.mark.needs(*modules))


@pytest.mark.parametrize(
    ("info", "commands"),
    [
        shown("anthropic", "anthropic", commands=2),
        shown("openai-agents", "agents", commands=1),
        shown("pydantic-ai", "pydantic_ai", commands=1),
        shown("langgraph", "langchain", "langgraph", "langchain_openai", commands=1),
    ],
)
def test_the_page_shows_what_happens(info: str, commands: int, tmp_path: Path) -> None:
    assert check_page(PAGE, tmp_path, info=f"console {info}") == commands


@pytest.mark.needs("mcp")
def test_the_page_shows_what_happens_with_either_generation_of_mcp(tmp_path: Path) -> None:
    is_new = importlib.util.find_spec("mcp.server.mcpserver") is not None
    info = "console mcp" if is_new else "console mcp before 2"
    assert check_page(PAGE, tmp_path, info=info) == 2

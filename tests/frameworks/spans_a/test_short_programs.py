"""The programs on the page of short programs, each run where its framework is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.test_pages import ROOT, check_page

PROGRAMS = {
    "crewai": "crewai",
    "dspy": "dspy",
    "litellm": "litellm",
    "llama-index": "llama_index.core",
    "smolagents": "smolagents",
}


@pytest.mark.parametrize(
    "info",
    [
        pytest.param(info, marks=pytest.mark.needs(module), id=info)
        for info, module in PROGRAMS.items()
    ],
)
def test_the_page_shows_what_happens(info: str, tmp_path: Path) -> None:
    assert check_page(ROOT / "docs" / "frameworks.md", tmp_path, info=f"console {info}") == 1

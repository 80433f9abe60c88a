"""What the documentation says of libraries' versions is what the code does and tests run."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "integration_table.py"


@pytest.fixture
def table() -> ModuleType:
    spec = importlib.util.spec_from_file_location("integration_table", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_has_the_versions_of_the_code(table: ModuleType) -> None:
    page = table.PAGE.read_text()
    assert table.written(page, {}) == page
    assert table.main(["--check"]) == 0
    assert "| `openai` | 1.99 and newer, below 4 | 1.99.9, 2." in page


def test_every_version_that_is_tested_is_in_the_range(table: ModuleType) -> None:
    tested = table.tested_versions(table.REQUIREMENTS)
    found = list(table.integrations())
    assert len(found) >= 8
    for one in found:
        assert tested[one.package], one.package
        assert all(one.supports(version) for version in tested[one.package]), one.package


def test_a_page_that_says_something_else_is_noticed(
    table: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    page = table.PAGE.read_text().replace("1.99 and newer, below 4", "1.0 and newer, below 4")
    monkeypatch.setattr(table, "PAGE", tmp_path / "integrations.md")
    table.PAGE.write_text(page)
    assert table.main(["--check"]) == 1
    assert table.PAGE.read_text() == page
    assert table.main([]) == 0
    assert "1.99 and newer, below 4" in table.PAGE.read_text()

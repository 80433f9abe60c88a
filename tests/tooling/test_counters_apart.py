"""The counters of raw files must not share code with what they check."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

COUNTERS = Path(__file__).resolve().parents[1] / "counters"


def imported_modules(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or "."


def test_counters_import_nothing_of_the_library() -> None:
    shared = [
        f"{path.name} imports {module}"
        for path in COUNTERS.rglob("*.py")
        for module in imported_modules(path.read_text(encoding="utf-8"))
        if module.startswith("tracedance_")
    ]

    assert shared == []

"""What the tests of the pages share: where pages are, their sections and tables."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def page(name: str) -> str:
    """Return the text of a page under docs/."""
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def section(text: str, heading: str) -> str:
    """Return what stands under a heading, up to the next heading of its level or above."""
    found = re.search(rf"^(#+) {re.escape(heading)}\n", text, re.MULTILINE)
    assert found, f"no section {heading!r}"
    rest = text[found.end() :]
    end = re.search(rf"^#{{1,{len(found[1])}}} ", rest, re.MULTILINE)
    return rest[: end.start()] if end else rest


def table(text: str) -> list[list[str]]:
    """Return the cells of the first table in a text, its heading left out."""
    lines = re.search(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert lines, "no table"
    rows = [
        [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in lines[0].splitlines()
    ]
    return rows[2:]


def code_names(text: str) -> list[str]:
    """Return everything that stands in back quotes, in order."""
    return re.findall(r"`([^`\n]+)`", text)

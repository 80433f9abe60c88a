"""A pytest plugin: tests hand in rows, the run prints them as tables at its end.

A row belongs to a title; rows of one title come from any number of tests, on any number of
workers. The first column names the row.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

import pytest

AddRow = Callable[..., None]
"""``add_row("kills", kind="threads", kills=25)``: a title, then the columns in order."""

_MARK = "table: "


@pytest.fixture
def add_row(record_property: Callable[[str, object], None]) -> AddRow:
    """Add a row to one of the tables that are printed when all tests are done."""

    def add(title: str, **columns: object) -> None:
        record_property(f"{_MARK}{title}", {name: str(text) for name, text in columns.items()})

    return add


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    tables: dict[str, list[dict[str, str]]] = defaultdict(list)
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", None) != "call":
                continue
            for name, row in report.user_properties:
                if name.startswith(_MARK):
                    tables[name.removeprefix(_MARK)].append(row)
    for title in sorted(tables):
        terminalreporter.section(title)
        for line in table_lines(tables[title]):
            terminalreporter.write_line(line)


def table_lines(rows: list[dict[str, str]]) -> list[str]:
    """Return rows as lines of aligned columns, ordered by their first column, under a heading."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = [[row.get(name, "") for name in names] for row in rows]
    lines = [names, *sorted(cells)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(names))]
    return ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines]

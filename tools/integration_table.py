"""Write the documentation's tables of integrations from the reports of tests that were run.

Every run of the tests in ``tests/frameworks`` leaves a report when ``TRACEDANCE_FRAMEWORK_REPORT``
names a file: one entry for each test that stands for a cell. A cell says ``yes`` when at least one
of its tests ran and all that ran passed, ``fails`` when one failed, ``not tested`` when none ran.
The table of versions comes from the integrations' code and the requirements of the tests, and is
all that is written or checked where no report is named.

    python tools/integration_table.py .reports/*.json            # writes docs/integrations.md
    python tools/integration_table.py --check .reports/*.json    # exits 1 if it says something else
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from tracedance_integrations import available

from tracedance_sdk.recording.integrating import Integration

PAGE = Path(__file__).parents[1] / "docs" / "integrations.md"
REQUIREMENTS = Path(__file__).parents[1] / "tests" / "frameworks"

CAPABILITIES = (
    "sync", "async", "streaming", "streaming async", "parallel calls", "tool error",
    "model error", "cancellation", "nested agents", "masking", "uninstall", "beside others",
    "no recorder", "state", "replay",
)  # fmt: skip
"""Lines of the tables, in order; further ones follow by name."""


class Cell(NamedTuple):
    """What the tests of one framework and capability came to."""

    passed: int = 0
    failed: int = 0

    @property
    def shown(self) -> str:
        """The cell's text."""
        if self.failed:
            return "**fails**"
        return "yes" if self.passed else "not tested"


class Row(NamedTuple):
    """A framework: the versions it was tested in, and its cells by capability."""

    versions: set[str]
    cells: dict[str, Cell]
    is_of_spans: bool = False


def read(paths: Iterable[Path]) -> dict[str, Row]:
    """Return the frameworks in reports, in the order in which they come."""
    rows: dict[str, Row] = {}
    for path in paths:
        for entry in json.loads(path.read_text())["cells"]:
            row = rows.setdefault(entry["framework"], Row(set(), {}, entry["by"] == "spans"))
            if entry["outcome"] == "skipped":
                continue
            if entry["version"]:
                row.versions.add(entry["version"])
            cell = row.cells.get(entry["capability"], Cell())
            is_good = entry["outcome"] == "passed"
            row.cells[entry["capability"]] = Cell(
                cell.passed + is_good, cell.failed + (not is_good)
            )
    return rows


def table(rows: dict[str, Row]) -> str:
    """Return rows as Markdown: a capability a line, a framework a column."""
    names = list(rows)
    known = {name for row in rows.values() for name in row.cells}
    lines = [name for name in CAPABILITIES if name in known] + sorted(known - {*CAPABILITIES})
    found = [_line(["", *(f"{name} {_versions(rows[name])}".strip() for name in names)])]
    found.append(_line(["---"] * (len(names) + 1)))
    for line in lines:
        cells = (rows[name].cells.get(line, Cell()).shown for name in names)
        found.append(_line([line, *cells]))
    return "\n".join(found)


def integrations() -> Iterator[Integration]:
    """Yield the project's integrations, by name; one may hook into several libraries."""
    for point in available().values():
        if point.module.startswith("tracedance_integrations."):
            yield from (of for of in vars(point.load()).values() if isinstance(of, Integration))


def tested_versions(folder: Path) -> dict[str, list[str]]:
    """Return the versions that the requirements in a folder pin, oldest first, by package."""
    found: dict[str, set[str]] = {}
    for path in folder.glob("requirements-*.txt"):
        for name, version in _PIN.findall(path.read_text()):
            found.setdefault(name, set()).add(version)
    return {name: sorted(pins, key=_numbers) for name, pins in found.items()}


_PIN = re.compile(r"^([a-z0-9-]+)(?:\[[^]]*\])?==(\S+)", re.MULTILINE)

_STANDS_FOR = {"langchain-core": "langchain"}
"""Packages whose newest version comes with that of another one."""


def version_table(found: Iterable[Integration], tested: dict[str, list[str]]) -> str:
    """Return which versions are taken without a warning, and which are tested, as Markdown."""
    lines = [_line(["library", "versions", "tested"]), _line(["---"] * 3)]
    for one in found:
        pins = list(tested.get(one.package, ()))
        other = _STANDS_FOR.get(one.package)
        if other is not None:
            pins.append(f"that of {other} {tested[other][-1]}")
        shown = f"{one.oldest} and newer, below {one.below}"
        lines.append(_line([f"`{one.package}`", shown, ", ".join(pins) or "not tested"]))
    return "\n".join(lines)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


def page_with(text: str, name: str, body: str) -> str:
    """Return a page with what stands between its two marks of a name replaced.

    Raises:
        ValueError: The page has no such marks.
    """
    begin, end = f"<!-- {name}: generated -->", f"<!-- {name}: end -->"
    head, _, rest = text.partition(begin)
    _, found, tail = rest.partition(end)
    if not found:
        raise ValueError(f"{PAGE.name} has no {begin} ... {end}")
    return f"{head}{begin}\n{body}\n{end}{tail}"


def written(text: str, rows: dict[str, Row]) -> str:
    """Return the page with its tables as the code and the reports have them; without any, as is."""
    tested = tested_versions(REQUIREMENTS)
    text = page_with(text, "versions", version_table(integrations(), tested))
    if not rows:
        return text
    hooks = {name: row for name, row in rows.items() if not row.is_of_spans}
    spans = {name: row for name, row in rows.items() if row.is_of_spans}
    return page_with(page_with(text, "hooks", table(hooks)), "spans", table(spans))


def _versions(row: Row) -> str:
    return ", ".join(sorted(row.versions))


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def main(arguments: list[str]) -> int:
    """Write or check the page; return the exit code."""
    is_check = "--check" in arguments
    paths = [Path(argument) for argument in arguments if argument != "--check"]
    rows = read(paths)
    before = PAGE.read_text()
    after = written(before, rows)
    failing = [
        f"{name}: {capability}"
        for name, row in rows.items()
        for capability, cell in row.cells.items()
        if cell.failed
    ]
    for line in failing:
        print(f"fails: {line}", file=sys.stderr)
    if not is_check:
        PAGE.write_text(after)
    elif after != before:
        print(
            f"{PAGE.name} does not say what code and reports say; write it again", file=sys.stderr
        )
        return 1
    return 1 if failing else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

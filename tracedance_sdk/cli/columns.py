"""Tables of plain columns that fit the console."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tracedance_sdk.report import ReportConsole

_LEAST: Final = 10


def print_columns(
    console: ReportConsole,
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numbers: Sequence[int] = (),
    gap: int = 2,
    least: Mapping[int, int] | None = None,
    most: Mapping[int, int] | None = None,
) -> None:
    """Print rows under titles; where they do not fit, the widest text columns are shortened.

    Args:
        console: Where to; nothing is wider than it, as far as numbers allow.
        titles: One for each column, safe or not.
        rows: Their texts, safe or not.
        numbers: Places of the columns that are set to the right and never shortened.
        gap: Cells between columns.
        least: Place of a column → cells below which it is not shortened; 10 for the others.
        most: Place of a column → cells beyond which it is shortened wherever there is room.
    """
    lines = _lines(titles, rows)
    widths = _widths(lines, most or {})
    floors = _floors(widths, numbers, least or {})
    over = _total(widths, gap) - console.width
    while over > 0:
        cuttable = [place for place, width in enumerate(widths) if width > floors[place]]
        if not cuttable:
            break
        widest = max(cuttable, key=lambda place: widths[place])
        others = [widths[place] for place in cuttable if widths[place] < widths[widest]]
        cut = min(over, max(1, widths[widest] - max([floors[widest], *others])))
        widths[widest] -= cut
        over -= cut
    for line in lines:
        console.say(_row(line, widths, numbers, gap))


def fit_columns(
    console: ReportConsole,
    titles: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    numbers: Sequence[int] = (),
    gap: int = 2,
    least: Mapping[int, int] | None = None,
) -> bool:
    """Whether `print_columns` can print a table that is no wider than the console."""
    widths = _widths(_lines(titles, rows), {})
    return _total(_floors(widths, numbers, least or {}), gap) <= console.width


def print_records(
    console: ReportConsole, titles: Sequence[str], rows: Sequence[Sequence[str]]
) -> None:
    """Print a block for each row: a line for each column that holds anything."""
    from rich.cells import cell_len

    from tracedance_sdk.report import in_one_line

    titles = [in_one_line(title) for title in titles]
    width = max((cell_len(title) for title in titles), default=0)
    for number, row in enumerate(rows):
        if number:
            console.say("")
        for title, cell in zip(titles, row, strict=True):
            if cell:
                room = " " * (width - cell_len(title))
                console.say(f"{title}{room}  {in_one_line(cell)}", hang=width + 2)


def _lines(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    from tracedance_sdk.report import in_one_line

    return [tuple(in_one_line(cell) for cell in row) for row in (titles, *rows)]


def _widths(lines: Sequence[Sequence[str]], most: Mapping[int, int]) -> list[int]:
    from rich.cells import cell_len

    found = [max(cell_len(line[place]) for line in lines) for place in range(len(lines[0]))]
    return [min(width, most.get(place, width)) for place, width in enumerate(found)]


def _floors(widths: Sequence[int], numbers: Sequence[int], least: Mapping[int, int]) -> list[int]:
    return [
        width if place in numbers else min(width, least.get(place, _LEAST))
        for place, width in enumerate(widths)
    ]


def _total(widths: Sequence[int], gap: int) -> int:
    return sum(widths) + gap * (len(widths) - 1)


def _row(line: Sequence[str], widths: Sequence[int], numbers: Sequence[int], gap: int) -> str:
    from rich.cells import cell_len

    from tracedance_sdk.report import shorten_middle

    cells = []
    for place, cell in enumerate(line):
        text = shorten_middle(cell, widths[place])
        room = " " * (widths[place] - cell_len(text))
        cells.append(room + text if place in numbers else text + room)
    return (" " * gap).join(cells).rstrip()

"""Tables of plain columns that fit the console."""

from __future__ import annotations

from collections.abc import Sequence
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
) -> None:
    """Print rows under titles; where they do not fit, the widest text columns are shortened.

    Args:
        console: Where to; nothing is wider than it, as far as numbers allow.
        titles: One for each column.
        rows: Their texts, safe or not.
        numbers: Places of the columns that are set to the right and never shortened.
        gap: Cells between columns.
    """
    from rich.cells import cell_len

    from tracedance_sdk.report import in_one_line, shorten_middle

    lines = [tuple(titles), *(tuple(in_one_line(cell) for cell in row) for row in rows)]
    widths = [max(cell_len(line[place]) for line in lines) for place in range(len(titles))]
    texts = [place for place in range(len(titles)) if place not in numbers]
    over = sum(widths) + gap * (len(widths) - 1) - console.width
    while over > 0 and texts:
        widest = max(texts, key=lambda place: widths[place])
        others = [widths[place] for place in texts if widths[place] < widths[widest]]
        floor = max([_LEAST, *others])
        if widths[widest] <= _LEAST:
            break
        cut = min(over, max(1, widths[widest] - floor))
        widths[widest] -= cut
        over -= cut
    for line in lines:
        cells = []
        for place, cell in enumerate(line):
            text = shorten_middle(cell, widths[place])
            room = " " * (widths[place] - cell_len(text))
            cells.append(room + text if place in numbers else text + room)
        console.say((" " * gap).join(cells).rstrip())

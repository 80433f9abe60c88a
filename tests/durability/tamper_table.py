"""Print what `tracedance verify` says of every way to tamper with a journal.

    python tests/durability/tamper_table.py

A cell names the break and the line it is found at. "open end" is exit code 3: nothing is broken,
and nothing says whether more was there; "refused" is exit code 2.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.journal.tampering import SETTINGS, tamper_table


def main() -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        rows = tamper_table(Path(folder))
    table = [("edit", [setting.name for setting in SETTINGS]), *rows]
    widths = [max(len(cells[column]) for _, cells in table) for column in range(len(SETTINGS))]
    first = max(len(name) for name, _ in table)
    for name, cells in table:
        padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        print("  ".join((name.ljust(first), *padded)).rstrip())


if __name__ == "__main__":
    main()

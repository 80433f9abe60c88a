"""`tracedance sql`: ask a store in SQL."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from tracedance_sdk.cli.counts import count
from tracedance_sdk.cli.query_output import cell_text, csv_line, json_line

if TYPE_CHECKING:
    from tracedance_sdk.store import Selection

_EXIT_CODES: Final = """\b
Exit codes:
  0  answered
  2  wrong use, no store, or a query that is refused
"""
_CELL: Final = 200


@click.command(name="sql", epilog=_EXIT_CODES)
@click.argument("store", type=click.Path(path_type=Path))
@click.argument("query", metavar="SELECT")
@click.option("--json", "form", flag_value="json", help="Print one JSON object a row.")
@click.option("--csv", "form", flag_value="csv", help="Print CSV with a header.")
def sql(store: Path, query: str, *, form: str | None) -> int:
    """Ask the views traces, turns, calls and features of a store with one SELECT.

    The columns are listed in the page on the store. Features that the store
    lacks are derived first, as tracedance index does.
    """
    from tracedance_sdk.store import TraceStore

    found = TraceStore.open(store).select(query, apart=True)
    if form == "json":
        for row in found.dicts():
            click.echo(json_line(row))
    elif form == "csv":
        _print_csv(found)
    else:
        _print(found)
    return 0


def _print(found: Selection) -> None:
    from tracedance_sdk.cli.columns import fit_columns, print_columns, print_records
    from tracedance_sdk.report import report_console

    console = report_console()
    rows = [[_cell(value) for value in row] for row in found.rows]
    numbers = [
        place
        for place in range(len(found.columns))
        if found.rows and all(isinstance(row[place], (int, float)) for row in found.rows)
    ]
    # Half an id finds nothing.
    whole = {place: _CELL for place, name in enumerate(found.columns) if name.endswith("id")}
    if fit_columns(console, found.columns, rows, numbers=numbers, least=whole):
        print_columns(console, found.columns, rows, numbers=numbers, least=whole)
    else:
        print_records(console, found.columns, rows)
    console.say(count(len(rows), "row"))


def _cell(value: Any) -> str:
    return cell_text(value)[:_CELL]


def _print_csv(found: Selection) -> None:
    """Print CSV: as it is to a file or pipe, with escapes to a terminal, which would obey it."""
    from tracedance_sdk.report import visible

    to_terminal = sys.stdout.isatty()
    for row in (found.columns, *found.rows):
        cells = [cell_text(value) for value in row]
        line = csv_line(visible(cell) if to_terminal else cell for cell in cells)
        click.echo(line, color=True)

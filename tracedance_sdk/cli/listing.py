"""`tracedance ls`: what a store holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from tracedance_sdk.cli.counts import count

if TYPE_CHECKING:
    from tracedance_sdk.report import ReportConsole
    from tracedance_sdk.store import TraceStore

_EXIT_CODES: Final = """\b
Exit codes:
  0  done
  2  wrong use, no store, or a condition that is refused
"""
_COLUMNS: Final = ("trace_id", "agent", "task_id", "started_at", "turns", "calls", "failed_calls")
_TITLES: Final = ("Trace", "agent", "task", "started", "turns", "calls", "errors")
_FITNESS: Final = ("reading", "grading", "state_grading", "rebuilt_test", "next_turn")
_ID_CHARACTERS: Final = 12
_LEAST_AGENT: Final = 12
_MOST_OF_TASK: Final = 40


@click.command(name="ls", epilog=_EXIT_CODES)
@click.argument("store", type=click.Path(path_type=Path))
@click.option(
    "--where",
    metavar="SQL",
    help="List the traces for which this holds, such as \"agent = 'codex'\"; 'true' for all.",
)
@click.option("--files", is_flag=True, help="List the files that other programs may read.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead.")
def ls(store: Path, *, where: str | None, files: bool, as_json: bool) -> int:
    """List what a store holds: by collector and agent, trace by trace, or file by file."""
    from tracedance_sdk.errors import InvalidOption
    from tracedance_sdk.report import document_text, report_console
    from tracedance_sdk.store import TraceStore

    if files and where is not None:
        raise InvalidOption("give either --files or --where SQL")
    opened = TraceStore.open(store)
    if as_json:
        found = _files(opened) if files else _traces(opened, where) if where else _sources(opened)
        key = "files" if files else "traces" if where else "sources"
        document = {"format": "tracedance.listing", "version": 1, "store": str(store), key: found}
        click.echo(document_text(document))
    elif files:
        for item in opened.files():
            click.echo(str(item.path))
    elif where is not None:
        _print_traces(_traces(opened, where), report_console())
    else:
        _print_sources(_sources(opened), _sessions(opened), report_console())
    return 0


def _files(store: TraceStore) -> list[dict[str, Any]]:
    return [{**item._asdict(), "path": str(item.path)} for item in store.files()]


def _sources(store: TraceStore) -> list[dict[str, Any]]:
    return [item._asdict() for item in store.summaries()]


def _sessions(store: TraceStore) -> int:
    """Return how many sessions there are: one may hold traces of several agents."""
    return int(store.select("SELECT count(DISTINCT family) FROM traces").rows[0][0])


def _traces(store: TraceStore, where: str) -> list[dict[str, Any]]:
    columns = ", ".join(_COLUMNS)
    # The condition comes first, so that it is what an error quotes.
    sql = f"""WITH chosen AS (SELECT * FROM traces WHERE ({where}\n))
        SELECT {columns} FROM chosen ORDER BY started_at, trace_id"""  # noqa: S608 - the store runs nothing but one SELECT
    return [
        {**row, "started_at": row["started_at"] and row["started_at"].isoformat()}
        for row in store.select(sql).dicts()
    ]


def _print_sources(found: list[dict[str, Any]], sessions: int, console: ReportConsole) -> None:
    from tracedance_sdk.cli.columns import fit_columns, print_columns, print_records

    numbers = ("sessions", "traces", "turns", "calls", *(f"fit_{name}" for name in _FITNESS))
    rows = [
        (item["agent"], item["collector"] or "-", *(f"{item[name]:,}" for name in numbers))
        for item in found
    ]
    if len(rows) > 1:
        sums = (f"{sum(item[name] for item in found):,}" for name in numbers[1:])
        rows.append(("all", "", f"{sessions:,}", *sums))
    titles = ("Agent", "by", "sess.", "traces", "turns", "calls")
    fit = ("read", "grade", "state", "rebuilt", "next")
    places = range(2, 2 + len(numbers))
    least = {0: _LEAST_AGENT}
    if fit_columns(console, (*titles, *fit), rows, numbers=places, gap=1, least=least):
        print_columns(console, (*titles, *fit), rows, numbers=places, gap=1, least=least)
    else:
        print_records(console, (*titles, *fit), rows)
    size = sum(item["document_bytes"] for item in found)
    console.say(f"{count(sum(item['traces'] for item in found), 'trace')}, {size:,} bytes of JSON")


def _print_traces(found: list[dict[str, Any]], console: ReportConsole) -> None:
    from tracedance_sdk.cli.choosing import short_ids
    from tracedance_sdk.cli.columns import fit_columns, print_columns, print_records

    ids = short_ids((row["trace_id"] for row in found), least=_ID_CHARACTERS)
    rows = [
        (
            ids[row["trace_id"]],
            row["agent"] or "-",
            row["task_id"] or "-",
            (row["started_at"] or "-")[:16].replace("T", " "),
            *(f"{row[name]:,}" for name in _COLUMNS[4:]),
        )
        for row in found
    ]
    longest = max((len(row[0]) for row in rows), default=0)
    least = {0: longest, 1: _LEAST_AGENT, 3: len("2026-01-17 09:30")}
    most = {2: _MOST_OF_TASK}
    whole = {place: most.get(place, console.width) for place in range(4)}
    gap = 2 if fit_columns(console, _TITLES, rows, numbers=range(4, 7), least=whole) else 1
    if fit_columns(console, _TITLES, rows, numbers=range(4, 7), gap=gap, least=least):
        print_columns(console, _TITLES, rows, numbers=range(4, 7), gap=gap, least=least, most=most)
    else:
        print_records(console, _TITLES, rows)
    console.say(count(len(rows), "trace"))

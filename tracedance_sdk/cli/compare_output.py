"""What `tracedance compare` prints: what is left out first, then the lines, then who changed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import click

from tracedance_sdk.cli.columns import fit_columns, print_columns, print_records
from tracedance_sdk.cli.counts import count
from tracedance_sdk.grading import ResultSet
from tracedance_sdk.report import (
    COMPARED_NUMBERS,
    COMPARED_TITLES,
    Comparison,
    ReportConsole,
    advice_lines,
    change_cells,
    compared_cells,
    comparison_document,
    comparison_verdict_text,
    document_text,
    in_one_line,
    line_title,
    report_console,
    sample_lines,
    shorten,
)

_MOST_CHANGES: Final = 10
_MOST_LEFT_OUT: Final = 30
_MOST_BESIDE: Final = 50
_MOST_REASON: Final = 160
_LEAST_NAME: Final = 24
_LEAST_VERDICT: Final = 20


class Compared(NamedTuple):
    """A comparison, what it compared, and the exit code of the verb."""

    paths: tuple[Path, Path]
    sets: tuple[ResultSet, ResultSet]
    comparison: Comparison
    exit_code: int


def print_comparison(compared: Compared, *, show_all: bool, as_json: bool) -> None:
    """Print a comparison.

    Args:
        compared: The comparison.
        show_all: List every changed subject, not only the first 10.
        as_json: Print one document instead of tables.
    """
    comparison = compared.comparison
    most = None if show_all else _MOST_CHANGES
    if as_json:
        document = comparison_document(comparison, most_changes=most)
        paths = dict(zip("ab", map(str, compared.paths), strict=True))
        click.echo(document_text({**document, **paths, "exit_code": compared.exit_code}))
        return
    console = report_console()
    for name, path, results in zip("AB", compared.paths, compared.sets, strict=True):
        command = in_one_line(str(results.manifest.get("command") or "a result set"))
        told = f"{name}  {in_one_line(str(path))} ({shorten(command, 40)}, "
        console.say(f"{told}{count(len(results.rows), 'row')})", hang=3)
    console.say(f"paired by {comparison.paired_by}")
    for note in comparison.notes:
        console.say(f"note: {in_one_line(note)}", style="yellow", hang=2)
    _print_left_out(comparison, console)
    _print_lines(comparison, console)
    _print_changes(comparison, console, most)
    console.say("")
    console.say(in_one_line(comparison_verdict_text(comparison)), style="bold", hang=2)
    if compared.exit_code != comparison.exit_code:
        console.say("exit code 3: something was left out, and --fail-on-missing is given")


def _print_left_out(comparison: Comparison, console: ReportConsole) -> None:
    if not comparison.left_out:
        return
    console.say("")
    rows = []
    for item in comparison.left_out[:_MOST_LEFT_OUT]:
        of = "" if item.name is None else line_title(item.name)
        rows.append((f"{item.reason} ({item.what})", of, f"{item.old:,}", f"{item.new:,}"))
    print_columns(console, ("Left out", "of", "A", "B"), rows, numbers=(2, 3))
    _print_rest(console, len(comparison.left_out) - len(rows), "reasons")


def _print_lines(comparison: Comparison, console: ReportConsole) -> None:
    console.say("")
    level = f"{100 * comparison.plan.level:g} %"
    titles = tuple(f"{level} interval" if name == "interval" else name for name in COMPARED_TITLES)
    _print_table(console, titles, [compared_cells(line) for line in comparison.lines])
    for text in (*sample_lines(comparison), *advice_lines(comparison)):
        console.say(in_one_line(text), hang=2)
    if comparison.beside:
        console.say("\nBeside, deciding nothing; p not corrected", style="bold")
        cells = [compared_cells(line)[:7] for line in comparison.beside[:_MOST_BESIDE]]
        _print_table(console, titles[:7], cells)
        _print_rest(console, len(comparison.beside) - len(cells), "lines")


def _print_table(
    console: ReportConsole, titles: Sequence[str], rows: Sequence[Sequence[str]]
) -> None:
    numbers = [place for place in COMPARED_NUMBERS if place < len(titles)]
    least = {0: _LEAST_NAME, len(COMPARED_TITLES) - 1: _LEAST_VERDICT}
    if fit_columns(console, titles, rows, numbers=numbers, least=least):
        print_columns(console, titles, rows, numbers=numbers, least=least)
    else:
        print_records(console, titles, rows)


def _print_changes(comparison: Comparison, console: ReportConsole, most: int | None) -> None:
    changes = comparison.changes
    if not changes:
        return
    n_worse = sum(change.difference < 0 for change in changes)
    head = f"\n{count(len(changes), 'subject')} changed: {n_worse:,} worse, "
    console.say(f"{head}{len(changes) - n_worse:,} better", style="bold")
    rows = []
    for change in changes[:most]:
        *cells, why = change_cells(change)
        rows.append((*cells, shorten(in_one_line(why), _MOST_REASON)))
    print_columns(console, ("", "Subject", "A", "B", "Why"), rows, numbers=(2, 3))
    _print_rest(console, len(changes) - len(rows), "subjects; --all lists them")


def _print_rest(console: ReportConsole, number: int, what: str) -> None:
    if number > 0:
        console.say(f"and {number:,} more {what}")

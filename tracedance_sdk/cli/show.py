"""`tracedance show`: traces turn by turn, and result sets item by item."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from tracedance_sdk.cli.number_options import whole
from tracedance_sdk.errors import InvalidOption

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tracedance_sdk.cli.show_results import ItemFilter

_EXIT_CODES: Final = """\b
Exit codes:
  0  shown
  2  wrong use, or nothing like that there
  3  shown, but a source could not be read, or a trace has no such turn
"""
_LIMIT: Final = 20
_VERDICTS: Final = ("pass", "fail", "critical", "inconclusive", "error", "missing")


@click.command(name="show", epilog=_EXIT_CODES)
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--full", is_flag=True, help="Do not shorten texts, arguments and results.")
@click.option(
    "--trace",
    "--subject",
    "trace_id",
    metavar="ID",
    help="Only this trace: its id, the beginning of it, or its id at the source.",
)
@click.option(
    "--turn",
    type=whole(0),
    metavar="N",
    help="Only the turn with index N: of a trace with its neighbours, whole.",
)
@click.option("--instance", metavar="ID", help="Of results: only this instance, file or test.")
@click.option(
    "--verdict",
    type=click.Choice(_VERDICTS),
    help="Of results: only items that a grader says this of.",
)
@click.option(
    "--grader",
    "graders",
    multiple=True,
    metavar="PATTERN",
    help="Of results: only graders like this, such as 'judge:*'; may be repeated.",
)
@click.option(
    "--limit",
    type=whole(1),
    metavar="N",
    help=f"Of results: so many items at most.  [default: {_LIMIT}]",
)
@click.option("--offset", type=whole(0), metavar="N", help="Of results: pass over N items.")
@click.option("--json", "as_json", is_flag=True, help="Of results: print one JSON document.")
def show(
    paths: tuple[Path, ...], *, full: bool, trace_id: str | None, turn: int | None, **results: Any
) -> int:
    """Show traces turn by turn, or result sets item by item.

    PATHS are trace files, folders of them, journals, or stores: who said what, which calls were
    made, what changed. Or they are result sets, as evaluate, next-turn, judge and replay write
    them: what each grader and judge says of each run or reply, and why. Turns are counted from 0.
    """
    from tracedance_sdk.cli.show_results import ItemFilter, result_folder

    folders = [result_folder(path) for path in paths]
    sets = [folder for folder in folders if folder is not None]
    others = [path for path, folder in zip(paths, folders, strict=True) if folder is None]
    if sets and others:
        raise InvalidOption(
            f"{str(sets[0])!r} holds results and {str(others[0])!r} does not: show one or the other"
        )
    if sets:
        names = ("instance", "graders", "verdict")
        wanted = ItemFilter(trace_id, turn=turn, **{name: results.pop(name) for name in names})
        return _show_results(sets, wanted, full=full, **results)
    for name, value in results.items():
        if value not in (None, False, ()):
            option = {"graders": "grader", "as_json": "json"}.get(name, name)
            raise InvalidOption(
                f"--{option} is for result sets, and {str(paths[0])!r} is none; "
                "--trace ID and --turn N choose among traces"
            )
    return _show_traces(paths, full=full, trace_id=trace_id, turn=turn)


def _show_results(
    folders: Sequence[Path],
    wanted: ItemFilter,
    *,
    full: bool,
    limit: int | None,
    offset: int | None,
    as_json: bool,
) -> int:
    from tracedance_sdk.cli.show_results import shown_sets
    from tracedance_sdk.cli.show_results_output import print_results, results_document
    from tracedance_sdk.report import document_text, report_console

    shown = shown_sets(folders, wanted, offset=offset or 0, limit=limit or _LIMIT)
    if as_json:
        click.echo(document_text(results_document(shown)))
        return 0
    console = report_console()
    for number, one in enumerate(shown):
        if number:
            console.say("\n" + "=" * 40 + "\n")
        print_results(one, console, full=full)
    return 0


def _show_traces(
    paths: Sequence[Path], *, full: bool, trace_id: str | None, turn: int | None
) -> int:
    from tracedance_sdk.cli.complaints import complain
    from tracedance_sdk.cli.sources import collect_traces
    from tracedance_sdk.report import check_turn, print_trace, report_console

    console = report_console()
    shown = broken = 0
    for found in collect_traces(paths, trace_id=trace_id):
        if found.trace is None:
            broken += 1
            complain(str(found.problem))
            continue
        try:
            if turn is not None:
                check_turn(found.trace, turn)
        except InvalidOption as error:
            broken += 1
            complain(str(error))
            continue
        if shown:
            console.say("\n" + "=" * 40 + "\n")
        print_trace(found.trace, console, full=full, turn=turn)
        shown += 1
    if not shown and not broken:
        places = ", ".join(repr(str(path)) for path in paths)
        wanted = "" if trace_id is None else f" with the id {trace_id!r}"
        raise InvalidOption(f"no trace{wanted} in {places}")
    return 2 if not shown else 3 if broken else 0

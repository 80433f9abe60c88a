"""`tracedance show`: one trace turn by turn."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(name="show")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--full", is_flag=True, help="Do not shorten texts, arguments and results.")
@click.option(
    "--trace",
    "trace_id",
    metavar="ID",
    help="Only this trace: its id, the beginning of it, or its id at the source.",
)
def show(paths: tuple[Path, ...], full: bool, trace_id: str | None) -> int:
    """Show traces turn by turn: who said what, which calls were made, what changed.

    PATHS are trace files, folders of them, journals, or stores.
    """
    from tracedance_sdk.cli.complaints import complain
    from tracedance_sdk.cli.sources import collect_traces
    from tracedance_sdk.errors import InvalidOption
    from tracedance_sdk.report import print_trace, report_console

    console = report_console()
    shown = broken = 0
    for found in collect_traces(paths, trace_id=trace_id):
        if found.trace is None:
            broken += 1
            complain(str(found.problem))
        else:
            if shown:
                console.say("\n" + "=" * 40 + "\n")
            print_trace(found.trace, console, full=full)
            shown += 1
    if not shown and not broken:
        places = ", ".join(repr(str(path)) for path in paths)
        wanted = "" if trace_id is None else f" with the id {trace_id!r}"
        raise InvalidOption(f"no trace{wanted} in {places}")
    return 2 if not shown else 3 if broken else 0

"""`tracedance export`: write traces in other people's formats."""

from __future__ import annotations

from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from tracedance_sdk.cli.complaints import complain
from tracedance_sdk.cli.counts import count
from tracedance_sdk.cli.wanted import Wanted, wanted_options

if TYPE_CHECKING:
    from tracedance_sdk.cli.export_formats import Export

_EXIT_CODES: Final = """\b
Exit codes:
  0  written
  2  wrong use, nothing to write, or a file that is there already
  3  written, but a source could not be read or a trace could not be written
"""
_FORMATS: Final = ("atif", "openai-chat", "otlp", "trace-json")
_MOST_PROBLEMS: Final = 20


@click.command(name="export", epilog=_EXIT_CODES)
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--to", "form", required=True, type=click.Choice(_FORMATS), help="The format.")
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="The file; compressed when its name ends in .gz. - is standard output.",
)
@wanted_options(tools="recorded", of="Of a store: ")
@click.option("--force", is_flag=True, help="Replace the file when it is there.")
def export(
    sources: tuple[Path, ...],
    *,
    form: str,
    out: Path,
    wanted: Wanted,
    force: bool,
) -> int:
    """Write traces in another format, one JSON document a line.

    SOURCES are stores, trace files, folders, journals: all that the other verbs read. What the
    format has no place for is counted and said.
    """
    from tracedance_sdk.cli.export_formats import Export, write_lines
    from tracedance_sdk.cli.wanted import Missed, wanted_traces
    from tracedance_sdk.errors import InvalidOption

    to_console = str(out) == "-"
    if not to_console and out.exists() and not force:
        raise InvalidOption(f"{str(out)!r} is there already; --force replaces it")
    work, missed = Export(form), Missed()
    lines = work.lines(wanted_traces(sources, wanted, missed))
    first = next(lines, None)
    if first is None:
        for line in work.problems[:_MOST_PROBLEMS]:
            complain(line)
        places = ", ".join(repr(str(path)) for path in sources)
        raise InvalidOption(f"nothing to write: no such trace in {places}")
    if to_console:
        for data in chain([first], lines):
            click.echo(data)
    else:
        write_lines(out, chain([first], lines), force=force)
    _say_losses(work, form, out)
    for line in work.problems[:_MOST_PROBLEMS]:
        complain(line)
    return 3 if work.problems or missed.number else 0


def _say_losses(work: Export, form: str, out: Path) -> None:
    """Say what was written and what was not; beside documents, on standard error."""
    say = partial(click.echo, err=str(out) == "-")
    say(f"{count(work.written, 'trace')} written to {str(out)!r}")
    for what, number in sorted(work.lost.items()):
        say(f"  no place in {form} for {what}: {number:,}")
    for what, number in sorted(work.open.items()):
        say(f"  written all the same: {what}: {number:,}")

"""`tracedance export`: write traces in other people's formats."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import click

from tracedance_sdk.cli.complaints import complain
from tracedance_sdk.cli.counts import count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tracedance_sdk.store import ToolLimit
    from tracedance_sdk.trace import Trace

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
    help="The file; compressed when its name ends in .gz.",
)
@click.option(
    "--trace", "trace_id", metavar="ID", help="Only the trace whose id starts so, or is so."
)
@click.option("--where", metavar="SQL", help="Of a store: only traces for which this holds.")
@click.option(
    "--tools",
    type=click.Choice(("recorded", "known", "inferred")),
    default="recorded",
    show_default=True,
    help="Of a store: the weakest origin of tool definitions.",
)
@click.option("--force", is_flag=True, help="Replace the file when it is there.")
def export(
    sources: tuple[Path, ...],
    *,
    form: str,
    out: Path,
    trace_id: str | None,
    where: str | None,
    tools: ToolLimit,
    force: bool,
) -> int:
    """Write traces in another format, one JSON document a line.

    SOURCES are stores, trace files, folders, journals: all that the other verbs read. What the
    format has no place for is counted and said.
    """
    from tracedance_sdk.cli.export_formats import Export, write_lines
    from tracedance_sdk.errors import InvalidOption

    if out.exists() and not force:
        raise InvalidOption(f"{str(out)!r} is there already; --force replaces it")
    work, missed = Export(form), _Missed()
    lines = work.lines(_traces(sources, _Choice(where, trace_id, tools), missed))
    first = next(lines, None)
    if first is None:
        for line in work.problems[:_MOST_PROBLEMS]:
            complain(line)
        places = ", ".join(repr(str(path)) for path in sources)
        raise InvalidOption(f"nothing to write: no such trace in {places}")
    write_lines(out, chain([first], lines), force=force)
    click.echo(f"{count(work.written, 'trace')} written to {str(out)!r}")
    for what, number in sorted(work.lost.items()):
        click.echo(f"  no place in {form} for {what}: {number:,}")
    for what, number in sorted(work.open.items()):
        click.echo(f"  written all the same: {what}: {number:,}")
    for line in work.problems[:_MOST_PROBLEMS]:
        complain(line)
    return 3 if work.problems or missed.number else 0


class _Missed:
    """Counts what could not be read."""

    number = 0


class _Choice(NamedTuple):
    where: str | None
    trace_id: str | None
    tools: ToolLimit


def _traces(sources: tuple[Path, ...], choice: _Choice, missed: _Missed) -> Iterator[Trace]:
    from tracedance_sdk.cli.choosing import is_chosen
    from tracedance_sdk.cli.sources import collect_traces
    from tracedance_sdk.cli.stores import is_store, stored_traces

    for path in sources:
        if choice.where is not None or is_store(path):
            yield from stored_traces(path, **choice._asdict())
            continue
        for item in collect_traces([path]):
            if item.trace is None:
                missed.number += 1
                if missed.number <= _MOST_PROBLEMS:
                    complain(str(item.problem))
            elif is_chosen(item.trace, choice.trace_id):
                yield item.trace

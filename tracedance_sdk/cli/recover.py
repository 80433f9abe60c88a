"""`tracedance recover`: the traces of a journal, whatever became of its writer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from tracedance_sdk.cli.counts import count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tracedance_sdk.otel import Recovery

_MOST_PROBLEMS: Final = 20
_EXIT_CODES: Final = """\b
Exit codes:
  0  every line was read, a last one torn by a kill aside
  2  wrong use, no journal, another version, or no run in it
  3  records were lost or altered, or a line, a blob or a trace file could not
     be read or written
"""


@click.command(name="recover", epilog=_EXIT_CODES)
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder for the trace files, one per run, named by trace id.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead.")
def recover(path: Path, *, out: Path, as_json: bool) -> int:
    """Write the traces of a journal, torn or not, and leave the journal as it is.

    PATH is a journal folder or one of its files. Every whole record counts; a call without its
    end is an interrupted one. Doing it again writes what is new and hides nothing.
    """
    from tracedance_sdk.cli.complaints import complain
    from tracedance_sdk.otel import recover as write_traces
    from tracedance_sdk.report import document_text, report_console, visible

    found = write_traces(path, out=out)
    if as_json:
        click.echo(document_text(_document(path, found)))
    else:
        console = report_console()
        for line in _lines(found, out):
            console.say(visible(line), hang=2)
        for problem in found.problems[:_MOST_PROBLEMS]:
            complain(problem)
        if len(found.problems) > _MOST_PROBLEMS:
            complain(f"and {len(found.problems) - _MOST_PROBLEMS} more problems")
    if not found.runs:
        complain(f"no run in {str(path)!r}")
        return 2
    return 3 if found.problems or found.missing_blobs else 0


def _lines(found: Recovery, out: Path) -> Iterator[str]:
    yield f"{count(found.runs, 'run')}, {found.open_runs:,} without an end"
    yield f"{count(found.calls, 'call')}, {found.interrupted:,} interrupted"
    yield f"{count(found.records, 'record')}; {count(found.torn, 'file')} torn at the end"
    if found.gaps:
        yield f"{count(found.gaps, 'gap')}: records were lost or altered; tracedance verify tells"
    if found.unchecked:
        yield f"{count(found.unchecked, 'file')} under a key not at hand: edits go unnoticed"
    if found.missing_blobs:
        yield f"{count(found.missing_blobs, 'blob')} missing or damaged"
    written = count(len(found.written), "trace")
    yield f"{written} written to {str(out)!r}, {len(found.unchanged):,} unchanged"
    for path in found.kept:
        yield f"kept {path}: it holds more than the journal does now"


def _document(path: Path, found: Recovery) -> dict[str, Any]:
    return {
        "format": "tracedance.recovery",
        "version": 1,
        "path": str(path),
        **found._asdict(),
        "written": [str(file) for file in found.written],
        "unchanged": [str(file) for file in found.unchanged],
        "kept": [str(file) for file in found.kept],
    }

"""`tracedance prune`: remove what is old from a journal or a store."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from tracedance_sdk.cli.counts import count
from tracedance_sdk.cli.stores import is_store

if TYPE_CHECKING:
    from tracedance_sdk.journal import Pruning

_MOST_LINES: Final = 20
_AGE: Final = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)([wdhms])")
_UNITS: Final = {"w": "weeks", "d": "days", "h": "hours", "m": "minutes", "s": "seconds"}
_EXIT_CODES: Final = """\b
Exit codes:
  0  done, also when there was nothing to remove
  2  wrong use, no journal, another version, or a key that does not match
  3  something could not be removed
"""


@click.command(name="prune", epilog=_EXIT_CODES)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--older-than",
    required=True,
    metavar="AGE",
    help="A number and a unit: 30d, 12h, 90m, 45s, 2w.",
)
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead.")
def prune(folder: Path, *, older_than: str, dry_run: bool, as_json: bool) -> int:
    """Remove journal files whose last record is older than AGE, and blobs left unused.

    A file that is being written stays, whatever its age. Where others of its chain stay, a note
    in the journal tells tracedance verify of the removal; a chain under a key needs it for that in
    TRACEDANCE_JOURNAL_KEY. From a store, traces are taken out that ended before; those without any
    time stay, and their bytes go with tracedance compact, an hour later.
    """
    from tracedance_sdk.cli.complaints import complain
    from tracedance_sdk.journal import journal_key
    from tracedance_sdk.journal import prune as remove_old
    from tracedance_sdk.report import document_text, report_console, visible

    age = _age(older_than)
    if is_store(folder):
        return _prune_store(folder, age, dry_run=dry_run, as_json=as_json)
    found = remove_old(folder, older_than=age, dry_run=dry_run, key=journal_key())
    if as_json:
        click.echo(document_text(_document(folder, found)))
    else:
        console = report_console()
        for line in _lines(found):
            console.say(visible(line), hang=2)
        for problem in found.problems[:_MOST_LINES]:
            complain(problem)
    return 3 if found.problems else 0


def _prune_store(folder: Path, age: timedelta, *, dry_run: bool, as_json: bool) -> int:
    from tracedance_sdk.report import document_text
    from tracedance_sdk.store import TraceStore

    store = TraceStore.open(folder)
    # One moment, so that a trace is not counted by one clock and removed by another.
    before = datetime.now(UTC) - age
    if dry_run:
        last = "coalesce(ended_at, started_at)"
        sql = f"SELECT count(*) FILTER ({last} < TIMESTAMPTZ '{before.isoformat()}'), count(*) FILTER ({last} IS NULL) FROM traces"  # noqa: E501, S608 - a time of ours
        removed, undated = store.select(sql).rows[0]
    else:
        removed, undated = store.prune(before)
    if as_json:
        document = {"removed": removed, "undated": undated, "is_dry_run": dry_run}
        named = {"format": "tracedance.pruning", "version": 1, "path": str(folder), **document}
        click.echo(document_text(named))
        return 0
    verb = "would take out" if dry_run else "took out"
    without = f"; {undated:,} without any time stay" if undated else ""
    click.echo(f"{verb} {count(removed, 'trace')}{without}")
    return 0


def _age(text: str) -> timedelta:
    from tracedance_sdk.errors import InvalidOption

    found = _AGE.fullmatch(text.strip().lower())
    if found is None:
        raise InvalidOption(
            f"--older-than {text!r} is no age; give a number and a unit, such as 30d"
        )
    return timedelta(**{_UNITS[found[2]]: float(found[1])})


def _lines(found: Pruning) -> Iterator[str]:
    for path in found.files[:_MOST_LINES]:
        yield f"  {path}"
    if len(found.files) > _MOST_LINES:
        yield f"  and {len(found.files) - _MOST_LINES} more"
    for path, reason in found.kept[:_MOST_LINES]:
        yield f"  kept {path}: {reason}"
    verb = "would remove" if found.is_dry_run else "removed"
    files, blobs = count(len(found.files), "file"), count(len(found.blobs), "blob")
    yield f"{verb} {files} and {blobs}, {count(found.bytes, 'byte')}"


def _document(folder: Path, found: Pruning) -> dict[str, Any]:
    return {
        "format": "tracedance.pruning",
        "version": 1,
        "path": str(folder),
        "files": [str(path) for path in found.files],
        "blobs": [str(path) for path in found.blobs],
        "bytes": found.bytes,
        "kept": [{"path": str(path), "reason": reason} for path, reason in found.kept],
        "problems": list(found.problems),
        "is_dry_run": found.is_dry_run,
    }

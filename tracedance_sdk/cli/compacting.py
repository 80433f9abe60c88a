"""`tracedance compact` and `tracedance index`: keep a store small and its features current."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from tracedance_sdk.cli.counts import count
from tracedance_sdk.cli.number_options import whole

_EXIT_CODES: Final = """\b
Exit codes:
  0  done, also when there was nothing to do
  2  wrong use, no store, or one that cannot be written
"""


@click.command(name="compact", epilog=_EXIT_CODES)
@click.argument("store", type=click.Path(path_type=Path))
def compact(store: Path) -> int:
    """Merge small partitions of a store and clear away what nobody needs any more.

    Files that were in use within the last hour stay, so that whoever reads is not disturbed.
    """
    from tracedance_sdk.store import TraceStore

    found = TraceStore.open(store).compact()
    click.echo(
        f"{count(found.partitions_before, 'partition')} became {found.partitions:,}, "
        f"{count(found.rows_dropped, 'row')} left behind, "
        f"{count(found.files_removed, 'file')} removed, {count(found.bytes_removed, 'byte')}"
    )
    if found.clearing_skipped:
        click.echo("nothing was cleared away: others write to the store; run it again later")
    return 0


@click.command(name="index", epilog=_EXIT_CODES)
@click.argument("store", type=click.Path(path_type=Path))
@click.option(
    "--jobs",
    type=whole(1),
    default=1,
    show_default=True,
    metavar="N",
    help="Processes to share the partitions among.",
)
@click.option("--force", is_flag=True, help="Derive those of all partitions again.")
def index(store: Path, *, jobs: int, force: bool) -> int:
    """Derive the columns of the view features where they are missing or out of date."""
    from tracedance_sdk.store import TraceStore

    found = TraceStore.open(store).index(processes=jobs, force=force)
    click.echo(
        f"features of {count(found.derived, 'partition')} derived, {found.kept:,} kept; "
        f"{count(found.duplicates, 'message')} that several sessions have word for word"
    )
    return 0

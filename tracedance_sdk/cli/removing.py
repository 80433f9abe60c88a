"""`tracedance rm`: take traces out of a store."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from tracedance_sdk.cli.counts import count

_EXIT_CODES: Final = """\b
Exit codes:
  0  taken out
  1  not confirmed; nothing was done
  2  wrong use, no store, or not one trace for an id; nothing was done
"""
_MOST_NAMED: Final = 10


@click.command(name="rm", epilog=_EXIT_CODES)
@click.argument("store", type=click.Path(path_type=Path))
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
@click.option("--yes", is_flag=True, help="Do not ask.")
def rm(store: Path, *, ids: tuple[str, ...], yes: bool) -> int:
    """Take traces out of a store, by their ids or the beginnings of them.

    Their bytes go with tracedance compact, an hour later. Imported again, they come back.
    """
    from tracedance_sdk.report import in_one_line
    from tracedance_sdk.store import TraceStore

    opened = TraceStore.open(store)
    if not yes:
        from tracedance_sdk.cli.choosing import described

        for trace_id in ids[:_MOST_NAMED]:
            click.echo(in_one_line(described(opened.get(trace_id))))
        if len(ids) > _MOST_NAMED:
            click.echo(f"and {len(ids) - _MOST_NAMED} more")
        if not click.confirm(f"take {count(len(ids), 'trace')} out of {str(store)!r}?", err=True):
            return 1
    click.echo(f"{count(opened.remove(ids), 'trace')} taken out")
    return 0

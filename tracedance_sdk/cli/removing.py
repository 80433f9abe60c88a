"""`tracedance rm`: take traces out of a store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from tracedance_sdk.cli.counts import count

if TYPE_CHECKING:
    from tracedance_sdk.store import TraceStore

_EXIT_CODES: Final = """\b
Exit codes:
  0  taken out
  1  not confirmed; nothing was done
  2  wrong use, no store, or not one trace for an id; nothing was done
"""
_MOST_NAMED: Final = 10


@click.command(name="rm", epilog=_EXIT_CODES)
@click.argument("store", type=click.Path(path_type=Path))
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--where", metavar="SQL", help="Take out the traces for which this holds.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def rm(store: Path, *, ids: tuple[str, ...], where: str | None, yes: bool) -> int:
    """Take traces out of a store: by id, the beginning of it, the id at the source, or by SQL.

    Their bytes go with tracedance compact, an hour later. Imported again, they come back.
    """
    from tracedance_sdk.errors import InvalidOption
    from tracedance_sdk.store import TraceStore

    if bool(ids) is (where is not None):
        raise InvalidOption("say which: either ID... or --where SQL")
    opened = TraceStore.open(store)
    wanted = list(ids) if where is None else _holding(opened, where)
    if not wanted:
        click.echo("0 traces taken out: the condition holds for none")
        return 0
    if not yes:
        _show(opened, wanted)
        if not _is_confirmed(f"take {count(len(wanted), 'trace')} out of {str(store)!r}?"):
            return 1
    click.echo(f"{count(opened.remove(wanted), 'trace')} taken out")
    return 0


def _holding(store: TraceStore, where: str) -> list[str]:
    sql = f"SELECT trace_id FROM traces WHERE ({where}\n) ORDER BY started_at, trace_id"  # noqa: S608 - the store runs nothing but one SELECT
    return [trace_id for (trace_id,) in store.select(sql, most_rows=max(1, len(store))).rows]


def _show(store: TraceStore, wanted: list[str]) -> None:
    """Print what is about to go; an id that means no trace, or several, ends it here."""
    from tracedance_sdk.cli.choosing import described
    from tracedance_sdk.report import in_one_line

    for trace_id in wanted[:_MOST_NAMED]:
        click.echo(in_one_line(described(store.get(trace_id))))
    if len(wanted) > _MOST_NAMED:
        click.echo(f"and {len(wanted) - _MOST_NAMED} more")


def _is_confirmed(question: str) -> bool:
    """Ask; without anybody who could answer, that is wrong use."""
    from tracedance_sdk.errors import InvalidOption

    try:
        return click.confirm(question, err=True)
    except click.Abort:
        click.echo(err=True)
        raise InvalidOption("nobody is there to confirm it; --yes does it unasked") from None

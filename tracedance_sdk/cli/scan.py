"""`tracedance scan`: find out in which traces of a store a behaviour occurs."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from tracedance_sdk.cli.complaints import complain
from tracedance_sdk.cli.number_options import whole

_EXIT_CODES: Final = """\b
Exit codes:
  0    every place was looked at, whether something was found or not
  2    wrong use, no such behaviour, or an empty store
  3    some places could not be looked at; each is named
  130  interrupted; with --out, the next run goes on where this one was
"""
_FILE: Final = click.Path(path_type=Path)


@click.command(name="scan", epilog=_EXIT_CODES)
@click.argument("store", type=_FILE)
@click.option(
    "--behavior",
    "names",
    multiple=True,
    default=("all",),
    show_default=True,
    metavar="ID|FILE|all",
    help="Which to look for; may be given again.",
)
@click.option("--param", "given", multiple=True, metavar="NAME=VALUE", help="Of the behaviour.")
@click.option("--where", metavar="SQL", help="Only traces that this holds for, by view traces.")
@click.option(
    "--by",
    type=click.Choice(["week", "agent", "collector", "project"]),
    multiple=True,
    help="One rate for each; may be given again.",
)
@click.option("--examples", type=whole(0), default=0, metavar="N", help="Show so many of each.")
@click.option(
    "--per-session", type=whole(), default=2, show_default=True, metavar="N", help="Kept."
)
@click.option("--per-project", type=whole(), metavar="N", help="Kept of one project.")
@click.option("--per-user", type=whole(), metavar="N", help="Kept of one user.")
@click.option("--keep-duplicates", is_flag=True, help="Keep contexts that are nearly the same.")
@click.option("--seed", type=whole(), default=0, show_default=True, help="Of the order.")
@click.option("--jobs", type=whole(1), default=1, show_default=True, help="Processes.")
@click.option("--out", type=_FILE, metavar="DIR", help="Write occurrences.jsonl; resumable.")
@click.option("--no-redact", is_flag=True, help="Keep secrets in examples as they are.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead.")
def scan_command(
    store: Path,
    *,
    names: tuple[str, ...],
    given: tuple[str, ...],
    where: str | None,
    by: tuple[str, ...],
    examples: int,
    per_session: int,
    per_project: int | None,
    per_user: int | None,
    keep_duplicates: bool,
    seed: int,
    jobs: int,
    out: Path | None,
    no_redact: bool,
    as_json: bool,
) -> int:
    """Find out in which traces of a store a behaviour occurs, and how often.

    Behaviours are the catalogue's, by id or name, or files of your own. A hit is an occurrence
    that rules found and nobody has confirmed. Near-duplicates and what is beyond --per-session,
    --per-project and --per-user count in the rates and are marked as left out of benchmarks.
    """
    from tracedance_sdk.behaviors import THRESHOLD, Caps, scan_store
    from tracedance_sdk.cli.scan_jobs import (
        check_scan_out,
        held_for_scan,
        scan_progress,
        wanted_behaviors,
        write_scan,
    )
    from tracedance_sdk.cli.scan_output import Examples, print_scan, scan_document
    from tracedance_sdk.store import TraceStore

    wanted = wanted_behaviors(names, given)
    opened = TraceStore.open(store)
    check_scan_out(out, store)
    if not len(opened):
        complain(f"the store {str(store)!r} is empty; tracedance import brings traces into it")
        return 2
    dimensions = tuple(dict.fromkeys(by))
    caps = Caps(
        session=per_session if per_session > 0 else None,
        project=per_project,
        user=per_user,
        similarity=None if keep_duplicates else THRESHOLD,
        seed=seed,
    )
    with held_for_scan(out), scan_progress() as on_partition:
        found = scan_store(
            opened,
            wanted,
            caps=caps,
            where=where,
            processes=jobs,
            kept=None if out is None else out / "partitions",
            on_partition=on_partition,
        )
        if out is not None:
            write_scan(out, found, wanted, caps=caps, where=where)
    if as_json:
        click.echo(scan_document(found, wanted, by=dimensions))
    else:
        shown = Examples(examples, opened, is_masked=not no_redact)
        print_scan(found, wanted, by=dimensions, examples=shown)
    for error in found.errors:
        complain(error)
    return 3 if found.errors else 0

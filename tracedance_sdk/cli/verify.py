"""`tracedance verify`: is a journal as it was written?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from tracedance_sdk.cli.counts import count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tracedance_sdk.journal import OpenTail, Verification

_MOST_LINES: Final = 20
_EXIT_CODES: Final = """\b
Exit codes:
  0  nothing is broken, and every end is vouched for
  1  at least one break
  2  wrong use, no journal, another version, or a key that does not match
  3  no break, but an end that nothing vouches for
"""


@click.command(name="verify", epilog=_EXIT_CODES)
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "--expect",
    multiple=True,
    metavar="HEAD",
    help="A HEAD that close() returned; it must be in the journal. May be given again.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead.")
def verify(path: Path, *, expect: tuple[str, ...], as_json: bool) -> int:
    """Check a journal against its own hashes and name the first break.

    PATH is a journal folder or one of its files. A journal under a key needs it in
    TRACEDANCE_JOURNAL_KEY (@FILE for a key in a file).
    """
    from tracedance_sdk.journal import journal_key
    from tracedance_sdk.journal import verify as check
    from tracedance_sdk.report import document_text

    found = check(path, key=journal_key(), expect=expect)
    if as_json:
        click.echo(document_text(_document(path, found)))
    else:
        _print(found)
    return 1 if found.breaks else 3 if found.open_tails else 0


def _print(found: Verification) -> None:
    from tracedance_sdk.report import report_console, visible

    console = report_console()
    for line in _lines(found):
        console.say(visible(line), hang=2)


def _lines(found: Verification) -> Iterator[str]:
    if found.first_break is not None:
        yield f"BROKEN {found.first_break}"
        further = found.breaks[1:]
        yield from (f"  also {item}" for item in further[:_MOST_LINES])
        if len(further) > _MOST_LINES:
            yield f"  and {len(further) - _MOST_LINES} more"
    elif found.open_tails:
        yield "intact, as far as it goes"
    else:
        yield "intact"
    for tail in found.open_tails[:_MOST_LINES]:
        yield f"open   {_tail_text(tail)} @ {tail.path}:{tail.line}"
    if len(found.open_tails) > _MOST_LINES:
        yield f"  and {len(found.open_tails) - _MOST_LINES} more open ends"
    for other in found.others[:_MOST_LINES]:
        yield f"note   no journal, not looked at: {other}"
    if found.pruned:
        yield f"note   pruned by tracedance prune: {count(found.pruned, 'file')}"
    chain = "HMAC-SHA256 under the key" if found.is_keyed else "SHA-256 without a key"
    counts = (count(found.files, "file"), count(found.records, "record"))
    yield f"{', '.join(counts)}, {count(found.blobs, 'blob')}; {chain}"
    yield from (f"head   {head}" for head in found.heads[-_MOST_LINES:])


def _tail_text(tail: OpenTail) -> str:
    if tail.is_unvouched:
        return "no expected HEAD vouches for this file: of another chain, or put in"
    if tail.is_being_written:
        return "being written now"
    end = "ends within a line" if tail.is_torn else "no closing record"
    return f"{end}: killed, or cut off; --expect HEAD tells"


def _document(path: Path, found: Verification) -> dict[str, Any]:
    return {
        "format": "tracedance.verification",
        "version": 1,
        "path": str(path),
        "ok": found.ok,
        "breaks": [
            {"path": str(item.path), "line": item.line, "kind": item.kind.value, "what": item.what}
            for item in found.breaks
        ],
        "open_tails": [{**tail._asdict(), "path": str(tail.path)} for tail in found.open_tails],
        "files": found.files,
        "records": found.records,
        "blobs": found.blobs,
        "pruned": found.pruned,
        "others": [str(other) for other in found.others],
        "heads": list(found.heads),
        "is_keyed": found.is_keyed,
    }

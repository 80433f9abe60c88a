"""`tracedance verify`: are journals as they were written?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from tracedance_sdk.cli.counts import count
from tracedance_sdk.errors import InvalidOption, TraceDanceError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

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
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--expect",
    multiple=True,
    metavar="HEAD",
    help="A HEAD that close() returned; it must be in the journal, the only one that is named "
    "then. May be given again.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead.")
def verify(paths: tuple[Path, ...], *, expect: tuple[str, ...], as_json: bool) -> int:
    """Check journals against their own hashes and name the first break of each.

    PATHS are journal folders, or files of them. A journal under a key needs it in
    TRACEDANCE_JOURNAL_KEY (@FILE for a key in a file).
    """
    from tracedance_sdk.cli.complaints import complain
    from tracedance_sdk.report import document_text

    if expect and len(paths) > 1:
        raise InvalidOption(
            f"--expect {expect[0]!r} is a HEAD of one journal, and {len(paths)} paths are given; "
            "verify that journal by itself"
        )
    found, problems = _checked(paths, expect)
    for number, (path, one) in enumerate(found.items()):
        if not as_json:
            _print(one, heading=str(path) if len(paths) > 1 else None, is_first=not number)
    for problem in problems:
        complain(problem)
    if as_json:
        click.echo(document_text(_document(paths, list(found.values()), problems)))
    if any(one.breaks for one in found.values()):
        return 1
    return 2 if problems else 3 if any(one.open_tails for one in found.values()) else 0


def _checked(
    paths: Sequence[Path], expect: Sequence[str]
) -> tuple[dict[Path, Verification], list[str]]:
    """Return what was found of each journal, and why others cannot be checked.

    Raises:
        TraceDanceError: The only one cannot be checked, or the key cannot be read.
    """
    from tracedance_sdk.journal import journal_key
    from tracedance_sdk.journal import verify as check

    key = journal_key()
    found: dict[Path, Verification] = {}
    problems: list[str] = []
    for path in dict.fromkeys(paths):
        try:
            found[path] = check(path, key=key, expect=expect)
        except TraceDanceError as error:
            if len(paths) == 1:
                raise
            problems.append(str(error))
    return found, problems


def _print(found: Verification, *, heading: str | None, is_first: bool) -> None:
    from tracedance_sdk.report import in_one_line, report_console, visible

    console = report_console()
    if heading is not None:
        if not is_first:
            console.say("")
        console.say(in_one_line(heading), style="bold", hang=2)
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


def _document(
    paths: Sequence[Path], found: Sequence[Verification], problems: Sequence[str]
) -> dict[str, Any]:
    """Return what was found of one journal, or of several together."""
    return {
        "format": "tracedance.verification",
        "version": 1,
        "path": str(paths[0]) if len(paths) == 1 else None,
        "paths": [str(path) for path in paths],
        "ok": not problems and all(one.ok for one in found),
        "breaks": [
            {"path": str(item.path), "line": item.line, "kind": item.kind.value, "what": item.what}
            for one in found
            for item in one.breaks
        ],
        "open_tails": [
            {**tail._asdict(), "path": str(tail.path)} for one in found for tail in one.open_tails
        ],
        "files": sum(one.files for one in found),
        "records": sum(one.records for one in found),
        "blobs": sum(one.blobs for one in found),
        "pruned": sum(one.pruned for one in found),
        "others": [str(other) for one in found for other in one.others],
        "heads": [head for one in found for head in one.heads],
        "is_keyed": bool(found) and all(one.is_keyed for one in found),
        "problems": list(problems),
    }

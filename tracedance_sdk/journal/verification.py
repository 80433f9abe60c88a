"""Check a journal: is every line as it was written, in its place, and nothing gone?

What can be proven is stated by the result, see `Verification`. A chain without a key shows damage
and careless edits; whoever rewrites all of it without a key is found only by a HEAD kept elsewhere.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tracedance_sdk.errors import JournalError
from tracedance_sdk.journal.breaks import Break, BreakKind
from tracedance_sdk.journal.file_check import CheckedFile, FileCheck
from tracedance_sdk.journal.files import journal_files
from tracedance_sdk.journal.folder_check import FolderCheck, check_blobs

_HEAD: Final = re.compile(r"[0-9A-Fa-f]{64}")


class OpenTail(NamedTuple):
    """The end of a file that no closing record, later file or HEAD vouches for.

    What is there is checked; nothing says whether more came after it.

    Attributes:
        path: The file.
        line: Its last whole line.
        is_being_written: A process has the file open now. False: it ended without closing it, or
            the end was cut off.
        is_torn: The file ends within a line.
        is_unvouched: HEADs were expected, and none of them vouches for any line of the file. It
            may have been put in as a whole.
    """

    path: Path
    line: int
    is_being_written: bool
    is_torn: bool
    is_unvouched: bool = False


class Verification(NamedTuple):
    """What checking a journal found.

    Attributes:
        breaks: The first break of each file that has one, then breaks between files; the first
            of all is `first_break`.
        files: Journal files looked at.
        records: Whole records read.
        blobs: Large values that the records refer to.
        open_tails: Ends that nothing vouches for; a killed process leaves one, and so does
            cutting a file off. ``expect=`` closes the question.
        heads: Hash of the last line of each chain, oldest chain first.
        pruned: Files that pruning removed and said so.
        others: Files of the folder with a journal's suffix that are none.
        is_keyed: Whether the chains are under a key.
    """

    breaks: tuple[Break, ...]
    files: int
    records: int
    blobs: int
    open_tails: tuple[OpenTail, ...]
    heads: tuple[str, ...]
    pruned: int
    others: tuple[Path, ...]
    is_keyed: bool

    @property
    def first_break(self) -> Break | None:
        """The first break, in order of files and lines; None when there is none."""
        return self.breaks[0] if self.breaks else None

    @property
    def ok(self) -> bool:
        """Whether nothing is broken. Open tails are no break."""
        return not self.breaks


def verify(
    path: str | os.PathLike[str],
    *,
    key: bytes | None = None,
    expect: str | Iterable[str] = (),
) -> Verification:
    """Check a journal against its own hashes.

    Args:
        path: Folder of a journal, or one of its files. Of a single file nothing is said about
            the files before and after it.
        key: The key that it was written under; see `journal_key`.
        expect: One or more HEADs, as `JournalWriter.close` and a recorder's ``close`` return
            them. Each must be the hash of a line; it vouches for that line and all before it.
            Files for which none of them vouches are open tails.

    Returns:
        What was found.

    Raises:
        JournalError: Nothing there, not readable, no journal, a HEAD that is none, or a journal
            under a key when another or none is given.
        UnsupportedVersion: A file of a version that this release does not read.

    Example:
        >>> verify("traces/").ok  # doctest: +SKIP
        True
    """
    heads = _heads(expect)
    found = journal_files(Path(path))
    files = [FileCheck(file, key=key, expected=heads).run() for file in found.files]
    _require_key(files)
    breaks = [file.first_break for file in files if file.first_break is not None]
    breaks += [_foreign_key(file) for file in files if file.has_other_key]
    between = FolderCheck(files)
    if found.is_folder:
        breaks += between.breaks()
    n_blobs, broken_blobs = check_blobs(found.folder, files)
    breaks += broken_blobs
    if not breaks:
        missing = heads.difference(*(file.found_heads for file in files))
        breaks += [_unfound(head, Path(path)) for head in sorted(missing)]
    return Verification(
        breaks=tuple(sorted(breaks, key=Break.place)),
        files=len(files),
        records=sum(file.records for file in files),
        blobs=n_blobs,
        open_tails=tuple(_tails(files, between, is_expecting=bool(heads))),
        heads=tuple(between.last_heads()),
        pruned=len({name for file in files for name in file.pruned}),
        others=tuple(other for other, _ in found.others),
        is_keyed=key is not None,
    )


def _heads(expect: str | Iterable[str]) -> frozenset[str]:
    heads = [expect] if isinstance(expect, str) else list(expect)
    for head in heads:
        if not _HEAD.fullmatch(head):
            raise JournalError(f"{head!r} is no HEAD; one is 64 hex characters, as close() returns")
    return frozenset(head.lower() for head in heads)


def _require_key(files: Sequence[CheckedFile]) -> None:
    for file in files:
        if file.needs_key:
            raise JournalError(
                f"{str(file.path)!r} is under a key; set TRACEDANCE_JOURNAL_KEY to it to verify"
            )
    others = [file for file in files if file.has_other_key]
    if others and len(others) == len(files):
        raise JournalError(
            f"the key given is not the one that {str(others[0].path)!r} was written under"
        )


def _foreign_key(file: CheckedFile) -> Break:
    what = "under another key than the one given"
    return Break(file.path, 1, BreakKind.REWRITTEN, what)


def _unfound(head: str, where: Path) -> Break:
    what = f"no line has the expected HEAD {head[:12]}...: cut off, or rewritten"
    return Break(where, 0, BreakKind.TRUNCATED, what)


def _tails(
    files: Sequence[CheckedFile], between: FolderCheck, *, is_expecting: bool
) -> Iterator[OpenTail]:
    unvouched = {file.path for file in between.unvouched()} if is_expecting else set()
    for file in files:
        is_unvouched = file.path in unvouched and file.first_break is None
        if is_unvouched or between.is_open(file):
            yield OpenTail(file.path, file.lines, file.is_being_written, file.is_torn, is_unvouched)

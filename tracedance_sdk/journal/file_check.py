"""Check the lines of one journal file against their hashes, and name the first that is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

import orjson

from tracedance_sdk.errors import InvalidJSON, JournalError
from tracedance_sdk.journal.breaks import Break, BreakKind
from tracedance_sdk.journal.chain import (
    HASHES,
    ChainedLine,
    key_mark,
    link_under,
    take_apart,
)
from tracedance_sdk.journal.decoding import decode_line
from tracedance_sdk.journal.encoding import CLOSE_EVENT, PRUNED_EVENT
from tracedance_sdk.journal.files import MAX_LINE_BYTES, Header, numbered_lines, read_header, reason
from tracedance_sdk.journal.locking import is_being_written
from tracedance_sdk.journal.records import Attributes
from tracedance_sdk.journal.salvage import has_inner_opening

_BLOB: Final = re.compile(
    rb'"stringValue":"\{\\"\$blob\\":\\"sha256:([0-9a-f]{64})\\",\\"\$size\\":[0-9]+\}"'
)
_KEYED: Final = HASHES[True]


@dataclass
class CheckedFile:
    """What checking one file found.

    Attributes:
        path: The file.
        header: What its first line says; None when that is damaged or not there.
        first_break: The first line that is not as it was written, in its place.
        lines: Whole lines, in place, before that.
        records: The same without header and closing record.
        head: Hash of the last of them; empty when there is none.
        is_closed: The last of them is the closing record.
        next: Name of the file that goes on, if the closing record names one.
        is_torn: The file ends within a line.
        is_being_written: A process has it open.
        needs_key: It is under a key, and none was given.
        has_other_key: It is under another key than the one given.
        found_heads: Of the expected HEADs, those of lines here.
        blobs: Digests of large values → the first line that refers to each.
        pruned: Names of files that were pruned → the hash of the last line of each.
    """

    path: Path
    header: Header | None = None
    first_break: Break | None = None
    lines: int = 0
    records: int = 0
    head: str = ""
    is_closed: bool = False
    next: str | None = None
    is_torn: bool = False
    is_being_written: bool = False
    needs_key: bool = False
    has_other_key: bool = False
    found_heads: set[str] = field(default_factory=set)
    blobs: dict[str, int] = field(default_factory=dict)
    pruned: dict[str, str] = field(default_factory=dict)


class FileCheck:
    """Checks one file.

    Args:
        path: The file.
        key: The key of its chain, or None.
        expected: HEADs to look out for.
    """

    def __init__(self, path: Path, *, key: bytes | None, expected: frozenset[str]) -> None:
        self._path = path
        self._key = key
        self._link = link_under(key)
        self._expected = expected
        self._found = CheckedFile(path)
        self._size = 0

    def run(self) -> CheckedFile:
        """Return what is found.

        Raises:
            JournalError: The file cannot be read.
            UnsupportedVersion: Its header is of another version.
        """
        found = self._found
        try:
            # Asked first: a file that is closed while it is being read is then no open one.
            found.is_being_written = _is_being_written(self._path)
            with self._path.open("rb") as file:
                self._check(file)
        except OSError as error:
            if isinstance(error, JournalError):
                raise
            raise JournalError(f"{str(self._path)!r} cannot be read: {reason(error)}") from error
        return found

    def _check(self, file: BinaryIO) -> None:
        found = self._found
        lines = numbered_lines(file, MAX_LINE_BYTES)
        previous = ""
        for number, line in lines:
            if line is None:
                self._break(number, BreakKind.EDITED, f"longer than {MAX_LINE_BYTES:,} bytes")
                return
            if number == 1:
                found.header = read_header(line)
                previous = found.header.previous if found.header else ""
                if found.header and not self._key_fits(found.header, file):
                    return
            pieces = take_apart(line.removesuffix(b"\n"))
            if not line.endswith(b"\n") and not _is_document(line):
                self._end_torn(number, line)
                return
            if found.is_closed:
                self._break(number, BreakKind.INSERTED, "after the closing record")
                return
            if pieces is None or not self._fits(pieces, number, previous):
                later = (taken for _, text in lines if (taken := _taken(text)) is not None)
                self._name_break(number, pieces, previous, later)
                return
            self._take(number, line, pieces)
            previous = pieces.hash

    def _fits(self, pieces: ChainedLine, number: int, previous: str) -> bool:
        if pieces.number != number:
            return False
        return self._link(previous.encode(), pieces.opening, pieces.rest) == pieces.hash

    def _key_fits(self, header: Header, file: BinaryIO) -> bool:
        """Whether the file can be checked under the key given, or without one."""
        if self._key is None:
            self._found.needs_key = header.hash == _KEYED
            return not self._found.needs_key
        if header.hash != _KEYED:
            what = "chained without the key that was given: not written under it, or rewritten"
            self._break(1, BreakKind.REWRITTEN, what)
            return False
        if header.key == key_mark(self._key):
            return True
        # The mark itself may have been edited; then the second line still fits the key.
        place = file.tell()
        second = _taken(file.readline(MAX_LINE_BYTES))
        file.seek(0)
        first = _taken(file.readline(MAX_LINE_BYTES))
        file.seek(place)
        fits = first is not None and second is not None and self._fits(second, 2, first.hash)
        self._found.has_other_key = not fits
        return fits

    def _take(self, number: int, line: bytes, pieces: ChainedLine) -> None:
        """Note what a line that is in order says."""
        found = self._found
        if not line.endswith(b"\n"):
            found.is_torn = True
        found.lines = number
        found.head = pieces.hash
        if pieces.hash in self._expected:
            found.found_heads.add(pieces.hash)
        if number > 1:
            self._take_content(number, line)
        self._size += len(line)

    def _take_content(self, number: int, line: bytes) -> None:
        found = self._found
        for digest in _BLOB.findall(line):
            found.blobs.setdefault(digest.decode(), number)
        closing = _control(line, CLOSE_EVENT)
        if closing is not None:
            self._take_closing(number, closing)
            return
        found.records += 1
        pruned = _control(line, PRUNED_EVENT)
        if pruned is not None:
            found.pruned[str(pruned.get("file"))] = str(pruned.get("head"))

    def _take_closing(self, number: int, closing: Attributes) -> None:
        found = self._found
        # Without its newline the closing record was not written to its end.
        found.is_closed = not found.is_torn
        following = closing.get("next")
        found.next = following if isinstance(following, str) else None
        if (closing.get("records"), closing.get("bytes")) != (found.records, self._size):
            what = f"the closing record counts {closing.get('records')!r} records before it"
            self._break(number, BreakKind.REWRITTEN, f"{what}, there are {found.records}")

    def _end_torn(self, number: int, line: bytes) -> None:
        """Judge a last line that is not whole."""
        if self._found.is_closed:
            self._break(number, BreakKind.INSERTED, "after the closing record")
        elif has_inner_opening(line) or _begins_with_document(line):
            self._break(number, BreakKind.EDITED, "the last line has more in it than was written")
        else:
            self._found.is_torn = True

    def _break(self, line: int, kind: BreakKind, what: str) -> None:
        self._found.first_break = Break(self._path, line, kind, what)

    def _name_break(
        self,
        number: int,
        pieces: ChainedLine | None,
        previous: str,
        later: Iterable[ChainedLine],
    ) -> None:
        """Tell by the numbers and hashes of this line and the later ones what was done."""
        stated = None if pieces is None else pieces.number
        is_elsewhere = fits_later = False
        for other in later:
            is_elsewhere = is_elsewhere or other.number == number
            fits_later = fits_later or self._fits(other, number, previous)
        if self._is_without_key(pieces, previous):
            kind, what = BreakKind.REWRITTEN, "chained without the key"
        elif stated is not None and stated > number and is_elsewhere:
            kind, what = BreakKind.REORDERED, f"line {stated} stands here"
        elif stated is not None and stated > number:
            gone = f"line {number}" if stated == number + 1 else f"lines {number} to {stated - 1}"
            kind, what = BreakKind.MISSING, f"{gone} should stand here"
        elif stated is not None and stated < number:
            kind, what = BreakKind.INSERTED, f"a line numbered {stated} stands here again"
        elif fits_later:
            kind, what = BreakKind.INSERTED, "a line that was not written here"
        elif pieces is None:
            kind, what = BreakKind.EDITED, "no line of a journal"
        else:
            kind, what = BreakKind.EDITED, "its hash is another"
        self._break(number, kind, what)

    def _is_without_key(self, pieces: ChainedLine | None, previous: str) -> bool:
        if self._key is None or pieces is None:
            return False
        plain = link_under(None)(previous.encode(), pieces.opening, pieces.rest)
        return plain == pieces.hash


def _taken(line: bytes | None) -> ChainedLine | None:
    return None if line is None else take_apart(line.removesuffix(b"\n"))


def _control(line: bytes, event: str) -> Attributes | None:
    """Return the attributes of a line that is this event of the journal itself."""
    if event.encode() not in line:
        return None
    try:
        records = decode_line(line, where="line")
    except InvalidJSON:
        return None
    return records[0].attributes if records and records[0].name == event else None


def _is_document(line: bytes) -> bool:
    try:
        orjson.loads(line)
    except orjson.JSONDecodeError:
        return False
    return True


def _begins_with_document(line: bytes) -> bool:
    """Whether a line that is no JSON document begins with one."""
    end = line.rfind(b"}")
    while end >= 0:
        if _is_document(line[: end + 1]):
            return True
        end = line.rfind(b"}", max(0, end - 64), end)
    return False


def _is_being_written(path: Path) -> bool:
    try:
        return is_being_written(path)
    except OSError:
        return False

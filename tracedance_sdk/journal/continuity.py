"""Follow the chain of a journal while it is read, and note where it is broken.

Unlike `verify`, which names the first break of a file, this goes on after one: the next line whose
hash follows from the line before is sound again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from tracedance_sdk.journal.chain import HASHES, ChainedLine, key_mark, link_under, take_apart
from tracedance_sdk.journal.encoding import CLOSE_EVENT, HEADER_EVENT, PRUNED_EVENT
from tracedance_sdk.journal.files import Header, header_of
from tracedance_sdk.journal.gaps import END, Gap, GapKind, Place
from tracedance_sdk.journal.records import EventRecord, EvidenceRecord

_KEYED: Final = HASHES[True]
_AFTER_THE_END: Final = "a line after the closing record"


class FileContinuity:
    """The chain of one file.

    Give it every line in turn.

    Args:
        path: The file.
        key: The key at hand, or None.

    Attributes:
        header: What the first line says; None when that is damaged or not there.
        gaps: What is wrong, in order; neighbouring lines are one gap.
        lines: Lines read.
        head: Hash of the last line that is one of a journal; empty when there is none.
        next: Name of the file that goes on, if the closing record names one.
        pruned: Names of files that were pruned → the hash of the last line of each.
        is_unchecked: The chain is under a key that is not at hand: only numbers are checked.
    """

    def __init__(self, path: Path, *, key: bytes | None) -> None:
        self.path = path
        self.header: Header | None = None
        self.gaps: list[Gap] = []
        self.lines = 0
        self.head = ""
        self.next: str | None = None
        self.pruned: dict[str, str] = {}
        self.is_unchecked = False
        self._key = key
        self._link = link_under(key)
        self._expected = 1
        self._unreadable = 0
        self._is_closed = False

    @property
    def chain(self) -> str:
        """The chain's id; one of its own for a file that does not say."""
        return self.header.chain if self.header is not None else f"file {self.path.name}"

    @property
    def number(self) -> int:
        """The file's number in its chain; 0 when it does not say."""
        return self.header.file if self.header is not None else 0

    def take(self, line: bytes, controls: Iterable[EvidenceRecord] = ()) -> str | None:
        """Follow the chain over a line.

        Args:
            line: The line.
            controls: What it says about the journal itself.

        Returns:
            What is newly found wrong with it.
        """
        for record in controls:
            if record.name == HEADER_EVENT and isinstance(record, EventRecord):
                self._open(header_of(record))
        self.lines += 1
        pieces = take_apart(line.removesuffix(b"\n"))
        if pieces is None:
            self._unreadable += 1
            return self._note(GapKind.ALTERED, "no line of a journal")
        wrong: str | None = None
        if pieces.number != self._expected or not self._follows(pieces):
            wrong = self._break_at(pieces)
        elif self._is_closed:
            wrong = self._note(GapKind.ALTERED, _AFTER_THE_END)
        self._expected = pieces.number + 1
        self._unreadable = 0
        self.head = pieces.hash
        for record in controls:
            self._take_control(record)
        return wrong

    def take_unreadable(self, what: str) -> None:
        """Note a line of which nothing is known, not even its number."""
        self.lines += 1
        self._unreadable += 1
        self._note(GapKind.LOST, what)

    def take_torn(self, *, holds_records: bool) -> str | None:
        """Note a last line that is not whole, and what is wrong with it if no kill left it so.

        Args:
            holds_records: There are whole records in it.
        """
        self.lines += 1
        if self._is_closed:
            return self._note(GapKind.ALTERED, _AFTER_THE_END)
        if holds_records:
            return self._note(GapKind.ALTERED, "the last line has more in it than was written")
        return None

    def end_early(self, what: str) -> None:
        """Note that nothing is known of the rest of the file."""
        first, last = Place(self.number, self.lines + 1), Place(self.number, END)
        self.gaps.append(Gap(GapKind.LOST, what, self.path, 0, self.chain, first, last))

    def _take_control(self, record: EvidenceRecord) -> None:
        about = record.attributes
        if record.name == CLOSE_EVENT:
            self._is_closed = True
            following = about.get("next")
            self.next = following if isinstance(following, str) else None
        elif record.name == PRUNED_EVENT:
            self.pruned[str(about.get("file"))] = str(about.get("head"))

    def _open(self, header: Header | None) -> None:
        if header is None or self.header is not None or self._expected > 1:
            return
        self.header = header
        self.head = header.previous
        self.is_unchecked = self._key is None and header.hash == _KEYED
        self.gaps = [
            gap._replace(
                chain=self.chain,
                first=Place(self.number, gap.first.line),
                last=Place(self.number, gap.last.line),
            )
            for gap in self.gaps
        ]

    def _follows(self, pieces: ChainedLine) -> bool:
        """Whether a line's hash follows from the one before, as far as that can be told.

        Without the key nothing can be said, except that a hash without a key is a wrong one.
        """
        link = self._link(self.head.encode(), pieces.opening, pieces.rest)
        return (link == pieces.hash) is not self.is_unchecked

    def _break_at(self, pieces: ChainedLine) -> str | None:
        expected, stated = self._expected, pieces.number
        if self._unreadable and expected <= stated <= expected + self._unreadable:
            # It follows what could not be read, so whether it was edited cannot be told.
            self._note(GapKind.LOST, "", count=0)
            return None
        if stated > expected:
            count = stated - expected
            gone = f"line {expected}" if count == 1 else f"lines {expected} to {stated - 1}"
            return self._note(GapKind.LOST, f"{gone} should stand here", count=count)
        if stated < expected:
            what = f"a line numbered {stated} stands here again"
            return self._note(GapKind.ALTERED, what)
        return self._note(GapKind.ALTERED, self._why_other_hash())

    def _why_other_hash(self) -> str:
        if self.lines == 1 and self._key is not None and self.header is not None:
            if self.header.hash != _KEYED:
                return "chained without the key that was given: not written under it, or rewritten"
            if self.header.key != key_mark(self._key):
                return "under another key than the one given"
        return "its hash is another"

    def _note(self, kind: GapKind, what: str, *, count: int = 1) -> str | None:
        """Add a gap at this line, or lengthen the one that reaches it."""
        place = Place(self.number, self.lines)
        last = self.gaps[-1] if self.gaps else None
        if last is not None and last.last.line == self.lines - 1:
            self.gaps[-1] = last._replace(last=place, n_lines=last.n_lines + count)
            return None
        gap = Gap(kind, what, self.path, self.lines, self.chain, place, place, max(count, 1))
        self.gaps.append(gap)
        return what


def gaps_between(files: Iterable[FileContinuity], *, is_folder: bool) -> Iterator[Gap]:
    """Yield what is missing between the files of a journal, and at their ends.

    Args:
        files: Those that were read, each to its end.
        is_folder: They are all that the folder holds, not one that was asked for.
    """
    read = list(files)
    chains: dict[str, dict[int, FileContinuity]] = {}
    for file in read:
        if file.header is not None:
            chains.setdefault(file.chain, {}).setdefault(file.number, file)
    pruned = {name: head for file in read for name, head in file.pruned.items()}
    heads = {file.head for file in read}
    named = {file.header.previous for file in read if file.header is not None}
    for chain in chains.values():
        for number, file in sorted(chain.items()):
            before, after = _before(file, chain), _after(file)
            if before is not None and file.header and file.header.previous not in heads:
                is_pruned = file.header.previous in pruned.values()
                yield before._replace(is_damage=is_folder and not is_pruned)
            if after is not None and number + 1 not in chain and file.head not in named:
                yield after._replace(is_damage=is_folder and file.next not in pruned)


def _before(file: FileContinuity, chain: dict[int, FileContinuity]) -> Gap | None:
    """Return the gap that there is when no file ends with the line that this one follows."""
    if file.header is None or not file.header.previous:
        return None
    last = Place(file.number, 0)
    before = chain.get(file.number - 1)
    if before is not None:
        what = f"the last lines are gone; {file.path.name!r} goes on after them"
        first = Place(before.number, before.lines + 1)
        return Gap(GapKind.LOST, what, before.path, first.line, file.chain, first, last)
    what = f"file {file.number - 1} of this chain, which goes before, is not here"
    present = max((number for number in chain if number < file.number), default=0)
    first = Place(present + 1, 0)
    return Gap(GapKind.LOST, what, file.path, 1, file.chain, first, last)


def _after(file: FileContinuity) -> Gap | None:
    """Return the gap that there is when the next file, which the closing record names, is gone.

    One that is there was made after the folder was looked at.
    """
    if file.next is None or file.path.with_name(file.next).exists():
        return None
    what = f"the next file {file.next!r} is not here"
    first, last = Place(file.number + 1, 0), Place(file.number + 1, END)
    return Gap(GapKind.LOST, what, file.path, file.lines, file.chain, first, last)

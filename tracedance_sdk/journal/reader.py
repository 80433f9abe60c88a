"""Read a journal back: a file, or a folder of them. What is damaged is listed, not raised."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from tracedance_sdk.errors import InvalidJSON, JournalError
from tracedance_sdk.journal.blobs import read_blob
from tracedance_sdk.journal.continuity import FileContinuity, gaps_between
from tracedance_sdk.journal.decoding import decode_line
from tracedance_sdk.journal.encoding import CONTROL_EVENTS
from tracedance_sdk.journal.files import (
    MAX_LINE_BYTES,
    JournalFiles,
    journal_files,
    numbered_lines,
    reason,
)
from tracedance_sdk.journal.gaps import Gap, Place
from tracedance_sdk.journal.records import EventRecord, EvidenceRecord
from tracedance_sdk.journal.salvage import salvage

_LINE: Final = "line"


class JournalProblem(NamedTuple):
    """A line that is damaged: what is wrong, in which file, and its number from 1."""

    what: str
    path: Path
    line: int

    def __str__(self) -> str:
        return f"{self.what} @ {self.path}:{self.line}"


class JournalContents:
    """The records of a journal, read as they are asked for.

    Iterate to get them in file order, files in order of their creation; iterating again reads
    again. Every line's number and hash are checked on the way.

    Attributes:
        files: The journal's files.
        problems: What the last iteration could not read, or found to be other than written.
        gaps: Where the last iteration found records lost or altered.
        unchecked: Files whose hashes the last iteration could not check, for want of their key.
        torn: How many files ended within a line in the last iteration, as they do after a kill.
    """

    def __init__(self, found: JournalFiles, *, key: bytes | None, max_line_bytes: int) -> None:
        self.files = found.files
        self._found_at_opening = [JournalProblem(why, other, 1) for other, why in found.others]
        self.problems = list(self._found_at_opening)
        self.gaps: list[Gap] = []
        self.unchecked: list[Path] = []
        self.torn = 0
        self._folder = found.folder
        self._is_folder = found.is_folder
        self._key = key
        self._max_line_bytes = max_line_bytes
        self._chains: list[FileContinuity] = []

    def __iter__(self) -> Iterator[EvidenceRecord]:
        self.problems = list(self._found_at_opening)
        self.gaps, self.unchecked, self._chains = [], [], []
        self.torn = 0
        for path in self.files:
            chain = FileContinuity(path, key=self._key)
            self._chains.append(chain)
            try:
                with path.open("rb") as file:
                    yield from self._records(file, chain)
            except OSError as error:
                what = f"cannot be read: {reason(error)}"
                self.problems.append(JournalProblem(what, path, 0))
                chain.end_early(what)
            self.gaps += chain.gaps
            if chain.is_unchecked:
                self.unchecked.append(path)
        for gap in gaps_between(self._chains, is_folder=self._is_folder):
            self.gaps.append(gap)
            if gap.is_damage:
                self.problems.append(JournalProblem(gap.what, gap.path, gap.line))

    def placed(self) -> Iterator[tuple[str, Place, EvidenceRecord]]:
        """Read again what the last iteration read, each record with its chain and place there."""
        for chain in self._chains:
            with suppress(OSError), chain.path.open("rb") as file:
                for number, line in numbered_lines(file, self._max_line_bytes):
                    place = Place(chain.number, number)
                    for record in () if line is None else _decoded(line)[0]:
                        yield chain.chain, place, record

    def get_blob(self, digest: str) -> bytes | None:
        """Return a large value; None when it is absent, or damaged (then a problem tells)."""
        try:
            return read_blob(self._folder, digest)
        except JournalError as error:
            self.problems.append(JournalProblem(str(error), self._folder, 0))
            return None

    def _records(self, file: BinaryIO, chain: FileContinuity) -> Iterator[EvidenceRecord]:
        for number, line in numbered_lines(file, self._max_line_bytes):
            if line is None:
                problem: str | None = f"longer than {self._max_line_bytes:,} bytes; skipped"
                records: list[EvidenceRecord] = []
                chain.take_unreadable("too long to be read")
            else:
                records, problem = self._checked(line, chain)
            if problem is not None:
                self.problems.append(JournalProblem(problem, chain.path, number))
            for record in records:
                if not _is_control(record):
                    yield record

    def _checked(
        self, line: bytes, chain: FileContinuity
    ) -> tuple[list[EvidenceRecord], str | None]:
        """Return the records of a line, and what is wrong with it."""
        records, unreadable = _decoded(line)
        if unreadable is not None and not line.endswith(b"\n"):
            self.torn += 1
            return records, chain.take_torn(holds_records=bool(records))
        controls = [record for record in records if _is_control(record)]
        wrong = chain.take(line, controls)
        return records, unreadable or wrong


def read_journal(
    path: str | os.PathLike[str],
    *,
    key: bytes | None = None,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> JournalContents:
    """Open a journal for reading.

    Args:
        path: One of its files, or its folder.
        key: The key that it was written under; see `journal_key`. Without it the hashes of a
            journal under a key are not checked, only the numbers of its lines.
        max_line_bytes: A longer line is skipped and listed.

    Returns:
        Its contents. In a folder, files that are no journal are listed as problems.

    Raises:
        JournalError: Nothing there, not readable, or no journal.
        UnsupportedVersion: A journal of a version that this release does not read.
    """
    return JournalContents(journal_files(Path(path)), key=key, max_line_bytes=max_line_bytes)


def _is_control(record: EvidenceRecord) -> bool:
    return record.name in CONTROL_EVENTS and isinstance(record, EventRecord)


def _decoded(line: bytes) -> tuple[list[EvidenceRecord], str | None]:
    """Return the records of a line, and why it cannot be read as a whole, if so."""
    try:
        return decode_line(line, where=_LINE), None
    except InvalidJSON as error:
        return salvage(line), str(error).removeprefix(f"{_LINE}: ")

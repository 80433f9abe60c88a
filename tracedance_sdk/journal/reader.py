"""Read a journal back: a file, or a folder of them. What is damaged is listed, not raised."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from tracedance_sdk.errors import InvalidJSON, JournalError
from tracedance_sdk.journal.blobs import read_blob
from tracedance_sdk.journal.decoding import decode_line
from tracedance_sdk.journal.encoding import CONTROL_EVENTS
from tracedance_sdk.journal.files import MAX_LINE_BYTES, journal_files, numbered_lines, reason
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
    again.

    Attributes:
        files: The journal's files.
        problems: What the last iteration could not read.
        torn: How many files ended within a line in the last iteration, as they do after a kill.
    """

    def __init__(
        self,
        folder: Path,
        files: tuple[Path, ...],
        problems: list[JournalProblem],
        max_line_bytes: int,
    ) -> None:
        self.files = files
        self.problems = list(problems)
        self.torn = 0
        self._folder = folder
        self._found_at_opening = problems
        self._max_line_bytes = max_line_bytes

    def __iter__(self) -> Iterator[EvidenceRecord]:
        self.problems = list(self._found_at_opening)
        self.torn = 0
        for path in self.files:
            try:
                with path.open("rb") as file:
                    yield from self._records(file, path)
            except OSError as error:
                self.problems.append(JournalProblem(f"cannot be read: {reason(error)}", path, 0))

    def get_blob(self, digest: str) -> bytes | None:
        """Return a large value; None when it is absent, or damaged (then a problem tells)."""
        try:
            return read_blob(self._folder, digest)
        except JournalError as error:
            self.problems.append(JournalProblem(str(error), self._folder, 0))
            return None

    def _records(self, file: BinaryIO, path: Path) -> Iterator[EvidenceRecord]:
        for number, line in numbered_lines(file, self._max_line_bytes):
            if line is None:
                what = f"longer than {self._max_line_bytes:,} bytes; skipped"
                self.problems.append(JournalProblem(what, path, number))
                continue
            try:
                records = decode_line(line, where=_LINE)
            except InvalidJSON as error:
                records = salvage(line)
                if line.endswith(b"\n"):
                    what = str(error).removeprefix(f"{_LINE}: ")
                    self.problems.append(JournalProblem(what, path, number))
                else:
                    self.torn += 1
            for record in records:
                if not (isinstance(record, EventRecord) and record.name in CONTROL_EVENTS):
                    yield record


def read_journal(
    path: str | os.PathLike[str], *, max_line_bytes: int = MAX_LINE_BYTES
) -> JournalContents:
    """Open a journal for reading.

    Args:
        path: One of its files, or its folder.
        max_line_bytes: A longer line is skipped and listed.

    Returns:
        Its contents. In a folder, files that are no journal are listed as problems.

    Raises:
        JournalError: Nothing there, not readable, or no journal.
        UnsupportedVersion: A journal of a version that this release does not read.
    """
    found = journal_files(Path(path))
    problems = [JournalProblem(why, other, 1) for other, why in found.others]
    return JournalContents(found.folder, found.files, problems, max_line_bytes)

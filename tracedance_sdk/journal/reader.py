"""Read a journal back: a file, or a folder of them. What is damaged is listed, not raised."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from tracedance_sdk.errors import InvalidJSON, JournalError, UnsupportedVersion
from tracedance_sdk.journal.blobs import read_blob
from tracedance_sdk.journal.decoding import decode_line
from tracedance_sdk.journal.encoding import CLOSE_EVENT, FORMAT, HEADER_EVENT, VERSION
from tracedance_sdk.journal.records import EventRecord, EvidenceRecord

MAX_LINE_BYTES: Final = 256 * 1024 * 1024
"""Longest line that is read unless told otherwise."""

_SUFFIX: Final = ".jsonl"
_LINE: Final = "line"
_HEADER_BYTES: Final = 64 * 1024
_CONTROL: Final = (HEADER_EVENT, CLOSE_EVENT)


class JournalProblem(NamedTuple):
    """A line that gave no record: what is wrong, in which file, and its number from 1."""

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
                self.problems.append(JournalProblem(f"cannot be read: {error}", path, 0))

    def get_blob(self, digest: str) -> bytes | None:
        """Return a large value; None when it is absent, or damaged (then a problem tells)."""
        try:
            return read_blob(self._folder, digest)
        except JournalError as error:
            self.problems.append(JournalProblem(str(error), self._folder, 0))
            return None

    def _records(self, file: BinaryIO, path: Path) -> Iterator[EvidenceRecord]:
        for number, line in _lines(file, self._max_line_bytes):
            if line is None:
                what = f"longer than {self._max_line_bytes:,} bytes; skipped"
                self.problems.append(JournalProblem(what, path, number))
                continue
            try:
                records = decode_line(line, where=_LINE)
            except InvalidJSON as error:
                if line.endswith(b"\n"):
                    what = str(error).removeprefix(f"{_LINE}: ")
                    self.problems.append(JournalProblem(what, path, number))
                else:
                    self.torn += 1
                continue
            for record in records:
                if not (isinstance(record, EventRecord) and record.name in _CONTROL):
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
    where = Path(path)
    if where.is_dir():
        return _open_folder(where, max_line_bytes)
    try:
        with where.open("rb") as file:
            _check_header(file.readline(_HEADER_BYTES), where)
    except (OSError, ValueError) as error:
        if isinstance(error, (JournalError, UnsupportedVersion)):
            raise
        raise JournalError(f"the journal {str(path)!r} cannot be read: {error}") from error
    return JournalContents(where.parent, (where,), [], max_line_bytes)


def _open_folder(folder: Path, max_line_bytes: int) -> JournalContents:
    files: list[Path] = []
    problems: list[JournalProblem] = []
    for path in sorted(folder.glob(f"*{_SUFFIX}")):
        try:
            with path.open("rb") as file:
                _check_header(file.readline(_HEADER_BYTES), path)
        except UnsupportedVersion:
            raise
        except JournalError as error:
            problems.append(JournalProblem(str(error), path, 1))
        except OSError as error:
            problems.append(JournalProblem(f"cannot be read: {error}", path, 0))
        else:
            files.append(path)
    if not files:
        first = f"; {problems[0]}" if problems else ""
        raise JournalError(f"no journal in the folder {str(folder)!r}{first}")
    return JournalContents(folder, tuple(files), problems, max_line_bytes)


def _check_header(line: bytes, path: Path) -> None:
    if not line:
        raise JournalError(f"{str(path)!r} is empty; a journal begins with its header")
    try:
        records = decode_line(line, where=str(path))
    except InvalidJSON as error:
        raise JournalError(f"{str(path)!r} is no journal: its first line is no header") from error
    header = records[0] if records else None
    if header is None or header.name != HEADER_EVENT or header.attributes.get("format") != FORMAT:
        raise JournalError(f"{str(path)!r} is no journal: its first line is no header")
    version = header.attributes.get("version")
    if version != VERSION or isinstance(version, bool):
        raise UnsupportedVersion(
            f"{str(path)!r}: journal version {version!r}; this release reads version {VERSION}"
        )


def _lines(file: BinaryIO, limit: int) -> Iterator[tuple[int, bytes | None]]:
    """Yield numbered lines; None in place of one beyond the bound."""
    number = 0
    while line := file.readline(limit):
        number += 1
        if line.endswith(b"\n") or len(line) < limit:
            yield number, line
            continue
        while rest := file.readline(1024 * 1024):
            if rest.endswith(b"\n"):
                break
        yield number, None

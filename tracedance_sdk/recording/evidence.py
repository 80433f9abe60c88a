"""Where a run's records are kept and read back from: memory, or the journal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from tracedance_sdk.journal import EvidenceRecord, JournalWriter

BLOB_BYTES: Final = 32 * 1024
"""A longer JSON value is kept beside the records, which hold a stub of it."""


def stub_text(digest: str, size: int) -> str:
    """Return the JSON that stands for a large value: its SHA-256 in hex, its size in bytes."""
    return f'{{"$blob":"sha256:{digest}","$size":{size}}}'


class Evidence(Protocol):
    """Append-only records of one run, with the large values they refer to.

    Attributes:
        put_blob: Keeps a large value and returns its SHA-256 in hex; None where records hold
            large values themselves.
        get_blob: Returns a large value by its SHA-256, or None when it is not here.
    """

    put_blob: Callable[[bytes], str] | None
    get_blob: Callable[[str], bytes | None] | None

    def append(self, record: EvidenceRecord, /) -> None:
        """Keep a record."""

    def records(self) -> Iterator[EvidenceRecord]:
        """Yield the records kept so far, in order."""


class MemoryEvidence:
    """Records in a list, for a run without a journal."""

    def __init__(self) -> None:
        self._records: list[EvidenceRecord] = []
        self.append = self._records.append
        self.put_blob: Callable[[bytes], str] | None = None
        self.get_blob: Callable[[str], bytes | None] | None = None

    def records(self) -> Iterator[EvidenceRecord]:
        """Yield the records there are now."""
        yield from list(self._records)


class JournalEvidence:
    """Records in the journal alone: a long run costs no memory.

    Args:
        writer: The journal, shared with other runs.
        otel_trace_id: Marks this run's lines among those of others.
    """

    def __init__(self, writer: JournalWriter, otel_trace_id: str) -> None:
        self._writer = writer
        self._otel_trace_id = otel_trace_id
        self._first_file, self._offset = _end_of(writer)
        self.append = self._append_first if self._first_file is None else writer.append
        self.put_blob: Callable[[bytes], str] | None = writer.put_blob
        self.get_blob: Callable[[str], bytes | None] | None = writer.get_blob

    def _append_first(self, record: EvidenceRecord, /) -> None:
        self._writer.append(record)
        path = self._writer.path
        self._first_file = None if path is None else path.name
        self.append = self._writer.append

    def records(self) -> Iterator[EvidenceRecord]:
        """Yield the run's records read back, those of forked processes included."""
        from tracedance_sdk.journal import decode_line

        mark = self._otel_trace_id.encode()
        for path, offset in self._files():
            for line in _lines(path, offset):
                if mark in line:
                    for record in decode_line(line, where=path.name):
                        if record.trace_id == self._otel_trace_id:
                            yield record

    def _files(self) -> Iterator[tuple[Path, int]]:
        """Yield the files this run can be in, with the byte to start at.

        Names begin with the time of creation, so that their order is that of the files.
        """
        first = self._first_file
        for path in sorted(self._writer.folder.glob("*.jsonl")):
            if first is None or path.name >= first:
                yield path, self._offset if path.name == first else 0


def _end_of(writer: JournalWriter) -> tuple[str | None, int]:
    path = writer.path
    try:
        return (None, 0) if path is None else (path.name, path.stat().st_size)
    except OSError:
        return None, 0


def _lines(path: Path, offset: int) -> Iterator[bytes]:
    with path.open("rb") as file:
        file.seek(offset)
        for line in file:
            if line.endswith(b"\n"):
                yield line

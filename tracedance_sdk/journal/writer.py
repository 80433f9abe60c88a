"""Append evidence to a journal: one file per process, every line chained to the one before."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import os
import secrets
import threading
import time
import weakref
from pathlib import Path
from typing import Final, Literal, NamedTuple

from tracedance_sdk.errors import JournalError
from tracedance_sdk.journal.blobs import read_blob, write_blob
from tracedance_sdk.journal.encoding import (
    CLOSE_EVENT,
    FORMAT,
    HEADER_EVENT,
    VERSION,
    encode_line,
)
from tracedance_sdk.journal.records import Attributes, EventRecord, EvidenceRecord

MAX_FILE_BYTES: Final = 64 * 1024 * 1024
"""A file that has reached this size is closed and another begun."""

MAX_FILE_SECONDS: Final = 3600.0
"""A file this old is closed and another begun."""


_NONE: Final = -1
_LOOK_SECONDS: Final = 0.05


class JournalSummary(NamedTuple):
    """What a writer wrote.

    Attributes:
        head: Hash of the last line, in hex, which vouches for all before it; None when nothing
            was written.
        records: Records appended, without headers and closing records.
        bytes: Of all files, headers and closing records included.
    """

    head: str | None
    records: int
    bytes: int


class JournalWriter:
    """Hands each record to the operating system, whole, before `append` returns.

    The file is created at the first record, readable by its owner only. A process forked from
    this one writes a file of its own.

    Args:
        folder: Where files and blobs go; created when missing.
        key: Makes the chain HMAC-SHA256 under this key instead of SHA-256.
        durability: ``os`` survives the process, ``fsync`` also the machine.
        max_bytes: File size at which another file is begun.
        max_seconds: File age at which another file is begun.

    Example:
        >>> writer = JournalWriter("traces/")  # doctest: +SKIP
        >>> writer.append(record)  # doctest: +SKIP
        >>> writer.close().head  # doctest: +SKIP
        '5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9'
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        key: bytes | None = None,
        durability: Literal["os", "fsync"] = "os",
        max_bytes: int = MAX_FILE_BYTES,
        max_seconds: float = MAX_FILE_SECONDS,
    ) -> None:
        self.folder = Path(folder)
        self._key = key
        self._fsync = durability == "fsync"
        self._max_bytes = max_bytes
        self._max_seconds = max_seconds
        self._start_afresh()
        _watch_forks(self)

    def _start_afresh(self) -> None:
        self._lock = threading.Lock()
        self._descriptor = _NONE
        self._path: Path | None = None
        self._head = ""
        self._size = 0
        self._opened = 0.0
        self._looked = 0.0
        self._in_file = 0
        self._records = 0
        self._bytes = 0
        self._closed = False

    @property
    def path(self) -> Path | None:
        """The file being written, or None before the first record and after the last."""
        return self._path

    def append(self, record: EvidenceRecord) -> None:
        """Write one record.

        Raises:
            JournalError: It could not be written whole; nothing of it remains in the journal.
        """
        with self._lock:
            if self._closed:
                raise JournalError(f"the journal in {str(self.folder)!r} is closed")
            if self._descriptor == _NONE:
                self._open()
            elif (
                self._size >= self._max_bytes or time.monotonic() - self._opened > self._max_seconds
            ):
                self._finish()
                self._open()
            self._write(encode_line(record, self._head))
            self._records += 1
            self._in_file += 1

    def put_blob(self, data: bytes) -> str:
        """Keep a large value; see `write_blob`."""
        return write_blob(self.folder, data, fsync=self._fsync)

    def get_blob(self, digest: str) -> bytes | None:
        """Return a large value, or None when it is not there or not what it was."""
        try:
            return read_blob(self.folder, digest)
        except JournalError:
            return None

    def summary(self) -> JournalSummary:
        """Return what was written so far."""
        with self._lock:
            return JournalSummary(self._head or None, self._records, self._bytes)

    def close(self) -> JournalSummary:
        """Write the closing record and close the file; further calls change nothing.

        Raises:
            JournalError: The closing record could not be written; the file is closed all the same.
        """
        with self._lock:
            if not self._closed:
                self._closed = True
                if self._descriptor != _NONE:
                    self._finish()
            return JournalSummary(self._head or None, self._records, self._bytes)

    def __del__(self) -> None:
        self._release()

    def _open(self) -> None:
        seconds, nanoseconds = divmod(time.time_ns(), 10**9)
        stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(seconds))
        name = f"{stamp}-{nanoseconds:09d}-{os.getpid()}-{secrets.token_hex(4)}.jsonl"
        path = self.folder / name
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)
            self._descriptor = os.open(path, flags, 0o600)
        except OSError as error:
            raise JournalError(
                f"no journal can be begun in {str(self.folder)!r}: {error}"
            ) from error
        self._path = path
        self._size = self._in_file = 0
        self._opened = time.monotonic()
        try:
            self._write(encode_line(_header(keyed=self._key is not None), self._head))
        except JournalError:
            self._release()
            with contextlib.suppress(OSError):
                path.unlink()
            raise

    def _finish(self) -> None:
        closing: Attributes = {"records": self._in_file, "bytes": self._size}
        try:
            self._write(encode_line(_control(CLOSE_EVENT, closing), self._head))
        finally:
            self._release()

    def _release(self) -> None:
        descriptor = self.__dict__.get("_descriptor", _NONE)
        self._descriptor, self._path = _NONE, None
        if descriptor != _NONE:
            os.close(descriptor)

    def _write(self, line: bytes) -> None:
        """Hand a line to the system; on failure take back what part of it was written."""
        descriptor, before = self._descriptor, self._size
        data = line + b"\n"
        try:
            self._look_for_removal(descriptor)
            written = os.write(descriptor, data)
            while written < len(data):
                written += os.write(descriptor, data[written:])
            if self._fsync:
                os.fsync(descriptor)
        except OSError as error:
            where = self._path
            self._take_back(descriptor, before)
            raise JournalError(f"a record cannot be written to {str(where)!r}: {error}") from error
        self._head = self._hash(line)
        self._size += len(data)
        self._bytes += len(data)

    def _look_for_removal(self, descriptor: int) -> None:
        """Notice now and then that the file was removed, which no write would tell."""
        now = time.monotonic()
        if now - self._looked > _LOOK_SECONDS:
            self._looked = now
            if os.fstat(descriptor).st_nlink == 0:
                self._release()
                raise FileNotFoundError("the file was removed")

    def _take_back(self, descriptor: int, size: int) -> None:
        if self._descriptor == _NONE:
            return
        try:
            os.ftruncate(descriptor, size)
            return
        except OSError:
            pass
        # A torn line may stand at the end of this file, so that the next record needs another.
        self._release()

    def _hash(self, line: bytes) -> str:
        if self._key is None:
            return hashlib.sha256(line).hexdigest()
        return hmac.digest(self._key, line, "sha256").hex()


def _header(*, keyed: bool) -> EventRecord:
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    about: Attributes = {
        "format": FORMAT,
        "version": VERSION,
        "pid": os.getpid(),
        "created": created,
        "hash": "hmac-sha256" if keyed else "sha256",
    }
    return _control(HEADER_EVENT, about)


def _control(name: str, attributes: Attributes) -> EventRecord:
    return EventRecord(name, "", "", time.time_ns(), attributes)


_open_writers: weakref.WeakSet[JournalWriter] = weakref.WeakSet()
_forks_watched = threading.Event()


def _watch_forks(writer: JournalWriter) -> None:
    _open_writers.add(writer)
    if hasattr(os, "register_at_fork") and not _forks_watched.is_set():
        _forks_watched.set()
        os.register_at_fork(after_in_child=_start_afresh_in_child)


def _start_afresh_in_child() -> None:
    for writer in list(_open_writers):
        writer._release()
        closed = writer._closed
        writer._start_afresh()
        writer._closed = closed

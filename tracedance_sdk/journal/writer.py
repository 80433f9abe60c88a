"""Append evidence to a journal: one file per process, every line chained to the one before."""

from __future__ import annotations

import logging
import os
import secrets
import threading
import time
import weakref
from collections import deque
from pathlib import Path
from typing import Final, Literal, NamedTuple

from tracedance_sdk.errors import JournalError
from tracedance_sdk.journal.blobs import read_blob, write_blob
from tracedance_sdk.journal.chain import HASHES, key_mark, link_under
from tracedance_sdk.journal.encoding import CLOSE_EVENT, FORMAT, HEADER_EVENT, VERSION
from tracedance_sdk.journal.folders import make_folder, sync_folder
from tracedance_sdk.journal.open_file import DescriptorTaken, OpenFile
from tracedance_sdk.journal.records import Attributes, EventRecord, EvidenceRecord

MAX_FILE_BYTES: Final = 64 * 1024 * 1024
"""A file that has reached this size is closed and another begun."""

MAX_FILE_SECONDS: Final = 3600.0
"""A file this old is closed and another begun."""

_LOGGER: Final = logging.getLogger(__name__)
_LOOK_SECONDS: Final = 0.05
_RETRY_SECONDS: Final = 1.0
_AT_ONCE: Final = float("-inf")


class JournalSummary(NamedTuple):
    """What a writer wrote.

    Attributes:
        head: Hash of the last line, in hex, which vouches for all before it; None when nothing
            was written.
        records: Records appended, without headers and closing records.
        bytes: Of all files, headers and closing records included.
        lost: Of the records, those that somebody took away while their file was being written,
            by removing, moving or cutting it.
    """

    head: str | None
    records: int
    bytes: int
    lost: int = 0


class JournalWriter:
    """Hands each record to the operating system, whole, before `append` returns.

    The file is created at the first record, readable by its owner only. A process forked from
    this one writes a file of its own, in a chain of its own.

    Args:
        folder: Where files and blobs go; created when missing.
        key: Makes the chain HMAC-SHA256 under this key instead of SHA-256; see `journal_key`.
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
        self.folder = Path(folder).absolute()
        self._key = key
        self._link = link_under(key)
        self._fsync = durability == "fsync"
        self._max_bytes = max_bytes
        self._max_seconds = max_seconds
        self._stamp = 0
        self._start_afresh()
        _watch_forks(self)

    def _start_afresh(self) -> None:
        # Re-entrant, as finalizers and signal handlers run in the midst of anything, and may
        # end a call; what they append meanwhile waits for its turn.
        self._lock = threading.RLock()
        self._is_free = True
        self._waiting: deque[EvidenceRecord] = deque()
        self._chain = secrets.token_hex(8)
        self._file: OpenFile | None = None
        self._ordinal = 0
        self._head = ""
        self._look_at = _AT_ONCE
        self._rotate_at = _AT_ONCE
        self._rotate_not_before = _AT_ONCE
        self._records = 0
        self._bytes = 0
        self._lost = 0
        self._closed = False

    @property
    def path(self) -> Path | None:
        """The file being written, or None before the first record and after the last."""
        file = self._file
        return None if file is None else file.path

    def append(self, record: EvidenceRecord) -> None:
        """Write one record.

        When the file was removed, moved or cut since the last record, another is begun, and what
        was lost with it is logged and counted in the summary.

        Raises:
            JournalError: It could not be written whole; nothing of it remains in the journal.
        """
        with self._lock:
            if not self._is_free:
                self._append_later(record)
                return
            self._is_free = False
            try:
                self._write(record)
                if self._waiting:
                    self._write_waiting()
            finally:
                self._is_free = True
                if self._closed:
                    self._end()

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
            return self._summary()

    def close(self) -> JournalSummary:
        """Write the closing record and close the file; further calls change nothing.

        Raises:
            JournalError: The closing record could not be written; the file is closed all the same.
        """
        with self._lock:
            if not self._closed:
                self._closed = True
                if self._is_free:
                    self._end()
            return self._summary()

    def start_afresh_in_child(self) -> None:
        """Leave the file to the process this one was forked from, and write one of our own.

        Called by itself after a fork that Python knows of.
        """
        closed = self._closed
        self._release()
        self._start_afresh()
        self._closed = closed

    def __del__(self) -> None:
        self._release()

    def _summary(self) -> JournalSummary:
        file = self._file
        head, records, size = self._head, self._records, self._bytes
        if file is not None:
            head = file.tail.head
            records += file.tail.records
            size += file.tail.size
        return JournalSummary(head or None, records, size, self._lost)

    def _append_later(self, record: EvidenceRecord) -> None:
        if self._closed:
            raise JournalError(f"the journal in {str(self.folder)!r} is closed")
        self._waiting.append(record)

    def _write_waiting(self) -> None:
        while self._waiting:
            self._write(self._waiting.popleft())

    def _write(self, record: EvidenceRecord) -> None:
        now = time.monotonic()
        file = self._file
        if file is None or now >= self._look_at:
            file = self._ready_file(now)
        try:
            size = file.write(record)
        except DescriptorTaken:
            self._look_at = _AT_ONCE
            size = self._ready_file(now).write(record)
        except JournalError:
            self._look_at = _AT_ONCE
            raise
        if size >= self._max_bytes:
            self._look_at = _AT_ONCE

    def _end(self) -> None:
        self._is_free = False
        self._write_waiting()
        self._settle()
        self._look()
        file = self._file
        if file is None:
            return
        try:
            if not file.tail.lines:
                file.write(self._header(file))
            if not file.tail.closed:
                file.write(self._closing(file), closing=True)
        finally:
            self._leave(file)

    def _ready_file(self, now: float) -> OpenFile:
        """Return the file to append to: looked after, rotated, with its header."""
        # Should anything below be interrupted, the next record begins here again.
        self._look_at = _AT_ONCE
        self._settle()
        self._look()
        file = self._file
        if file is None:
            file = self._file = self._create(now)
        elif now >= self._rotate_at or (
            file.size >= self._max_bytes and now >= self._rotate_not_before
        ):
            file = self._rotate(file, now)
        if not file.tail.lines:
            self._write_header(file)
        self._look_at = min(now + _LOOK_SECONDS, self._rotate_at)
        return file

    def _settle(self) -> None:
        """Bring to an end what an exception of a signal handler interrupted."""
        file = self._file
        if file is None:
            return
        file.settle()
        if file.tail.closed and file.successor is not None:
            self._go_on(file, file.successor)
        elif not file.is_usable:
            self._leave(file)

    def _look(self) -> None:
        """Notice that the file was removed, moved or cut, which no write would tell."""
        file = self._file
        if file is None:
            return
        lost = file.find_loss()
        if lost is None:
            return
        self._lost += lost
        self._leave(file)
        _LOGGER.warning(
            "journal file %r was taken away while being written; records lost: %d",
            str(file.path),
            lost,
        )

    def _rotate(self, file: OpenFile, now: float) -> OpenFile:
        """Close a file and go on in another; while there can be none, go on in the same."""
        try:
            if file.successor is None:
                file.successor = self._create(now)
            file.write(self._closing(file), closing=True)
        except JournalError as error:
            if file.successor is not None:
                file.successor.discard()
                file.successor = None
            self._rotate_at = max(self._rotate_at, now + _RETRY_SECONDS)
            self._rotate_not_before = now + _RETRY_SECONDS
            _LOGGER.warning("no new journal file, so that the old one grows on: %s", error)
            return file
        self._go_on(file, file.successor)
        return file.successor

    def _go_on(self, file: OpenFile, successor: OpenFile) -> None:
        successor.begin_after(file.tail.head)
        self._leave(file)
        self._file = successor

    def _leave(self, file: OpenFile) -> None:
        """Let go of a file and count what it holds."""
        self._head = file.tail.head
        self._file = None
        self._look_at = _AT_ONCE
        self._records += file.tail.records
        self._bytes += file.tail.size
        file.release()

    def _release(self) -> None:
        file: OpenFile | None = self.__dict__.get("_file")
        if file is not None:
            file.release()

    def _create(self, now: float) -> OpenFile:
        path = self.folder / self._next_name()
        try:
            make_folder(self.folder, fsync=self._fsync)
            file = OpenFile(path, head=self._head, link=self._link, fsync=self._fsync)
            if self._fsync:
                sync_folder(self.folder)
        except OSError as error:
            raise JournalError(
                f"no journal can be begun in {str(self.folder)!r}: {error}"
            ) from error
        self._rotate_at = now + self._max_seconds
        return file

    def _next_name(self) -> str:
        """Return a name that sorts after those before it, whatever the clock does."""
        self._stamp = max(time.time_ns(), self._stamp + 1)
        seconds, nanoseconds = divmod(self._stamp, 10**9)
        stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(seconds))
        return f"{stamp}-{nanoseconds:09d}-{os.getpid()}-{secrets.token_hex(4)}.jsonl"

    def _write_header(self, file: OpenFile) -> None:
        try:
            file.write(self._header(file))
        except JournalError:
            if not self._ordinal:
                # Nothing names this file yet, and empty ones would pile up.
                self._file = None
                file.discard()
            raise
        self._ordinal += 1

    def _header(self, file: OpenFile) -> EventRecord:
        about: Attributes = {
            "format": FORMAT,
            "version": VERSION,
            "name": file.path.name,
            "pid": os.getpid(),
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "hash": HASHES[self._key is not None],
            "chain": self._chain,
            "file": self._ordinal + 1,
        }
        if self._key is not None:
            about["key"] = key_mark(self._key)
        if file.tail.head:
            about["previous"] = file.tail.head
        return _control(HEADER_EVENT, about)

    def _closing(self, file: OpenFile) -> EventRecord:
        about: Attributes = {"records": file.tail.records, "bytes": file.tail.size}
        if file.successor is not None:
            about["next"] = file.successor.path.name
        return _control(CLOSE_EVENT, about)


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
        writer.start_afresh_in_child()

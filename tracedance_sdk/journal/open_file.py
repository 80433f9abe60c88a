"""One journal file while it is being written."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path
from typing import Final, NamedTuple

from tracedance_sdk.errors import JournalError
from tracedance_sdk.journal.chain import Link
from tracedance_sdk.journal.descriptors import move_out_of_the_way
from tracedance_sdk.journal.encoding import encode_record
from tracedance_sdk.journal.locking import lock_for_writing
from tracedance_sdk.journal.records import EvidenceRecord

_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)
_Position = tuple[str, int, int, bool]
"""A `Tail`, as a plain tuple because one is made for every record."""

_SIZE: Final = 2
_CHUNK_BYTES: Final = 1024 * 1024


class Tail(NamedTuple):
    """How far a file has got.

    Attributes:
        head: Hash of the last line; of the file before when there is none yet.
        lines: Whole lines.
        size: Their bytes.
        closed: The last line is the closing record.
    """

    head: str
    lines: int = 0
    size: int = 0
    closed: bool = False

    @property
    def records(self) -> int:
        """Records, without the header and the closing record."""
        return max(0, self.lines - 1 - self.closed)


class DescriptorTaken(JournalError):
    """The program closed the descriptor of a journal file."""


class OpenFile:
    """Appends lines to a file that it creates; the file holds whole lines or none of them.

    A write cut off by a signal handler's exception is settled before the next one: a line that
    got out whole stays, part of one is taken back.

    Args:
        path: The file; it must not exist.
        head: Hash of the last line of the file before; empty at the beginning of a chain.
        link: Hash function of the chain.
        fsync: Hand every line to the disk, not only to the system.

    Attributes:
        successor: The file that goes on after this one, once there is one.
        is_usable: False when part of a line may stand at its end for good.

    Raises:
        OSError: The file cannot be created.
    """

    def __init__(self, path: Path, *, head: str, link: Link, fsync: bool) -> None:
        self.path = path
        self._at: _Position = (head, 0, 0, False)
        self.successor: OpenFile | None = None
        self.is_usable = True
        self._pending: _Position | None = None
        self._link = link
        self._fsync = fsync
        self._descriptor = move_out_of_the_way(os.open(path, _FLAGS, 0o600))
        self._identity = _identity(os.fstat(self._descriptor))
        # A file system on which the two differ cannot tell whether a file was moved.
        self._is_known_by_path = self._stands_at_path()
        lock_for_writing(self._descriptor)

    @property
    def tail(self) -> Tail:
        """How far it has got."""
        return Tail(*self._at)

    @property
    def size(self) -> int:
        """Bytes of its whole lines."""
        return self._at[_SIZE]

    def write(self, record: EvidenceRecord, *, closing: bool = False) -> int:
        """Hand one record to the system and return the file's size after it.

        Raises:
            JournalError: It could not be written whole; nothing of it remains in the file.
            DescriptorTaken: The descriptor is no longer this file's; nothing was written.
        """
        if self._pending is not None:
            self._settle_for_write()
        head, lines, size, _ = self._at
        lines += 1
        opening, rest = encode_record(record, line=lines)
        head = self._link(head.encode(), opening, rest)
        data = b"".join((opening, head.encode(), rest, b"\n"))
        after = (head, lines, size + len(data), closing)
        self._pending = after
        try:
            written = os.write(self._descriptor, data)
            while written < len(data):
                written += os.write(self._descriptor, data[written:])
            if self._fsync:
                os.fsync(self._descriptor)
        except OSError as error:
            self._take_back()
            if error.errno == errno.EBADF:
                raise DescriptorTaken(
                    f"the descriptor of {str(self.path)!r} was closed by the program"
                ) from error
            raise JournalError(
                f"a record cannot be written to {str(self.path)!r}: {error}"
            ) from error
        self._at = after
        self._pending = None
        return after[_SIZE]

    def begin_after(self, head: str) -> None:
        """Give an empty file its place in the chain: after the line with this hash."""
        self._at = (head, 0, 0, False)

    def settle(self) -> None:
        """Bring an interrupted write to an end."""
        pending = self._pending
        if pending is None:
            return
        status = self._status()
        if status is not None and status.st_size == pending[_SIZE]:
            self._at = pending
            self._pending = None
        else:
            self._take_back()

    def find_loss(self) -> int | None:
        """Return how many of the records are gone when the file was taken away; else None.

        It is gone when it was removed, cut, or moved with its folder or without. When the
        program closed our descriptor, as daemons do with all they inherit, the records are still
        in the file, but no more can be written to it.
        """
        status = self._status()
        if status is None:
            return 0
        if status.st_nlink == 0 or (self._is_known_by_path and not self._stands_at_path()):
            return self.tail.records
        if status.st_size >= self.size:
            return None
        return max(1, self.tail.records - max(0, self._count_lines() - 1))

    def release(self) -> None:
        """Close the descriptor; the file stays as it is."""
        status, descriptor = self._status(), self._descriptor
        self._descriptor = -1
        self.is_usable = False
        if status is not None:
            os.close(descriptor)

    def discard(self) -> None:
        """Close and remove the file."""
        self.release()
        with contextlib.suppress(OSError):
            self.path.unlink()

    def _settle_for_write(self) -> None:
        self.settle()
        if not self.is_usable:
            raise JournalError(f"part of a record stands at the end of {str(self.path)!r}")

    def _status(self) -> os.stat_result | None:
        """Return the file's status; None when the descriptor is no longer this file's."""
        try:
            status = os.fstat(self._descriptor)
        except OSError:
            return None
        return status if _identity(status) == self._identity else None

    def _stands_at_path(self) -> bool:
        """Whether the file's path leads to it, as far as that can be told."""
        try:
            return _identity(self.path.stat()) == self._identity
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            return True

    def _take_back(self) -> None:
        try:
            if self._status() is None:
                self.is_usable = False
            else:
                os.ftruncate(self._descriptor, self.size)
        except OSError:
            self.is_usable = False
        self._pending = None

    def _count_lines(self) -> int:
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        lines = 0
        while chunk := os.read(self._descriptor, _CHUNK_BYTES):
            lines += chunk.count(b"\n")
        return lines


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino

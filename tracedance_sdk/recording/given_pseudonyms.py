"""Which pseudonym each spelling of a person was given: a file beside the key, of HMACs alone.

``redaction.people`` is text: ``tracedance.people 1``, then a line for each spelling with 32 hex of
its HMAC and 10 hex of the pseudonym. Lines are only ever appended and the first of a spelling
counts, so that several processes may give pseudonyms at once and agree on them.
"""

from __future__ import annotations

import hmac
import os
import re
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tracedance_sdk.errors import JournalError
from tracedance_sdk.recording.pseudonyms import check_private, create_private

PEOPLE_FILE: Final = "redaction.people"
"""Name of the file beside the key."""

_HEAD: Final = b"tracedance.people 1\n"
_LINE: Final = re.compile(rb"([0-9a-f]{32}) ([0-9a-f]{10})\n")
_LONGEST_LINE: Final = 44
_CHUNK: Final = 1024**2


class GivenPseudonyms:
    """The pseudonyms given so far, in memory or in a folder.

    Args:
        key: Key of the HMACs; lines of other keys are passed over.
        folder: Where the file lies; None keeps them in memory.

    Raises:
        JournalError: The file cannot be made or read, or others may read it.
    """

    def __init__(self, key: bytes, folder: str | os.PathLike[str] | None) -> None:
        self._key = key
        self._path = None if folder is None else Path(folder) / PEOPLE_FILE
        self._given: dict[str, str] = {}
        self._read_up_to = 0
        self._lock = threading.Lock()
        if self._path is not None and self._path.exists():
            self._follow(self._path)

    def get(self, spelling: str) -> str | None:
        """Return what a spelling was given, as 10 hex."""
        return self._given.get(self._mark(spelling))

    def give(self, pseudonyms: Mapping[str, str]) -> None:
        """Give pseudonyms to spellings that have none; others keep theirs.

        Raises:
            JournalError: The file cannot be written.
        """
        with self._lock:
            new = {
                mark: digits
                for spelling, digits in pseudonyms.items()
                if (mark := self._mark(spelling)) not in self._given
            }
            if new and self._path is not None:
                self._append(self._path, new)
                self._follow(self._path)
            for mark, digits in new.items():
                self._given.setdefault(mark, digits)

    def _mark(self, spelling: str) -> str:
        return hmac.digest(self._key, b"spelling\0" + spelling.encode(), "sha256").hex()[:32]

    def _append(self, path: Path, new: Mapping[str, str]) -> None:
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not path.exists():
                create_private(path, _HEAD)
            data = "".join(f"{mark} {digits}\n" for mark, digits in new.items()).encode()
            flags = os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0)
            descriptor = os.open(path, flags)
            try:
                check_private(path, os.fstat(descriptor))
                end = os.lseek(descriptor, 0, os.SEEK_END)
                os.lseek(descriptor, max(0, end - 1), os.SEEK_SET)
                if end and os.read(descriptor, 1) != b"\n":
                    # Who wrote last was killed within a line.
                    data = b"\n" + data
                while data:
                    data = data[os.write(descriptor, data) :]
            finally:
                os.close(descriptor)
        except OSError as error:
            if isinstance(error, JournalError):
                raise
            raise JournalError(f"{str(path)!r} cannot be written: {error}") from error

    def _follow(self, path: Path) -> None:
        """Take in what was appended since."""
        try:
            with path.open("rb") as stream:
                check_private(path, os.fstat(stream.fileno()))
                if stream.read(len(_HEAD)) != _HEAD:
                    raise JournalError(
                        f"{str(path)!r} is no list of pseudonyms of version 1; move it away"
                    )
                stream.seek(max(self._read_up_to, len(_HEAD)))
                rest = b""
                while chunk := stream.read(_CHUNK):
                    lines, _, rest = (rest + chunk).rpartition(b"\n")
                    for mark, digits in _LINE.findall(lines + b"\n"):
                        self._given.setdefault(mark.decode(), digits.decode())
                    rest = rest[-_LONGEST_LINE:]
                self._read_up_to = stream.tell() - len(rest)
        except OSError as error:
            if isinstance(error, JournalError):
                raise
            raise JournalError(f"{str(path)!r} cannot be read: {error}") from error

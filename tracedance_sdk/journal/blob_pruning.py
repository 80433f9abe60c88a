"""Which blobs of a journal are old and unused, and how one is removed beside living writers."""

from __future__ import annotations

import re
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

_BLOB: Final = re.compile(r"([0-9a-f]{64})\.json")
_DRAFT: Final = re.compile(r"\.[0-9a-f]{16}-(\d+|pruned)-[0-9a-f]{8}")
_SHELF: Final = re.compile(r"[0-9a-f]{2}")


class OldBlob(NamedTuple):
    """A blob, or a leftover of writing one: its file and size."""

    path: Path
    bytes: int


def old_blobs(folder: Path, before_ns: int, mentions: frozenset[str]) -> list[OldBlob]:
    """Return the blobs of a journal that nothing mentions and nobody used lately.

    Args:
        folder: The journal.
        before_ns: One used after this moment stays, as its record may be yet to come.
        mentions: Digests that stay.
    """
    found: list[OldBlob] = []
    for path in _blob_files(folder / "blobs"):
        name = _BLOB.fullmatch(path.name)
        if name is None and not _DRAFT.fullmatch(path.name):
            continue
        if name is not None and name[1] in mentions:
            continue
        try:
            status = path.lstat()
        except FileNotFoundError:  # A draft that has become a blob since.
            continue
        if stat.S_ISREG(status.st_mode) and status.st_mtime_ns < before_ns:
            found.append(OldBlob(path, status.st_size))
    return found


def remove_blob(blob: OldBlob, before_ns: int) -> bool:
    """Remove a blob unless a writer uses it at this very moment; say whether it is gone.

    A writer that finds a blob in place marks it as used in the same step, and writes it anew when
    it is not there. Hence it is put aside first and looked at again.

    Raises:
        OSError: It cannot be removed.
    """
    path = blob.path
    aside = path.with_name(f".{path.name[:16]}-pruned-{secrets.token_hex(4)}")
    if _DRAFT.fullmatch(path.name):
        path.unlink()
        return True
    path.rename(aside)
    if aside.lstat().st_mtime_ns >= before_ns:
        aside.rename(path)
        return False
    aside.unlink()
    return True


def _blob_files(shelves: Path) -> Iterator[Path]:
    """Yield what lies on the shelves; links among them lead nowhere."""
    for shelf in _folders(shelves):
        if _SHELF.fullmatch(shelf.name):
            yield from sorted(shelf.iterdir())


def _folders(place: Path) -> Iterator[Path]:
    if place.is_symlink() or not place.is_dir():
        return
    for path in sorted(place.iterdir()):
        if not path.is_symlink() and path.is_dir():
            yield path

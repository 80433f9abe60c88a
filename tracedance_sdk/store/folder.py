"""A store's folder: files that appear whole or not at all, and manifests that nobody overwrites.

Data files lie in ``parts`` and are named by their kind and the SHA-256 of their content. What a
process that was killed leaves behind is a draft or a data file that no manifest names.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tracedance_sdk.errors import StoreError, TraceDanceError, UnreadableFile
from tracedance_sdk.store.manifest import (
    FORMAT,
    UNREADABLE,
    Manifest,
    StoredFile,
    decode_manifest,
    encode_manifest,
    manifest_name,
    manifest_number,
)
from tracedance_sdk.trace import read_bytes

if sys.platform != "win32":
    import fcntl

PARTS: Final = "parts"
"""The folder of the data files."""

_LOCK: Final = ".lock"
_DRAFT: Final = ".draft-"
_MOST_MANIFEST_BYTES: Final = 1024**3
_MOST_LISTINGS: Final = 5
_HEAD_BYTES: Final = 200
_NO_LINKS: Final = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


class LocalFolder:
    """A store's folder on a disk.

    Args:
        path: The folder; it need not exist yet.
    """

    is_read_only = False

    def __init__(self, path: Path) -> None:
        self.path = path

    def __str__(self) -> str:
        return str(self.path)

    def make(self) -> None:
        """Make the folder, for its owner only; one that is there stays as it is.

        Raises:
            StoreError: It cannot be made.
        """
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            (self.path / PARTS).mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise StoreError(f"the store {str(self)!r} cannot be made: {error}") from error

    def numbers(self) -> list[int]:
        """Return the numbers of the manifests that are there, in ascending order.

        Raises:
            StoreError: The folder cannot be read.
        """
        return sorted(n for name in self._names() if (n := manifest_number(name)) is not None)

    def entries(self) -> list[str]:
        """Return the names of what lies in the folder, hidden ones left out, sorted.

        Raises:
            StoreError: The folder cannot be read.
        """
        return sorted(name for name in self._names() if not name.startswith("."))

    def is_made(self) -> bool:
        """Whether the folder was made for a store, if only an empty one."""
        return (self.path / PARTS).is_dir()

    def _names(self) -> list[str]:
        try:
            return [entry.name for entry in self.path.iterdir()]
        except OSError as error:
            reason = error.strerror or error
            raise StoreError(f"the store {str(self)!r} cannot be read: {reason}") from error

    def read_manifest(self, number: int) -> Manifest:
        """Read one manifest.

        Raises:
            TraceDanceError: Missing, damaged, or of another version.
        """
        path = self.path / manifest_name(number)
        data = read_bytes(path, limit=_MOST_MANIFEST_BYTES)
        manifest = decode_manifest(data, where=str(path))
        if manifest.number != number:
            raise StoreError(f"{path}: a manifest of another number, {manifest.number}")
        return manifest

    def local(self, file: StoredFile) -> Path:
        """Return where a data file lies."""
        return self.path / PARTS / file.name

    def commit(self, manifest: Manifest) -> bool:
        """Write a manifest unless its number is taken; whether it was written.

        Raises:
            StoreError: The folder cannot be written to.
        """
        target = self.path / manifest_name(manifest.number)
        try:
            draft = self._draft(lambda path: path.write_bytes(encode_manifest(manifest)))
            try:
                _place_new(draft, target)
            except FileExistsError:
                return False
            finally:
                draft.unlink(missing_ok=True)
            _sync_folder(self.path)
        except OSError as error:
            raise self._unwritable(error) from error
        return True

    def keep(self, kind: str, suffix: str, write: Callable[[Path], object]) -> StoredFile:
        """Keep what `write` puts into the file it is given; content already there is kept once.

        Args:
            kind: First part of the name.
            suffix: ``parquet`` or ``json``.
            write: Fills the file at a path.

        Raises:
            StoreError: The folder cannot be written to.
        """
        try:
            draft = self._draft(write)
            try:
                with draft.open("rb") as stream:
                    digest = hashlib.file_digest(stream, "sha256").hexdigest()
                file = StoredFile(f"{kind}-{digest[:32]}.{suffix}", draft.stat().st_size)
                draft.replace(self.local(file))
            finally:
                draft.unlink(missing_ok=True)
        except OSError as error:
            raise self._unwritable(error) from error
        return file

    def _draft(self, write: Callable[[Path], object]) -> Path:
        draft = self.path / PARTS / f"{_DRAFT}{os.getpid()}-{secrets.token_hex(8)}"
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        try:
            write(draft)
            with draft.open("rb+") as stream:
                os.fsync(stream.fileno())
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
        return draft

    def _unwritable(self, error: OSError) -> StoreError:
        return StoreError(f"the store {str(self)!r} cannot be written: {error}")

    def is_writable(self) -> bool:
        """Whether files can be added."""
        return os.access(self.path / PARTS, os.W_OK) and os.access(self.path, os.W_OK)

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Hold off `clearing` while files are written that no manifest names yet."""
        with self._locked(exclusive=False):
            yield

    @contextlib.contextmanager
    def clearing(self) -> Iterator[None]:
        """Wait until nobody writes, and hold off those who would."""
        with self._locked(exclusive=True):
            yield

    @contextlib.contextmanager
    def _locked(self, *, exclusive: bool) -> Iterator[None]:
        if sys.platform == "win32":
            yield
            return
        try:
            descriptor = os.open(self.path / PARTS / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            # A file system without locks goes without; the age of orphans protects them still.
            with contextlib.suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)
            yield
        finally:
            os.close(descriptor)

    def loose(self) -> Iterator[Path]:
        """Yield drafts and data files, whatever names them."""
        parts = self.path / PARTS
        for path in sorted(parts.iterdir()) if parts.is_dir() else ():
            if path.name != _LOCK and not path.is_symlink() and path.is_file():
                yield path


def holds_store(folder: Path) -> bool:
    """Whether a folder is a store: it holds a manifest that says so.

    Only the first bytes of the highest one are looked at.
    """
    found = [path for path in folder.glob("manifest-*.json") if manifest_number(path.name)]
    if not found:
        return False
    try:
        with max(found, key=lambda path: manifest_number(path.name) or 0).open("rb") as stream:
            return FORMAT.encode() in stream.read(_HEAD_BYTES)
    except OSError:
        return False


class Present(NamedTuple):
    """The highest manifest that is whole, and the number that the next one takes."""

    manifest: Manifest
    next_number: int


def present(folder: LocalFolder) -> Present:
    """Return a store's present; the empty manifest where there is none.

    Raises:
        UnsupportedVersion: The highest manifest is of another version.
        StoreError: The folder cannot be read, or none of its manifests can.
    """
    trouble: TraceDanceError | None = None
    for _ in range(_MOST_LISTINGS):
        numbers = folder.numbers()
        for number in reversed(numbers):
            try:
                return Present(folder.read_manifest(number), numbers[-1] + 1)
            except UnreadableFile as error:
                # Cleared away since, as there are newer ones by now: list again.
                trouble = error
                break
            except UNREADABLE as error:
                trouble = error
        else:
            break
    if trouble is not None:
        raise StoreError(f"no manifest of the store {str(folder)!r} can be read: {trouble}")
    return Present(Manifest(), 1)


def _place_new(draft: Path, target: Path) -> None:
    """Give a finished file a name that must not be taken yet.

    Raises:
        FileExistsError: It is taken.
        OSError: The folder cannot be written to.
    """
    try:
        os.link(draft, target)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # Where files have one name only: whoever is killed here leaves a manifest that is not
        # whole, which readers pass over.
        with target.open("xb") as stream:
            stream.write(draft.read_bytes())
            stream.flush()
            os.fsync(stream.fileno())


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)

"""A store's folder: files that appear whole or not at all, and manifests that nobody overwrites.

Data files lie in ``parts`` and are named by their kind and the SHA-256 of their content. What a
process that was killed leaves behind is a draft or a data file that no manifest names.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import secrets
import sys
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

from tracedance_sdk.errors import StoreError, TraceDanceError, UnreadableFile
from tracedance_sdk.store.disk import file_state, lock_file, place_new, sync_folder
from tracedance_sdk.store.manifest import (
    FORMAT,
    UNREADABLE,
    Manifest,
    StoredFile,
    decode_manifest,
    encode_manifest,
    is_data_name,
    is_draft_name,
    manifest_name,
    manifest_number,
    named_files,
)
from tracedance_sdk.trace import read_bytes

PARTS: Final = "parts"
"""The folder of the data files."""

_LOCK: Final = ".lock"
_DRAFT: Final = ".draft-"
_MOST_MANIFEST_BYTES: Final = 1024**3
_MOST_LISTINGS: Final = 5
_HEAD_BYTES: Final = 200
_MOST_LOOKS: Final = 3
_LOOK_AGAIN_S: Final = 0.1
_KEPT_MANIFESTS: Final = 16
_MANIFEST_GRACE_S: Final = 60.0
_logger: Final = logging.getLogger(__name__)


class LocalFolder:
    """A store's folder on a disk.

    Args:
        path: The folder; it need not exist yet.
    """

    is_read_only = False

    def __init__(self, path: Path) -> None:
        self.path = path
        self.warned: set[int] = set()
        self._last: tuple[tuple[int, ...], Manifest] | None = None

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
            sync_folder(self.path)
            sync_folder(self.path.parent)
        except OSError as error:
            raise StoreError(f"the store {str(self)!r} cannot be made: {error}") from error

    def numbers(self) -> list[int]:
        """Return the numbers of the manifests that are there, in ascending order.

        Raises:
            StoreError: The folder cannot be read.
        """
        return [number for number in self.taken() if self.has_manifest(number)]

    def taken(self) -> list[int]:
        """Return the numbers that no manifest can be given any more, in ascending order.

        Something else than a file may have such a name.

        Raises:
            StoreError: The folder cannot be read.
        """
        return sorted(n for name in self._names() if (n := manifest_number(name)) is not None)

    def has_manifest(self, number: int) -> bool:
        """Whether the manifest of a number is there, and a file."""
        return (self.path / manifest_name(number)).is_file()

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
        state = file_state(path)
        last = self._last
        if last is not None and state == last[0] and last[1].number == number:
            return last[1]
        data = read_bytes(path, limit=_MOST_MANIFEST_BYTES)
        manifest = decode_manifest(data, where=str(path))
        if manifest.number != number:
            raise StoreError(f"{path}: a manifest of another number, {manifest.number}")
        if state:
            self._last = state, manifest
        return manifest

    def local(self, file: StoredFile) -> Path:
        """Return where a data file lies."""
        return self.path / PARTS / file.name

    def commit(self, manifest: Manifest) -> bool:
        """Write a manifest unless its number is taken; whether it was written.

        Manifests that it leaves far behind are cleared away.

        Raises:
            StoreError: The folder cannot be written to.
        """
        target = self.path / manifest_name(manifest.number)
        try:
            # The names of its files must outlast a power cut when its own does.
            sync_folder(self.path / PARTS)
            draft = self._draft(lambda path: path.write_bytes(encode_manifest(manifest)))
            try:
                place_new(draft, target)
            except FileExistsError:
                return False
            finally:
                draft.unlink(missing_ok=True)
            sync_folder(self.path)
        except OSError as error:
            raise self._unwritable(error) from error
        self._clear_manifests(manifest)
        return True

    def _clear_manifests(self, present: Manifest) -> None:
        """Remove manifests that nobody is about to read any more.

        Who read one of them may still need files that it alone names: those count as just changed,
        so that `compact` leaves them for as long as others.
        """
        limit = time.time() - _MANIFEST_GRACE_S
        numbers = [number for number in self.numbers() if number <= present.number]
        for number, following in list(pairwise(numbers))[: -_KEPT_MANIFESTS + 1]:
            path = self.path / manifest_name(number)
            with contextlib.suppress(OSError):
                if (self.path / manifest_name(following)).stat().st_mtime > limit:
                    return
                for name in named_files(path.read_bytes()) - present.names:
                    with contextlib.suppress(OSError):
                        os.utime(self.path / PARTS / name)
                path.unlink()

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
        except StoreError:
            # What is written was read from a store that is damaged.
            raise
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

    def require_writable(self) -> None:
        """Refuse a folder that nothing can be added to.

        Raises:
            StoreError: It is one.
        """
        if not self.is_writable():
            raise StoreError(f"the store {str(self)!r} cannot be written: no permission")

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Hold off `clearing` while files are written that no manifest names yet.

        Raises:
            StoreError: The folder cannot be written to, or its newest manifest is damaged.
        """
        with self._locked(exclusive=False, patience_s=None):
            require_whole(self)
            yield

    @contextlib.contextmanager
    def clearing(self, *, patience_s: float) -> Iterator[bool]:
        """Wait until nobody writes, and hold off those who would.

        Args:
            patience_s: Seconds to wait at most.

        Yields:
            Whether nobody writes; if not, nothing may be cleared.
        """
        with self._locked(exclusive=True, patience_s=patience_s) as is_locked:
            yield is_locked

    @contextlib.contextmanager
    def _locked(self, *, exclusive: bool, patience_s: float | None) -> Iterator[bool]:
        if sys.platform == "win32":
            yield True
            return
        try:
            descriptor = os.open(self.path / PARTS / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            yield lock_file(descriptor, exclusive=exclusive, patience_s=patience_s)
        finally:
            os.close(descriptor)

    def loose(self) -> Iterator[Path]:
        """Yield drafts and data files, whatever names them."""
        for path in self._parts():
            if is_own(path) and path.name != _LOCK:
                yield path

    def foreign(self) -> list[str]:
        """Return the names of what lies among the data files and is none of a store's, sorted."""
        return [path.name for path in self._parts() if not is_own(path)]

    def _parts(self) -> list[Path]:
        parts = self.path / PARTS
        try:
            return sorted(parts.iterdir()) if parts.is_dir() else []
        except OSError as error:
            raise StoreError(f"the store {str(self)!r} cannot be read: {error}") from error


def is_own(path: Path) -> bool:
    """Whether something among the data files was put there by a store."""
    if path.is_symlink() or not path.is_file():
        return False
    return path.name == _LOCK or is_data_name(path.name) or is_draft_name(path.name)


def holds_store(folder: Path) -> bool:
    """Whether a folder is a store: it holds a manifest that says so.

    Only the first bytes of the highest ones are looked at.
    """
    found = [path for path in folder.glob("manifest-*.json") if manifest_number(path.name)]
    found.sort(key=lambda path: manifest_number(path.name) or 0, reverse=True)
    for path in found[:_KEPT_MANIFESTS]:
        with contextlib.suppress(OSError), path.open("rb") as stream:
            if FORMAT.encode() in stream.read(_HEAD_BYTES):
                return True
    return False


class Present(NamedTuple):
    """The highest manifest that is whole, and the number that the next one takes."""

    manifest: Manifest
    next_number: int


class _Look(NamedTuple):
    """A store's present, and what is wrong with the manifest that follows it, if it is damaged."""

    present: Present
    damage: TraceDanceError | None


def present(folder: LocalFolder) -> Present:
    """Return a store's present; the empty manifest where there is none.

    A manifest is written as a whole. One that is damaged is passed over with a warning; nothing
    can be written until it is removed: see `require_whole`.

    Raises:
        UnsupportedVersion: The highest manifest is of another version.
        StoreError: The folder cannot be read, or none of its manifests can.
    """
    return _look(folder).present


def require_whole(folder: LocalFolder) -> None:
    """Refuse to go on from an older manifest than the newest.

    Raises:
        StoreError: The newest is damaged; the message names it.
    """
    damage: TraceDanceError | None = None
    for _ in range(_MOST_LOOKS):
        damage = _look(folder).damage
        if damage is None:
            return
        # Where files have one name only, it may be half written.
        time.sleep(_LOOK_AGAIN_S)
    raise StoreError(
        f"nothing is written to the store {str(folder)!r}: {damage}; "
        "remove that file to go on from the manifest before it"
    ) from damage


def _look(folder: LocalFolder) -> _Look:
    trouble: TraceDanceError | None = None
    for _ in range(_MOST_LISTINGS):
        taken = folder.taken()
        broken: dict[int, TraceDanceError] = {}
        for number in reversed(taken):
            if not folder.has_manifest(number):
                continue
            try:
                return _found(folder, folder.read_manifest(number), taken=taken, broken=broken)
            except UnreadableFile as error:
                # Cleared away since, as there are newer ones by now: list again.
                trouble = error
                break
            except UNREADABLE as error:
                broken[number] = error
        else:
            if not broken:
                return _found(folder, Manifest(), taken=taken, broken=broken)
            trouble = broken[max(broken)]
            break
    raise StoreError(f"no manifest of the store {str(folder)!r} can be read: {trouble}")


def _found(
    folder: LocalFolder,
    manifest: Manifest,
    *,
    taken: list[int],
    broken: dict[int, TraceDanceError],
) -> _Look:
    """Judge what lies above the present: only a file with the very next number was a manifest."""
    following, names = manifest.number + 1, set(taken)
    while following in names and following not in broken:
        following += 1
    before = manifest_name(manifest.number)
    for number in sorted(broken.keys() - folder.warned):
        folder.warned.add(number)
        _logger.warning("%s; the store is read as of %s", broken[number], before)
    return _Look(Present(manifest, following), broken.get(following))

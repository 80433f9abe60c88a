"""A store somewhere else, read through fsspec: ``s3://...``, ``memory://...`` and the like.

What is read is copied to a temporary folder first; files are named by their content, so that each
is fetched once and a wrong copy is noticed.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any, NoReturn

from tracedance_sdk.errors import StoreError, UnreadableFile
from tracedance_sdk.store.folder import PARTS, LocalFolder
from tracedance_sdk.store.libraries import remote_files
from tracedance_sdk.store.manifest import Manifest, StoredFile, decode_manifest, manifest_name


def is_remote(place: str) -> bool:
    """Whether a place is a URL and no path.

    Example:
        >>> is_remote("s3://bucket/store"), is_remote("traces/store")
        (True, False)
    """
    return "://" in place


class RemoteFolder(LocalFolder):
    """A store's folder behind a URL; it can only be read.

    Args:
        url: What fsspec understands.

    Raises:
        StoreError: Nothing can read such a URL.
        MissingDependency: fsspec is not installed.
    """

    is_read_only = True

    def __init__(self, url: str) -> None:
        core = remote_files()
        try:
            self._system, self._root = core.url_to_fs(url)
        except (ImportError, ValueError, OSError) as error:
            raise StoreError(f"the store {url!r} cannot be reached: {error}") from error
        copies = tempfile.mkdtemp(prefix="tracedance-store-")
        self._clean = weakref.finalize(self, shutil.rmtree, copies, ignore_errors=True)
        super().__init__(Path(copies))
        self._url = url

    def __str__(self) -> str:
        return self._url

    def entries(self) -> list[str]:
        """Return the names of what lies there, sorted."""
        return sorted(self._names())

    def is_made(self) -> bool:
        """Whether a store was made there."""
        return False

    def _names(self) -> list[str]:
        try:
            found = self._system.ls(self._root, detail=False)
        except Exception as error:
            raise StoreError(f"the store {self._url!r} cannot be read: {error}") from error
        return [str(name).rstrip("/").rsplit("/", 1)[-1] for name in found]

    def has_manifest(self, _number: int) -> bool:
        """Return True for whatever was listed."""
        return True

    def read_manifest(self, number: int) -> Manifest:
        """Read one manifest; see `LocalFolder.read_manifest`."""
        name = manifest_name(number)
        manifest = decode_manifest(self._fetched(name), where=f"{self._url}/{name}")
        if manifest.number != number:
            raise StoreError(f"{self._url}/{name}: a manifest of another number")
        return manifest

    def local(self, file: StoredFile) -> Path:
        """Return where a copy of a data file lies; it is fetched when it is not there.

        Raises:
            StoreError: It cannot be fetched, or is not what its name says.
        """
        path = self.path / file.name
        if not path.exists():
            data = self._fetched(f"{PARTS}/{file.name}")
            if hashlib.sha256(data).hexdigest()[:32] != file.name.split("-")[-1].split(".")[0]:
                raise StoreError(f"the file {file.name} of the store {self._url!r} was changed")
            draft = path.with_suffix(".draft")
            draft.write_bytes(data)
            draft.replace(path)
        return path

    def _fetched(self, name: str) -> bytes:
        try:
            data: Any = self._system.cat_file(f"{self._root}/{name}")
        except FileNotFoundError as error:
            raise UnreadableFile(f"{self._url}/{name} does not exist") from error
        except Exception as error:
            raise StoreError(f"{self._url}/{name} cannot be read: {error}") from error
        return bytes(data)

    def make(self) -> NoReturn:
        """Refuse.

        Raises:
            StoreError: Always.
        """
        raise self._refusal()

    def is_writable(self) -> bool:
        """Return False."""
        return False

    def require_writable(self) -> NoReturn:
        """Refuse.

        Raises:
            StoreError: Always.
        """
        raise self._refusal()

    def writing(self) -> NoReturn:
        """Refuse.

        Raises:
            StoreError: Always.
        """
        raise self._refusal()

    def clearing(self, *, patience_s: float) -> NoReturn:  # noqa: ARG002 - as it is called
        """Refuse.

        Raises:
            StoreError: Always.
        """
        raise self._refusal()

    def commit(self, _manifest: Manifest) -> NoReturn:
        """Refuse.

        Raises:
            StoreError: Always.
        """
        raise self._refusal()

    def _refusal(self) -> StoreError:
        return StoreError(
            f"the store {self._url!r} can only be read: remote stores are not written to yet"
        )

"""A snapshot of a directory tree: ``{relative path: content}``.

============================  ==================================================================
entry                         its value
============================  ==================================================================
UTF-8 file up to 32 KiB       its text
any other file                ``{"sha256": "<64 hex>", "size": <bytes>}``
file once 256 MiB are hashed  ``{"modified_ns": <time>, "size": <bytes>}``
symbolic link                 ``{"symlink": "<target>"}``; never followed
empty directory               ``{}``, under a path that ends in ``/``
directory not looked into     ``{"skipped": "<why>"}``, under a path that ends in ``/``
device, pipe, socket          ``{"special": "<mode, octal>"}``
what cannot be read           ``{"unreadable": "<error>"}``
============================  ==================================================================

Paths are relative to the root, with ``/``, in order. Version control and installed packages
(``.git``, ``node_modules``, ``.venv``, ...) are not looked into.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tracedance_sdk.errors import StateSourceError
from tracedance_sdk.trace import Json

MAX_ENTRIES: Final = 10_000
"""Most entries of a tree; a larger one is refused, since half a state would mislead."""

MAX_TEXT: Final = 32 * 1024
"""Largest file, in bytes, whose text is kept."""

MAX_HASHED: Final = 256 * 1024 * 1024
"""Most bytes that one snapshot hashes."""

_SKIPPED: Final = {
    ".git": "version control",
    ".hg": "version control",
    ".svn": "version control",
    ".venv": "installed packages",
    "__pycache__": "compiled files",
    "node_modules": "installed packages",
}
_OPEN_FLAGS: Final = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
)


def directory_state(root: str | os.PathLike[str]) -> dict[str, Json]:
    """Return the content of a directory tree; the module says how.

    Raises:
        StateSourceError: More than `MAX_ENTRIES` entries.
        OSError: The root is no readable directory.
    """
    return _Snapshot(Path(root).resolve(strict=True)).take()


class _Snapshot:
    def __init__(self, root: Path) -> None:
        self._root = root
        self._hashable = MAX_HASHED
        self._found: dict[str, Json] = {}

    def take(self) -> dict[str, Json]:
        with os.scandir(self._root) as listing:
            entries = list(listing)
        pending = [("", entries)]
        while pending:
            prefix, entries = pending.pop()
            for entry in entries:
                pending.extend(self._visit(entry, prefix + entry.name))
        return dict(sorted(self._found.items()))

    def _visit(
        self, entry: os.DirEntry[str], path: str
    ) -> Iterator[tuple[str, list[os.DirEntry[str]]]]:
        try:
            if not entry.is_dir(follow_symlinks=False):
                self._keep(path, self._leaf(entry))
            elif entry.name in _SKIPPED:
                self._keep(f"{path}/", {"skipped": _SKIPPED[entry.name]})
            else:
                with os.scandir(entry.path) as listing:
                    children = list(listing)
                if children:
                    yield f"{path}/", children
                else:
                    self._keep(f"{path}/", {})
        except FileNotFoundError:
            # Removed since it was listed, so not part of the state.
            return
        except OSError as error:
            self._keep(path, {"unreadable": type(error).__name__})

    def _keep(self, path: str, value: Json) -> None:
        if len(self._found) >= MAX_ENTRIES:
            raise StateSourceError(
                f"the directory {str(self._root)!r} has more than {MAX_ENTRIES:,} entries; give"
                " a smaller one, or a callable that returns what matters"
            )
        self._found[path] = value

    def _leaf(self, entry: os.DirEntry[str]) -> Json:
        if entry.is_symlink():
            return {"symlink": str(Path(entry.path).readlink())}
        descriptor = os.open(entry.path, _OPEN_FLAGS)
        with os.fdopen(descriptor, "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                return {"special": oct(status.st_mode)}
            if status.st_size <= MAX_TEXT:
                return _text_or_digest(file.read(MAX_TEXT + 1), status.st_size)
            if status.st_size > self._hashable:
                return {"modified_ns": status.st_mtime_ns, "size": status.st_size}
            self._hashable -= status.st_size
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            return {"sha256": digest, "size": status.st_size}


def _text_or_digest(data: bytes, size: int) -> Json:
    try:
        if b"\0" not in data and len(data) <= MAX_TEXT:
            return data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    return {"sha256": hashlib.sha256(data).hexdigest(), "size": size}

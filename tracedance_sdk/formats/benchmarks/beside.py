"""Files that lie beside a log and say more about its runs: verdicts, labels, reports.

Every run of a folder asks for the same files, so that what was read last is remembered for as long
as the files have the same times and sizes.
"""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from stat import S_ISREG
from typing import Final, NamedTuple

from tracedance_sdk.errors import TraceDanceError
from tracedance_sdk.formats.opening import Document, documents
from tracedance_sdk.trace import Json

MOST_BYTES: Final = 16 * 1024**2
"""Largest file beside a log that is looked into, as it lies on disk."""

MOST_FILES: Final = 24
"""How many files beside a log are looked into, the first by name."""

_MOST_ENTRIES: Final = 100_000


class Beside(NamedTuple):
    """Some files of a folder, as they are now.

    Attributes:
        folder: Where they lie.
        files: Name, time of the last change in nanoseconds, and size in bytes of each, by name.
    """

    folder: str
    files: tuple[tuple[str, int, int], ...]


def files_beside(folder: Path, *patterns: str) -> Beside:
    """Return a folder's regular files that match; none when the folder cannot be read.

    Links are left out, so that a folder of strangers does not lead elsewhere.

    Args:
        folder: Where to look.
        patterns: Such as ``*report*.json``, of lower-case names without ``.gz``.
    """
    try:
        changed = folder.stat().st_mtime_ns
    except OSError:
        return Beside(str(folder), ())
    found: list[tuple[str, int, int]] = []
    for name in _matching(str(folder), changed, patterns):
        try:
            status = (folder / name).lstat()
        except OSError:
            continue
        if status.st_size <= MOST_BYTES:
            found.append((name, status.st_mtime_ns, status.st_size))
    return Beside(str(folder), tuple(found))


def file_beside(path: Path) -> Beside:
    """Return one file of a known name, or the same gzipped; none where there is neither."""
    for candidate in (path, path.with_name(f"{path.name}.gz")):
        try:
            status = candidate.lstat()
        except OSError:
            continue
        if S_ISREG(status.st_mode) and status.st_size <= MOST_BYTES:
            entry = (candidate.name, status.st_mtime_ns, status.st_size)
            return Beside(str(path.parent), (entry,))
    return Beside(str(path.parent), ())


@lru_cache(maxsize=2)
def documents_beside(files: Beside) -> tuple[tuple[str, Json], ...]:
    """Return the documents of files with the name of their file; odd ones are passed over."""
    found: list[tuple[str, Json]] = []
    for name, _, _ in files.files:
        try:
            for item in documents(Path(files.folder, name)):
                if isinstance(item, Document):
                    found.append((name, item.value))
        except TraceDanceError:
            continue
    return tuple(found)


@lru_cache(maxsize=16)
def _matching(folder: str, changed: int, patterns: tuple[str, ...]) -> tuple[str, ...]:
    found = [name for name in _listing(folder, changed) if _matches(name, patterns)]
    return tuple(found[:MOST_FILES])


@lru_cache(maxsize=4)
def _listing(folder: str, _changed: int) -> tuple[str, ...]:
    found: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if len(found) == _MOST_ENTRIES:
                    break
                if entry.is_file(follow_symlinks=False):
                    found.append(entry.name)
    except OSError:
        return ()
    return tuple(sorted(found))


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    plain = name.lower().removesuffix(".gz")
    return any(fnmatchcase(plain, pattern) for pattern in patterns)

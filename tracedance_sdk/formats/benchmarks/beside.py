"""Files that lie beside a log and say more about its runs: verdicts, labels, reports."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Final

from tracedance_sdk.errors import TraceDanceError
from tracedance_sdk.formats.opening import Document, documents
from tracedance_sdk.trace import Json

MOST_BYTES: Final = 16 * 1024**2
"""Largest file beside a log that is looked into, as it lies on disk."""

_MOST_ENTRIES: Final = 20_000


def names_beside(folder: Path, *patterns: str) -> tuple[str, ...]:
    """Return the names of a folder's regular files that match, sorted; none when unreadable.

    Links are left out, so that a folder of strangers cannot lead elsewhere.

    Args:
        folder: Where to look.
        patterns: Such as ``*report*.json``, of lower-case names without ``.gz``.
    """
    try:
        changed = folder.stat().st_mtime_ns
    except OSError:
        return ()
    return tuple(name for name in _listing(str(folder), changed) if _matches(name, patterns))


def read_beside(path: Path) -> tuple[Json, ...]:
    """Return the documents of a file beside a log; none where it is absent, odd or too large."""
    for candidate in (path, path.with_name(f"{path.name}.gz")):
        try:
            status = candidate.lstat()
        except OSError:
            continue
        if candidate.is_symlink() or status.st_size > MOST_BYTES:
            continue
        return _contents(str(candidate), status.st_mtime_ns, status.st_size)
    return ()


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    plain = name.lower().removesuffix(".gz")
    return any(fnmatchcase(plain, pattern) for pattern in patterns)


@lru_cache(maxsize=8)
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


@lru_cache(maxsize=2)
def _contents(path: str, _changed: int, _size: int) -> tuple[Json, ...]:
    try:
        return tuple(item.value for item in documents(path) if isinstance(item, Document))
    except TraceDanceError:
        return ()

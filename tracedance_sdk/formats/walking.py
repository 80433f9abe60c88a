"""Walk folders for what may hold traces, without reading any."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tracedance_sdk.errors import TraceDanceError
from tracedance_sdk.formats.importing import Collector
from tracedance_sdk.formats.opening import read_head

_logger: Final = logging.getLogger(__name__)


class TraceSource(NamedTuple):
    """A file, or a folder that is one source as a whole, such as a journal.

    Attributes:
        is_named: The caller named it, so that a source nobody recognises is a problem.
    """

    path: Path
    is_named: bool


def walk(
    paths: Iterable[str | os.PathLike[str]], readers: Sequence[Collector]
) -> Iterator[TraceSource]:
    """Yield the sources below some paths; see `find_sources`.

    Args:
        paths: Files or folders, in the order wanted.
        readers: Who may take a folder as one source.
    """
    seen: set[tuple[int, int]] = set()
    for path in paths:
        yield from _sources(Path(path), readers, seen)


def sniffs(reader: Collector, path: Path, head: bytes) -> bool:
    """Whether a collector says that it reads a source; one that fails does not."""
    try:
        return bool(reader.sniff(path, head))
    except Exception as error:  # noqa: BLE001 - another package's code may fail in any way
        _logger.warning("collector %r failed on %s: %r", reader.name, path, error)
        return False


def _sources(
    named: Path, readers: Sequence[Collector], seen: set[tuple[int, int]]
) -> Iterator[TraceSource]:
    pending: list[tuple[Path, Collector | None]] = [(named, None)]
    while pending:
        path, above = pending.pop()
        if not path.is_dir():
            if not _belongs_to(above, path):
                yield TraceSource(path, is_named=path is named)
        elif _is_new(path, seen):
            owner = next((reader for reader in readers if sniffs(reader, path, b"")), None)
            if owner is not None:
                yield TraceSource(path, is_named=path is named)
            try:
                entries = sorted(path.iterdir(), reverse=True)
            except OSError:
                # Reading it as a source says why it cannot be read.
                yield TraceSource(path, is_named=True)
                continue
            pending.extend((e, owner or above) for e in entries if not e.name.startswith("."))


def _is_new(folder: Path, seen: set[tuple[int, int]]) -> bool:
    status = folder.stat()
    key = (status.st_dev, status.st_ino)
    if key in seen:
        return False
    seen.add(key)
    return True


def _belongs_to(owner: Collector | None, path: Path) -> bool:
    """Whether a file is part of the folder above it that `owner` takes as one source."""
    if owner is None:
        return False
    try:
        return sniffs(owner, path, read_head(path))
    except TraceDanceError:
        return False

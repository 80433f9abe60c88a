"""Find traces in files and folders, with whatever collectors are installed.

One unreadable file never stops the rest: it becomes a problem beside the traces.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Final, NamedTuple

from tracedance_sdk.errors import TraceDanceError, UnreadableFile
from tracedance_sdk.formats.detection import forget_surveyed, strength
from tracedance_sdk.formats.importing import Collected, Collector, ImportProblem
from tracedance_sdk.formats.opening import HEAD_BYTES, read_head
from tracedance_sdk.formats.peeking import forget_peeked
from tracedance_sdk.formats.unrecognised import why_unrecognised
from tracedance_sdk.trace import MAX_FILE_BYTES, Trace, check_file

GROUP: Final = "tracedance.collectors"
"""The entry point group of collectors."""

MOST_PEEKED_BYTES: Final = 8 * 1024**2
"""How much of a file named like JSON is looked at when its first bytes do not tell what it is."""

_LIKELY: Final = {".json", ".jsonl", ".ndjson"}
_logger = logging.getLogger(__name__)


def load_collectors() -> tuple[Collector, ...]:
    """Return the installed collectors in the order of their names.

    One that cannot be loaded is left out with one line of warning.
    """
    found = sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value))
    return tuple(item for point in found if (item := _loaded(point)) is not None)


def _loaded(point: EntryPoint) -> Collector | None:
    try:
        found = point.load()
    except Exception as error:  # noqa: BLE001 - another package's import may fail in any way
        _logger.warning("collector %r left out: %s: %s", point.name, type(error).__name__, error)
        return None
    if all(hasattr(found, member) for member in ("name", "sniff", "collect")):
        return found  # type: ignore[no-any-return]  # whatever the other package exposes
    _logger.warning("collector %r left out: %s is no collector", point.name, point.value)
    return None


def collect_paths(
    paths: Iterable[str | os.PathLike[str]],
    *,
    collectors: Sequence[Collector] | None = None,
    max_file_bytes: int = MAX_FILE_BYTES,
) -> Iterator[Collected]:
    """Yield every trace of files and folders, one at a time.

    Folders are walked in sorted order, hidden entries left out; a link that leads back to a
    folder already seen is not followed. In a folder, a file that no collector recognises is a
    problem only when its name says JSON; a file named by the caller always is.

    Args:
        paths: Files or folders, in the order wanted.
        collectors: Who may read; by default all that are installed.
        max_file_bytes: Larger files are problems.

    Yields:
        A trace or a problem, with its source.
    """
    readers = load_collectors() if collectors is None else tuple(collectors)
    for source in find_sources(paths, collectors=readers):
        yield from collect_source(source, collectors=readers, max_file_bytes=max_file_bytes)


class TraceSource(NamedTuple):
    """A file, or a folder that is one source as a whole, such as a journal.

    Attributes:
        is_named: The caller named it, so that a source nobody recognises is a problem.
    """

    path: Path
    is_named: bool


def find_sources(
    paths: Iterable[str | os.PathLike[str]], *, collectors: Sequence[Collector] | None = None
) -> Iterator[TraceSource]:
    """Yield what `collect_paths` would read, unread: for those who share out the work."""
    readers = load_collectors() if collectors is None else tuple(collectors)
    seen: set[tuple[int, int]] = set()
    for path in paths:
        yield from _sources(Path(path), readers, seen)


def collect_source(
    source: TraceSource,
    *,
    collectors: Sequence[Collector] | None = None,
    max_file_bytes: int = MAX_FILE_BYTES,
) -> Iterator[Collected]:
    """Yield the traces and problems of one source, as `collect_paths` does."""
    readers = load_collectors() if collectors is None else tuple(collectors)
    yield from _collect(source.path, readers, is_named=source.is_named, limit=max_file_bytes)


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
            owner = next((reader for reader in readers if _sniffs(reader, path, b"")), None)
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
        return _sniffs(owner, path, read_head(path))
    except TraceDanceError:
        return False


def _collect(
    path: Path, readers: Sequence[Collector], *, is_named: bool, limit: int
) -> Iterator[Collected]:
    try:
        reader, why_not = _reader_of(path, readers, limit)
    except TraceDanceError as error:
        if is_named or _is_likely(path):
            yield Collected(path, None, ImportProblem(str(path), str(error)))
        return
    finally:
        forget_peeked()
        forget_surveyed()
    if reader is None:
        if is_named or _is_likely(path):
            names = ", ".join(item.name for item in readers) or "none is installed"
            reason = f"no collector recognises this file ({names}): {why_not}"
            yield Collected(path, None, ImportProblem(str(path), reason))
        return
    for found in _guarded(reader, path):
        yield Collected(path, reader.name, found)


def _reader_of(
    path: Path, readers: Sequence[Collector], limit: int
) -> tuple[Collector | None, str]:
    """Return who reads a source, by its first bytes or some more; or None and why not."""
    if path.is_dir():
        _check_folder(path)
        return next((reader for reader in readers if _sniffs(reader, path, b"")), None), "a folder"
    check_file(path, limit=limit)
    size = HEAD_BYTES
    head = read_head(path, size)
    reader = _best(readers, path, head)
    if reader is None and len(head) == size and _is_likely(path):
        size = MOST_PEEKED_BYTES
        head = read_head(path, size)
        reader = _best(readers, path, head)
    why_not = "" if reader is not None else why_unrecognised(head, is_whole=len(head) < size)
    return reader, why_not


def _best(readers: Sequence[Collector], path: Path, head: bytes) -> Collector | None:
    """Return who knows a file best: by signatures the heaviest, before them who only sniffs."""
    found: list[tuple[float, Collector]] = []
    for reader in readers:
        signatures = getattr(reader, "signatures", None)
        if signatures is not None:
            weight = strength(signatures, path, head)
            if weight is not None:
                found.append((weight, reader))
        elif _sniffs(reader, path, head):
            return reader
    return max(found, key=lambda item: item[0])[1] if found else None


def _check_folder(path: Path) -> None:
    try:
        os.scandir(path).close()
    except OSError as error:
        raise UnreadableFile(f"the folder {str(path)!r} cannot be read: {error}") from error


def _sniffs(reader: Collector, path: Path, head: bytes) -> bool:
    try:
        return bool(reader.sniff(path, head))
    except Exception as error:  # noqa: BLE001 - another package's code may fail in any way
        _logger.warning("collector %r failed on %s: %r", reader.name, path, error)
        return False


def _guarded(reader: Collector, path: Path) -> Iterator[Trace | ImportProblem]:
    try:
        yield from reader.collect(path)
    except TraceDanceError as error:
        yield ImportProblem(str(path), str(error))
    except Exception as error:  # noqa: BLE001 - another package's code may fail in any way
        reason = f"collector {reader.name!r} failed: {type(error).__name__}: {error}"
        yield ImportProblem(str(path), reason)


def _is_likely(path: Path) -> bool:
    return bool(set(path.suffixes[-2:]) & _LIKELY)

"""Find traces in files and folders, with whatever collectors are installed.

One unreadable file never stops the rest: it becomes a problem beside the traces.
"""

from __future__ import annotations

import difflib
import logging
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Final, NamedTuple

from tracedance_sdk.errors import InvalidOption, TraceDanceError
from tracedance_sdk.formats.archived import ArchiveNames
from tracedance_sdk.formats.detection import forget_surveyed
from tracedance_sdk.formats.guarding import unexpected
from tracedance_sdk.formats.importing import (
    Collected,
    Collector,
    ImportProblem,
    StoredDocument,
)
from tracedance_sdk.formats.opening import MAX_LINES_BYTES
from tracedance_sdk.formats.origins import origin_rules
from tracedance_sdk.formats.peeking import forget_peeked
from tracedance_sdk.formats.recognising import Recognised, is_likely, is_packed, recognise
from tracedance_sdk.formats.unpacking import unpack
from tracedance_sdk.formats.walking import TraceSource, walk
from tracedance_sdk.trace import Trace

GROUP: Final = "tracedance.collectors"
"""The entry point group of collectors."""

_logger: Final = logging.getLogger(__name__)

OnCompanion = Callable[[Path, str], None]
"""Is told of a file that was passed over: where it lies, and the collector of its runs."""


def load_collectors() -> tuple[Collector, ...]:
    """Return the installed collectors in the order of their names.

    One that cannot be loaded is left out with one line of warning.
    """
    found = sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value))
    return tuple(item for point in found if (item := _loaded(point)) is not None)


def named_collector(name: str) -> Collector:
    """Return the installed collector of a name.

    Raises:
        InvalidOption: There is none; the message says which are near.
    """
    installed = {reader.name: reader for reader in load_collectors()}
    if name in installed:
        return installed[name]
    near = difflib.get_close_matches(name, installed, n=3) or sorted(installed)
    raise InvalidOption(f"no collector {name!r}; installed are {', '.join(near)}")


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
    max_file_bytes: int = MAX_LINES_BYTES,
) -> Iterator[Collected]:
    """Yield every trace of files and folders, one at a time.

    Folders are walked in sorted order, hidden entries left out; a link that leads back to a
    folder already seen is not followed. In a folder, a file that no collector recognises is a
    problem only when its name says JSON, and one that only belongs to runs is passed over; a file
    named by the caller always is a problem then. A zip archive is read as a folder of its files;
    what lies in it is called ``logs.zip!run.json``.

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


def find_sources(
    paths: Iterable[str | os.PathLike[str]], *, collectors: Sequence[Collector] | None = None
) -> Iterator[TraceSource]:
    """Yield what `collect_paths` would read, unread: for those who share out the work."""
    yield from walk(paths, load_collectors() if collectors is None else tuple(collectors))


def collect_source(
    source: TraceSource,
    *,
    collectors: Sequence[Collector] | None = None,
    max_file_bytes: int = MAX_LINES_BYTES,
    is_forced: bool = False,
    on_companion: OnCompanion | None = None,
) -> Iterator[Collected]:
    """Yield the traces and problems of one source, as `collect_paths` does.

    Args:
        source: A file or folder.
        collectors: Who may read; by default all that are installed.
        max_file_bytes: A larger file is a problem.
        is_forced: The first collector reads a file that the caller named, whatever it looks like.
        on_companion: Is told of a file in a folder that belongs to runs and holds none.

    Raises:
        InvalidOption: The rules that ``TRACEDANCE_ORIGINS`` names cannot be used.
    """
    origin_rules()  # broken ones are one error, not one of every message
    readers = load_collectors() if collectors is None else tuple(collectors)
    plan = _Plan(readers, max_file_bytes, is_forced, on_companion)
    yield from _collect(source.path, plan, is_named=source.is_named)


class _Plan(NamedTuple):
    readers: tuple[Collector, ...]
    limit: int
    is_forced: bool
    on_companion: OnCompanion | None


def _collect(
    path: Path, plan: _Plan, *, is_named: bool, in_archive: bool = False
) -> Iterator[Collected]:
    try:
        found = _recognised(path, plan, is_named=is_named)
    except TraceDanceError as error:
        if is_named or is_likely(path) or is_packed(path):
            yield Collected(path, None, ImportProblem(str(path), str(error)))
        return
    finally:
        forget_peeked()
        forget_surveyed()
    if found.reader is not None:
        for item in _guarded(found.reader, path):
            if isinstance(item, StoredDocument):
                yield Collected(path, found.reader.name, item.trace, item.data)
            else:
                yield Collected(path, found.reader.name, item)
    elif found.is_archive and (is_named or path.suffix == ".zip"):
        yield from _nested(path) if in_archive else _collect_archive(path, plan, is_named=is_named)
    elif found.belongs_to is not None and not is_named:
        if plan.on_companion is not None:
            plan.on_companion(path, found.belongs_to)
    elif is_named or is_likely(path):
        yield Collected(path, None, ImportProblem(str(path), _why_not(found, plan)))


def _recognised(path: Path, plan: _Plan, *, is_named: bool) -> Recognised:
    found = recognise(path, plan.readers, limit=plan.limit)
    if plan.is_forced and is_named and not found.is_archive and not path.is_dir():
        return Recognised(plan.readers[0])
    return found


def _why_not(found: Recognised, plan: _Plan) -> str:
    if found.belongs_to is not None:
        return f"it belongs to runs that {found.belongs_to!r} reads, and holds none itself"
    if found.is_archive:
        return "an archive; name it, or call it .zip"
    if not plan.readers:
        return "no collector is installed"
    return f"no collector recognises this file: {found.why_not}"


def _nested(path: Path) -> Iterator[Collected]:
    reason = "an archive inside an archive is not opened; unpack it yourself"
    yield Collected(path, None, ImportProblem(str(path), reason))


def _collect_archive(archive: Path, plan: _Plan, *, is_named: bool) -> Iterator[Collected]:
    with tempfile.TemporaryDirectory(prefix="tracedance-", ignore_cleanup_errors=True) as folder:
        root = Path(folder).resolve()
        names = ArchiveNames(archive, root)

        def passed_over(path: Path, collector: str) -> None:
            if plan.on_companion is not None:
                plan.on_companion(names.path(path), collector)

        inside = plan._replace(on_companion=passed_over)
        is_empty = True
        for item in _of_archive(archive, root, inside):
            is_empty = False
            yield names.collected(item)
        if is_empty and is_named:
            yield Collected(archive, None, ImportProblem(str(archive), "no traces in this archive"))


def _of_archive(archive: Path, root: Path, plan: _Plan) -> Iterator[Collected]:
    try:
        for problem in unpack(archive, root):
            yield Collected(Path(problem.path), None, problem)
    except TraceDanceError as error:
        yield Collected(archive, None, ImportProblem(str(archive), str(error)))
        return
    for source in walk([root], plan.readers):
        yield from _collect(source.path, plan, is_named=False, in_archive=True)


def _guarded(reader: Collector, path: Path) -> Iterator[Trace | StoredDocument | ImportProblem]:
    collect = getattr(reader, "collect_documents", reader.collect)
    try:
        yield from collect(path)
    except TraceDanceError as error:
        yield ImportProblem(str(path), str(error))
    except Exception as error:  # noqa: BLE001 - another package's code may fail in any way
        reason = f"collector {reader.name!r} failed: {_said(error)}"
        yield ImportProblem(str(path), reason)


def _said(error: Exception) -> str:
    if type(error).__name__ == "ValidationError":
        return unexpected(error)
    return f"{type(error).__name__}: {error}"

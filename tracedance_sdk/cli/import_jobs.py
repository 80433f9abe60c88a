"""What `tracedance import` is to do, and doing it in one process or several."""

from __future__ import annotations

import multiprocessing
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Final, NamedTuple

from tracedance_sdk.errors import InvalidOption, TraceDanceError
from tracedance_sdk.formats import (
    Collector,
    TraceSource,
    load_collectors,
    load_mapping,
    named_collector,
    tool_table,
)
from tracedance_sdk.recording import (
    Pseudonymiser,
    Redactor,
    SecretRedactor,
    read_names,
    redaction_key,
)
from tracedance_sdk.store import (
    ImportPlan,
    ImportReport,
    JSONRedactor,
    TraceStore,
    end_with_parent,
    import_sources,
    require_store_extra,
)

_Store = TraceStore | Callable[[], TraceStore]

_PARTS: Final = "parts"
"""The folder by which a store is told from a folder of something else."""

_CHUNK_BYTES: Final = 32 * 1024**2
_CHUNK_SOURCES: Final = 500


class ImportOptions(NamedTuple):
    """What the user asked for; small enough to hand to another process.

    Attributes:
        store: Folder of the store.
        roots: What is imported.
        collector: Name of the only collector that may read; None for all.
        mapping: File that describes the user's own records.
        redact: Mask secrets.
        pseudonymise: Replace personal text.
        names: File with names of people.
        tools: File with the user's own tools.
    """

    store: Path
    roots: tuple[Path, ...] = ()
    collector: str | None = None
    mapping: Path | None = None
    redact: bool = True
    pseudonymise: bool = False
    names: Path | None = None
    tools: Path | None = None


class _Redactors:
    """All that the options ask for, one after another, with the key that lies in the store.

    As long as there is no store the key is a passing one: no trace has come yet, and what is to be
    cleaned are lines about what could not be read.
    """

    def __init__(self, options: ImportOptions) -> None:
        self._options = options
        self._people = [] if options.names is None else read_names(options.names)
        self._is_lasting = False
        self._redactors: list[Redactor] = []
        self.protects = ("secrets",) * options.redact + ("people",) * options.pseudonymise
        self._open()

    @property
    def counts(self) -> Counter[str]:
        found: Counter[str] = Counter()
        for redactor in self._redactors:
            found.update(getattr(redactor, "counts", {}))
        return found

    def redact(self, data: bytes) -> bytes:
        if not self._is_lasting:
            self._open()
        for redactor in self._redactors:
            data = redactor.redact(data)
        return data

    def _open(self) -> None:
        options = self._options
        folder = options.store if (options.store / _PARTS).is_dir() else None
        if self._redactors and folder is None:
            return
        key = redaction_key(folder)
        self._is_lasting = folder is not None
        self._redactors = []
        if options.redact:
            self._redactors.append(SecretRedactor(key=key))
        if options.pseudonymise:
            self._redactors.append(Pseudonymiser(key=key, people=self._people, folder=folder))


def chosen_collectors(options: ImportOptions) -> tuple[Collector, ...]:
    """Return who may read.

    Raises:
        TraceDanceError: No such collector, or a mapping that cannot be used.
    """
    if options.mapping is not None and options.collector is not None:
        raise InvalidOption("give either --from or --mapping: a mapping is a collector of its own")
    if options.mapping is not None:
        return (load_mapping(options.mapping), *load_collectors())
    if options.collector is not None:
        return (named_collector(options.collector),)
    return load_collectors()


def chosen_redactor(options: ImportOptions) -> JSONRedactor | None:
    """Return what masks and pseudonymises as the options say; None when nothing does.

    Raises:
        TraceDanceError: The key or the list of names cannot be used.
    """
    return _Redactors(options) if options.redact or options.pseudonymise else None


def open_import(options: ImportOptions) -> tuple[ImportPlan, _Store]:
    """Open all that the options name, so that what is wrong with it is said before any work.

    Raises:
        TraceDanceError: Something that cannot be used.
    """
    collectors = chosen_collectors(options)
    table = None if options.tools is None else tool_table(options.tools)
    store = _store(options.store)
    plan = ImportPlan(
        collectors=collectors,
        is_forced=options.collector is not None or options.mapping is not None,
        redactor=chosen_redactor(options),
        table=table,
        roots=options.roots,
    )
    return plan, store


def _store(folder: Path) -> _Store:
    """Open a store; one that is not there is made when the first trace comes."""
    require_store_extra()
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        return TraceStore.create(folder)
    return lambda: TraceStore.create(folder)


def import_all(
    options: ImportOptions,
    sources: Sequence[TraceSource],
    *,
    jobs: int,
    on_done: Callable[[int], None],
) -> ImportReport:
    """Import sources into the store.

    Args:
        options: What and how.
        sources: In their order; several processes take parts of neighbours.
        jobs: Most processes to use.
        on_done: Is told how many more sources have been read.

    Raises:
        TraceDanceError: The store cannot be written to, or a process ended before its work did.
    """
    plan, store = open_import(options)
    parts = list(_parts(sources))
    if jobs == 1 or len(parts) < 2:
        return import_sources(sources, store, plan=plan, on_done=lambda _source: on_done(1))
    report = ImportReport()
    # A fresh interpreter: a copy of this one would carry its threads' locks along.
    context = multiprocessing.get_context("spawn")
    n_processes = min(jobs, len(parts))
    with ProcessPoolExecutor(n_processes, context, _open_in_worker, (options,)) as pool:
        try:
            for part, found in zip(parts, pool.map(_import_in_worker, parts), strict=True):
                report.add(found)
                on_done(len(part))
        except BrokenProcessPool as error:
            raise TraceDanceError(
                "an importing process ended unexpectedly, perhaps for want of memory; try --jobs 1"
            ) from error
    return report


def _parts(sources: Sequence[TraceSource]) -> Iterator[list[TraceSource]]:
    """Yield neighbours together: they are likely to be of one session."""
    part: list[TraceSource] = []
    size = 0
    for source in sources:
        part.append(source)
        size += _size(source.path)
        if size >= _CHUNK_BYTES or len(part) >= _CHUNK_SOURCES:
            yield part
            part, size = [], 0
    if part:
        yield part


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except (OSError, ValueError):
        return 0


_worker: list[tuple[ImportPlan, _Store]] = []


def _open_in_worker(options: ImportOptions) -> None:
    end_with_parent()
    _worker.append(open_import(options))


def _import_in_worker(part: list[TraceSource]) -> ImportReport:
    plan, store = _worker[0]
    return import_sources(part, store, plan=plan)

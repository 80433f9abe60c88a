"""A whole store is gone through, its partitions beside one another in several processes."""

from __future__ import annotations

import signal
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import NamedTuple, Protocol

from tracedance_sdk.behaviors.catalogue import is_packaged
from tracedance_sdk.behaviors.foreign.search import check_foreign
from tracedance_sdk.behaviors.foreign.steady_sql import check_steady
from tracedance_sdk.behaviors.scanning.choosing import Caps, chosen
from tracedance_sdk.behaviors.scanning.kept_outcomes import KeptOutcomes
from tracedance_sdk.behaviors.scanning.occurrences import Occurrence
from tracedance_sdk.behaviors.scanning.partition import (
    DIMENSIONS,
    Outcome,
    Wanted,
    partition_outcome,
)
from tracedance_sdk.errors import InvalidOption, StoreError
from tracedance_sdk.store import PartitionKey, TraceStore, end_with_parent, interruptions_held


class Funnel(NamedTuple):
    """How many are left of one behaviour after each step.

    Attributes:
        behavior: Its id.
        sessions: Sessions of the store.
        traces: Traces of the store.
        candidates: Places that the prefilter named.
        candidate_traces: Traces that it named a place in.
        hits: Occurrences, one for each source turn.
        hit_sessions: Sessions with an occurrence.
        near_duplicates: Occurrences left out for a context that nearly equals another's.
        capped: Occurrences left out because enough of their session, project or user are kept.
        kept: Occurrences that are left.
        errors: Lines about places that could not be looked at.
    """

    behavior: str
    sessions: int
    traces: int
    candidates: int
    candidate_traces: int
    hits: int
    hit_sessions: int
    near_duplicates: int
    capped: int
    kept: int
    errors: int


class StoreScan(NamedTuple):
    """What a scan of a store says.

    Attributes:
        funnels: One for each behaviour, in the order they were wanted.
        occurrences: By id of the behaviour, in seeded order, those left out marked as dropped.
        sessions: How many sessions were looked at, by each of `DIMENSIONS` and its values.
        errors: Why places could not be looked at, one line each.
        failed: Ids of behaviours that were not looked for to the end, as their SQL or their source
            took too long or too much. What is said of the others is whole.
    """

    funnels: tuple[Funnel, ...]
    occurrences: dict[str, list[Occurrence]]
    sessions: dict[str, dict[str, int]]
    errors: tuple[str, ...]
    failed: tuple[str, ...] = ()

    def kept(self, behavior: str) -> list[Occurrence]:
        """Return the occurrences of a behaviour that are kept, in seeded order."""
        return [item for item in self.occurrences[behavior] if item.dropped is None]


class OnPartition(Protocol):
    """Whoever is told of each partition that is done."""

    def __call__(self, done: int, total: int, /, *, was_kept: bool) -> None:
        """Take note."""


def scan_store(
    store: TraceStore,
    wanted: Sequence[Wanted],
    *,
    caps: Caps | None = None,
    where: str | None = None,
    processes: int = 1,
    kept: Path | None = None,
    on_partition: OnPartition | None = None,
) -> StoreScan:
    """Look for behaviours in all traces of a store.

    The answer depends on the store, the behaviours and the caps alone: not on how many processes
    share the work, nor on the order in which they are done.

    Args:
        store: In a local folder; features that it lacks are derived first.
        wanted: The behaviours, each once.
        caps: What is kept of near-duplicates and of one origin.
        where: SQL over the view `traces`: only these are looked at, and counted.
        processes: How many share the work, a partition each. A program that asks for several needs
            the usual guard, ``if __name__ == "__main__":``.
        kept: A folder where the outcome of each partition is kept as soon as it is known; what it
            holds for the same partition and the same behaviours is not looked for again.
        on_partition: Called after each partition, for showing progress.

    Raises:
        InvalidOption: No behaviours, or one of them twice.
        InvalidSpec: The source of a behaviour of a user's own is refused.
        InvalidQuery: Its SQL is, or the condition, such as one that asks for the clock or for
            chance.
        StoreError: The store is damaged or lies at a URL, or a process ended before its time.
        MissingDependency: DuckDB or datasketch is not installed.
    """
    folder = _checked(store, wanted, where)
    ids = [item.behavior.id for item in wanted]
    condition = "true" if where is None else where
    keys = store.partitions()
    known = KeptOutcomes(kept, wanted, condition) if kept is not None else None
    outcomes: dict[str, Outcome] = {}
    for key in keys if known is not None else ():
        found = known.get(key) if known is not None else None
        if found is not None:
            outcomes[key.name] = found
            if on_partition is not None:
                on_partition(len(outcomes), len(keys), was_kept=True)
    left = [key for key in keys if key.name not in outcomes]
    for key, outcome in _outcomes(_Job(folder, wanted, condition), left, processes):
        outcomes[key.name] = outcome
        if known is not None and not outcome.is_stopped:
            known.keep(key, outcome)
        if on_partition is not None:
            on_partition(len(outcomes), len(keys), was_kept=False)
    return _joined([outcomes[key.name] for key in keys], ids, caps)


def _checked(store: TraceStore, wanted: Sequence[Wanted], where: str | None) -> Path:
    """Return the folder of a store if a scan can be asked for; see `scan_store`."""
    ids = [item.behavior.id for item in wanted]
    if not ids or len(set(ids)) < len(ids):
        raise InvalidOption(f"each behaviour is wanted once, and one at least, not {ids}")
    for item in wanted:
        if not is_packaged(item.behavior):
            check_foreign(item.behavior)
    folder = store.path
    if folder is None:
        raise StoreError(f"{store!r} lies at a URL; import or copy it to search it for behaviours")
    if where is not None:
        asked = f"SELECT count(*) FROM traces WHERE ({where}\n)"  # noqa: S608 - it is looked at
        store.select(asked)
        check_steady(asked, where="where")
    return folder


class _Job(NamedTuple):
    folder: Path
    wanted: Sequence[Wanted]
    where: str

    def run(self, key: PartitionKey) -> Outcome:
        return partition_outcome(self.folder, key, self.wanted, self.where)


def _outcomes(
    job: _Job, keys: Sequence[PartitionKey], processes: int
) -> Iterator[tuple[PartitionKey, Outcome]]:
    """Yield partitions with their outcomes, in the order in which they are done."""
    if processes <= 1 or len(keys) <= 1:
        for key in keys:
            yield key, job.run(key)
        return
    number = min(processes, len(keys))
    others = active_children()
    pool = ProcessPoolExecutor(number, get_context("spawn"), _begin)
    try:
        with interruptions_held():
            futures = {pool.submit(job.run, key): key for key in keys}
        for future in as_completed(futures):
            yield futures[future], future.result()
    except BrokenProcessPool as error:
        hint = "in a program of your own, processes=... belongs under a main guard"
        raise StoreError(f"a process that scanned ended before its time; {hint}") from error
    except BaseException:
        for process in active_children():
            if process not in others:
                process.kill()  # a partition may take long, and nobody wants it any more
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who started this process ends it
    end_with_parent()


def _joined(outcomes: Iterable[Outcome], ids: Sequence[str], caps: Caps | None) -> StoreScan:
    sessions: dict[str, Counter[str]] = {name: Counter() for name in DIMENSIONS}
    totals: dict[str, Counter[str]] = {name: Counter() for name in ids}
    occurrences: defaultdict[str, list[Occurrence]] = defaultdict(list)
    signatures: dict[str, tuple[int, ...]] = {}
    errors: list[str] = []
    failures: Counter[tuple[str, str]] = Counter()
    traces = 0
    for outcome in outcomes:
        traces += outcome.traces
        for name, counts in outcome.sessions.items():
            sessions[name].update(counts)
        signatures.update(outcome.signatures)
        for item in outcome.counted:
            totals[item.behavior].update(
                candidates=item.candidates,
                traces=item.traces,
                errors=len(item.errors) + (item.failure is not None),
            )
            if item.failure is not None:
                failures[item.behavior, item.failure] += 1
            errors += (f"{item.behavior}: {error}" for error in item.errors)
        for occurrence in outcome.occurrences:
            occurrences[occurrence.behavior].append(occurrence)
    told = {name: chosen(occurrences[name], signatures, caps) for name in ids}
    funnels = tuple(
        _funnel(name, totals[name], told[name], sessions=sessions["week"].total(), traces=traces)
        for name in ids
    )
    ordered = {name: dict(sorted(counts.items())) for name, counts in sessions.items()}
    for (name, failure), number in failures.items():
        more = f" (and so in {number - 1:,} other parts)" if number > 1 else ""
        errors.append(f"{name}: {failure}{more}")
    failed = tuple(name for name in ids if any(name == item[0] for item in failures))
    return StoreScan(funnels, told, ordered, tuple(errors), failed)


def _funnel(
    name: str, total: Counter[str], found: Sequence[Occurrence], *, sessions: int, traces: int
) -> Funnel:
    near = sum((item.dropped or "").startswith("near-duplicate") for item in found)
    kept = sum(item.dropped is None for item in found)
    return Funnel(
        behavior=name,
        sessions=sessions,
        traces=traces,
        candidates=total["candidates"],
        candidate_traces=total["traces"],
        hits=len(found),
        hit_sessions=len({item.session for item in found}),
        near_duplicates=near,
        capped=len(found) - kept - near,
        kept=kept,
        errors=total["errors"],
    )

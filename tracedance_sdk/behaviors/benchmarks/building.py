"""A benchmark is built: occurrences are cut, protected, confirmed where asked, and written."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from tracedance_sdk.behaviors.benchmarks.about import (
    BuildSettings,
    Tally,
    Work,
    about_benchmark,
    name_of,
)
from tracedance_sdk.behaviors.benchmarks.auditing import audit_sample, joint_audit_sample
from tracedance_sdk.behaviors.benchmarks.confirming import Asked, Confirmation, Confirmer
from tracedance_sdk.behaviors.benchmarks.datasheet import datasheet
from tracedance_sdk.behaviors.benchmarks.file import (
    Construction,
    check_replaceable,
    write_benchmark,
)
from tracedance_sdk.behaviors.benchmarks.gathering import gather
from tracedance_sdk.behaviors.benchmarks.holding import held
from tracedance_sdk.behaviors.benchmarks.instances import (
    canary_of,
    made_construction,
    made_instance,
    source_trace,
)
from tracedance_sdk.behaviors.benchmarks.nearest import too_few
from tracedance_sdk.behaviors.benchmarks.places import CutPlace, cuts
from tracedance_sdk.behaviors.benchmarks.protecting import Protection
from tracedance_sdk.behaviors.benchmarks.query import Query
from tracedance_sdk.behaviors.scanning.partition import Wanted
from tracedance_sdk.behaviors.scanning.store_scan import OnPartition, scan_store
from tracedance_sdk.errors import BenchmarkRejected, InvalidOption, StoreError
from tracedance_sdk.replay import Instance
from tracedance_sdk.store import TraceStore


class Built(NamedTuple):
    """A benchmark that was written.

    Attributes:
        path: Of its instances.
        about: What it says of itself.
        refusals: Why places were not cut, the first of each check.
        errors: Why places could not be looked at, one line each.
    """

    path: Path
    about: dict[str, Any]
    refusals: dict[str, str]
    errors: tuple[str, ...] = ()


def build_benchmarks(
    query: Query,
    store: TraceStore,
    out: str | os.PathLike[str],
    *,
    settings: BuildSettings | None = None,
    confirmer: Confirmer | None = None,
    on_partition: OnPartition | None = None,
    on_built: Callable[[Built], None] | None = None,
) -> list[Built | BenchmarkRejected]:
    """Build what is asked for: one benchmark, or with OR one of each behaviour.

    Args:
        query: Any.
        store: See `build_benchmark`.
        out: Of the instances; with OR, ``b.jsonl`` becomes ``b.F01.jsonl`` and ``b.F02.jsonl``.
        settings: See `build_benchmark`.
        confirmer: See `build_benchmark`.
        on_partition: See `build_benchmark`.
        on_built: Is told of each benchmark once it is written.

    Returns:
        For each part of the query what was built, or why it was not.

    Raises:
        InvalidOption: Another build writes one of the files, or one that is no benchmark's is
            there and would be replaced.
        StoreError: The store is damaged or lies at a URL.
        UnreadableFile: The files cannot be written.
    """
    parts = {_part_path(Path(out), part, query): part for part in query.parts()}
    found: list[Built | BenchmarkRejected] = []
    with held(parts):
        for path in parts:
            check_replaceable(path)
        for path, part in parts.items():
            how = settings or BuildSettings()
            try:
                made = _built(part, store, path, how, (confirmer, on_partition))
            except BenchmarkRejected as error:
                found.append(error.of(part.name) if len(parts) > 1 else error)
                continue
            found.append(made)
            if on_built is not None:
                on_built(made)
    return found


def build_benchmark(
    query: Query,
    store: TraceStore,
    out: str | os.PathLike[str],
    *,
    settings: BuildSettings | None = None,
    confirmer: Confirmer | None = None,
    on_partition: OnPartition | None = None,
) -> Built:
    """Build one benchmark and write its files; nothing is written when it is rejected.

    Equal stores, queries, settings and confirmations give the same bytes. One build holds one
    `out`: a second one at the same time is refused.

    Args:
        query: Of one behaviour, or two at once; for one of two there is `build_benchmarks`.
        store: Whose traces it is made of.
        out: Of the instances; the other files are named after it.
        settings: How.
        confirmer: Asks a model whether each occurrence is one; None leaves them unconfirmed.
        on_partition: Is told of each part of the store that was searched.

    Raises:
        BenchmarkRejected: The store does not hold what is asked for.
        InvalidOption: Another build writes these files, one that is no benchmark's would be
            replaced, or one of two is asked for.
        StoreError: The store is damaged or lies at a URL.
        UnreadableFile: The files cannot be written.
    """
    if query.operator == "OR":
        raise InvalidOption("with OR there are two benchmarks; build_benchmarks builds both")
    found = build_benchmarks(
        query,
        store,
        out,
        settings=settings,
        confirmer=confirmer,
        on_partition=on_partition,
    )[0]
    if isinstance(found, BenchmarkRejected):
        raise found
    return found


def _part_path(path: Path, part: Query, query: Query) -> Path:
    """Return the file of a part of a query: ``b.jsonl`` → ``b.F01.jsonl`` where there are two."""
    if query.operator != "OR":
        return path
    return path.with_name(f"{path.name.removesuffix('.jsonl')}.{part.name}.jsonl")


def _built(
    query: Query,
    store: TraceStore,
    out: Path,
    how: BuildSettings,
    helpers: tuple[Confirmer | None, OnPartition | None],
) -> Built:
    """Build one benchmark, whose files are held; see `build_benchmark`."""
    confirmer, on_partition = helpers
    if store.path is None:
        raise StoreError(f"{store!r} lies at a URL; import or copy it first")
    if not len(store):
        raise BenchmarkRejected(
            "the store is empty",
            reason="too_few_instances",
            nearest="tracedance import brings traces into it",
        )
    gathered = gather(
        query,
        store,
        caps=how.caps,
        processes=how.processes,
        kept=how.kept,
        on_partition=on_partition,
    )
    work = Work(query, store, how, gathered, Tally())
    protection = Protection(store.path, people=how.people)
    canary = canary_of(name_of(work))
    instances: list[Instance] = []
    construction: list[Construction] = []
    found = cuts(work, protection)
    for item, said in _confirmed(work, found, confirmer, protection):
        instances.append(
            made_instance(
                query,
                item.place,
                item.context,
                protected=item.protected,
                protection=protection,
                confirmed=None if confirmer is None else True,
                canary=canary,
            )
        )
        made = made_construction(
            query, item.place, item.context, protection=protection, confirmations=said
        )
        construction.append(made)
    if len(instances) < query.kmin:
        raise too_few(work, len(instances), protection, is_asked=confirmer is not None)
    about = about_benchmark(work, instances, confirmer=confirmer, canary=canary)
    about = {**about, "query": protection.value(about["query"])}
    audit = _audit(work) if how.audit else None
    write_benchmark(
        out,
        instances,
        construction,
        about=about,
        datasheet=datasheet(query, about, instances),
        audit=audit,
    )
    return Built(out, about, work.tally.firsts, gathered.errors)


def _confirmed(
    work: Work, found: Iterator[CutPlace], confirmer: Confirmer | None, protection: Protection
) -> Iterator[tuple[CutPlace, tuple[Confirmation, ...]]]:
    """Yield what is wanted at most, asking a model about no more than that takes."""
    query, tally = work.query, work.tally
    left = query.kmax
    while left > 0:
        batch = list(islice(found, left))
        if not batch:
            return
        if confirmer is None:
            yield from ((item, ()) for item in batch)
            return
        asked = [
            Asked(behavior, protection.trace(source_trace(item.context)))
            for item in batch
            for behavior in query.behaviors
        ]
        said = confirmer.confirm(asked)
        tally.confirmations += said
        each = len(query.behaviors)
        for number, item in enumerate(batch):
            own = tuple(said[number * each : (number + 1) * each])
            if all(one.confirmed for one in own):
                left -= 1
                yield item, own


def _audit(work: Work) -> list[dict[str, Any]]:
    query, store, how, gathered, _ = work
    wanted = [Wanted(behavior, query.values(behavior)) for behavior in query.behaviors]
    condition, seed = gathered.condition, how.caps.seed
    scan = scan_store(store, wanted, where=condition, caps=how.caps, processes=how.processes)
    if len(wanted) > 1:
        found = [(item.behavior, scan.occurrences[item.behavior.id]) for item in wanted]
        return joint_audit_sample(store, found, number=how.audit, seed=seed, where=condition)
    behavior, values = wanted[0]
    return audit_sample(
        store,
        behavior,
        scan.occurrences[behavior.id],
        number=how.audit,
        seed=seed,
        where=condition,
        parameters=values,
    )

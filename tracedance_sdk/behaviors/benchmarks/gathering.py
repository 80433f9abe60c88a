"""The occurrences that a benchmark is made of, in seeded order, with how many were left where."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tracedance_sdk.behaviors.benchmarks.constraints import condition
from tracedance_sdk.behaviors.benchmarks.model_families import model_family
from tracedance_sdk.behaviors.benchmarks.query import Query
from tracedance_sdk.behaviors.catalogue import packaged_behaviors
from tracedance_sdk.behaviors.foreign.steady_sql import check_steady
from tracedance_sdk.behaviors.hits import Evidence, Hit
from tracedance_sdk.behaviors.run import Run
from tracedance_sdk.behaviors.scanning.choosing import Caps, chosen
from tracedance_sdk.behaviors.scanning.near_duplicates import signature
from tracedance_sdk.behaviors.scanning.occurrences import Occurrence, occurrence_id
from tracedance_sdk.behaviors.scanning.partition import Wanted
from tracedance_sdk.behaviors.scanning.store_scan import Funnel, OnPartition, StoreScan, scan_store
from tracedance_sdk.errors import BenchmarkRejected, InvalidQuery, InvalidSpec
from tracedance_sdk.store import TraceStore


class Place(NamedTuple):
    """A source turn with what shows there.

    Attributes:
        id: 16 hex characters, made of behaviours, trace and turn.
        occurrences: Of each behaviour of the query, in its order.
    """

    id: str
    occurrences: tuple[Occurrence, ...]

    @property
    def first(self) -> Occurrence:
        """The occurrence of the first behaviour, for what all have in common."""
        return self.occurrences[0]

    @property
    def hits(self) -> tuple[Hit, ...]:
        """What shows each behaviour, in the order of the query."""
        return tuple(map(_hit, self.occurrences))


class Gathered(NamedTuple):
    """What a store holds for a query.

    Attributes:
        places: Those that are kept, in seeded order.
        funnels: One for each behaviour.
        joint: Of two behaviours at once: places where both show, before any is left out.
        condition: The constraints as SQL; None for all traces.
        errors: Why places could not be looked at.
    """

    places: tuple[Place, ...]
    funnels: tuple[Funnel, ...]
    joint: int | None
    condition: str | None
    errors: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """Return the numbers, as JSON."""
        counts = {funnel.behavior: _counts(funnel) for funnel in self.funnels}
        both = {} if self.joint is None else {"both_at_once": self.joint}
        return {"by_behavior": counts, **both, "kept": len(self.places)}


def gather(
    query: Query,
    store: TraceStore,
    *,
    caps: Caps,
    processes: int = 1,
    kept: Path | None = None,
    on_partition: OnPartition | None = None,
) -> Gathered:
    """Look for the occurrences that a query asks for.

    Args:
        query: Of one behaviour, or two at once.
        store: Where.
        caps: What is kept of near-duplicates and of one origin; its seed is that of the order.
        processes: See `scan_store`.
        kept: See `scan_store`.
        on_partition: See `scan_store`.

    Raises:
        BenchmarkRejected: No trace is of the origin that is asked for, SQL is not allowed, or an
            anchor takes too long or too much.
        StoreError: The store is damaged or lies at a URL.
    """
    where = _condition(query, store)
    limits = caps if len(query.behaviors) == 1 else Caps(None, None, None, None, caps.seed)
    wanted = [Wanted(behavior, query.values(behavior)) for behavior in query.behaviors]
    try:
        scan = scan_store(
            store,
            wanted,
            caps=limits,
            where=where,
            processes=processes,
            kept=kept,
            on_partition=on_partition,
        )
    except (InvalidQuery, InvalidSpec) as error:
        raise _unsafe(query, str(error)) from error
    if scan.failed:
        own = tuple(f"{name}: " for name in scan.failed)
        raise _unsafe(query, next(line for line in scan.errors[::-1] if line.startswith(own)))
    if len(query.behaviors) == 1:
        found = [Place(item.id, (item,)) for item in scan.kept(query.behaviors[0].id)]
        joint = None
    else:
        both = _joint(query, scan)
        found, joint = _chosen(both, store, caps), len(both)
    families = query.constraints.model_families
    places = tuple(
        place for place in found if not families or model_family(place.first.model) in families
    )
    return Gathered(places, scan.funnels, joint, where, scan.errors)


def _unsafe(query: Query, why: str) -> BenchmarkRejected:
    return BenchmarkRejected(
        f"the anchor of {query.name} is refused: {why}",
        reason="unsafe_anchor",
        nearest="try it with tracedance behaviors before a benchmark is built of it",
    )


def buildable(store: TraceStore, *, kmin: int, processes: int = 1) -> list[tuple[str, int]]:
    """Return which behaviours of the catalogue a store holds enough of, the commonest first."""
    wanted = [
        Wanted(behavior, behavior.filled())
        for behavior in packaged_behaviors().values()
        if all(parameter.default is not None for parameter in behavior.parameters.values())
    ]
    scan = scan_store(store, wanted, processes=processes)
    counts = [(funnel.behavior, funnel.kept) for funnel in scan.funnels if funnel.kept >= kmin]
    return sorted(counts, key=lambda item: (-item[1], item[0]))


def _condition(query: Query, store: TraceStore) -> str | None:
    where = condition(query.constraints, store)
    if query.constraints.where is not None:
        try:
            own = query.constraints.where
            # Without brackets of ours, one that closes them and goes beyond the other limits fails.
            for text in (f"{own}\n", f"({own}\n)"):
                asked = f"SELECT count(*) FROM traces WHERE {text}"  # noqa: S608 - looked at below
                store.select(asked, apart=True)
                check_steady(asked, where="where")
        except InvalidQuery as error:
            raise BenchmarkRejected(
                f"--where is refused: {error}",
                reason="adversarial_or_invalid",
                nearest="a condition over the columns of the view traces, such as turns > 20",
            ) from error
    return where


def _joint(query: Query, scan: StoreScan) -> list[Place]:
    """Return the turns in which all behaviours show."""
    of_each = [
        {(item.trace_id, item.turn): item for item in scan.occurrences[behavior.id]}
        for behavior in query.behaviors
    ]
    shared = sorted(set(of_each[0]).intersection(*of_each[1:]))
    return [
        Place(occurrence_id(query.name, *where), tuple(found[where] for found in of_each))
        for where in shared
    ]


def _chosen(places: Sequence[Place], store: TraceStore, caps: Caps) -> list[Place]:
    """Return what is kept of places where two behaviours show, by the rules for one."""
    by_id = {place.id: place for place in places}
    signatures = dict(_signatures(places, store)) if caps.similarity is not None else {}
    occurrences = [place.first.model_copy(update={"id": place.id}) for place in places]
    kept = chosen(occurrences, signatures, caps)
    return [by_id[item.id] for item in kept if item.dropped is None]


def _signatures(
    places: Iterable[Place], store: TraceStore
) -> Iterable[tuple[str, tuple[int, ...]]]:
    for place in places:
        run = Run.of(store.get(place.first.trace_id))
        yield place.id, signature(run, place.first.turn)


def _counts(funnel: Funnel) -> dict[str, int]:
    return {name: value for name, value in funnel._asdict().items() if name != "behavior"}


def _hit(occurrence: Occurrence) -> Hit:
    evidence = tuple(Evidence(item.turn, item.call, item.quote) for item in occurrence.evidence)
    return Hit(occurrence.turn, evidence, occurrence.note)

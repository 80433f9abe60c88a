"""What the behaviours asked for are found in one partition: a pure function of it.

First each behaviour's SQL names places. The runs that any of them names are read once, and the
second stages look at them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tracedance_sdk.behaviors.behavior import Behavior
from tracedance_sdk.behaviors.catalogue import predicate_named
from tracedance_sdk.behaviors.hits import Candidate, Evidence, Hit, Predicate
from tracedance_sdk.behaviors.run import Run
from tracedance_sdk.errors import TraceDanceError
from tracedance_sdk.store import PartitionKey, PartitionReader
from tracedance_sdk.trace import Json


class Wanted(NamedTuple):
    """A behaviour to look for, with the values of its parameters."""

    behavior: Behavior
    parameters: Mapping[str, Json]


class Found(NamedTuple):
    """What one behaviour comes to in one partition.

    Attributes:
        behavior: Its id.
        candidates: Places that its SQL named.
        traces: Runs that it named a place in.
        hits: By trace id, at most one for each source turn, in order of turns.
        errors: Why places could not be looked at, one line each.
    """

    behavior: str
    candidates: int
    traces: int
    hits: dict[str, list[Hit]]
    errors: list[str]


def scan_partition(folder: Path, key: PartitionKey, wanted: Sequence[Wanted]) -> list[Found]:
    """Look for behaviours in a partition.

    Args:
        folder: The store's.
        key: Of the partition.
        wanted: The behaviours.

    Returns:
        One for each behaviour, in the order of `wanted`.

    Raises:
        StoreError: The partition is damaged, or not the one that was meant.
    """
    with PartitionReader(folder, key) as reader:
        places = [_places(reader, item.behavior) for item in wanted]
        found = [
            Found(
                item.behavior.id,
                sum(map(len, places[number].values())),
                len(places[number]),
                {},
                [],
            )
            for number, item in enumerate(wanted)
        ]
        stages = [_stage(item.behavior) for item in wanted]
        for rows in reader.rows({trace_id for named in places for trace_id in named}):
            run = Run(rows)
            for number, item in enumerate(wanted):
                for turn, call in places[number].get(run.trace_id, ()):
                    _look(
                        Candidate(run, turn, call, item.parameters), stages[number], found[number]
                    )
    return found


def _places(reader: PartitionReader, behavior: Behavior) -> dict[str, list[tuple[int, int | None]]]:
    named: dict[str, set[tuple[int, int | None]]] = {}
    for trace_id, turn, *call in reader.select(behavior.anchor.sql):
        named.setdefault(trace_id, set()).add((turn, call[0] if call else None))
    return {
        trace_id: sorted(places, key=lambda place: (place[0], -1 if place[1] is None else place[1]))
        for trace_id, places in named.items()
    }


def _stage(behavior: Behavior) -> Predicate:
    name = behavior.anchor.predicate
    return _as_named if name is None else predicate_named(name)


def _as_named(candidate: Candidate) -> Hit:
    return Hit(candidate.turn, (Evidence(candidate.turn, candidate.call),))


def _look(candidate: Candidate, stage: Predicate, found: Found) -> None:
    try:
        hit = stage(candidate)
    except TraceDanceError as error:
        found.errors.append(f"trace {candidate.run.trace_id}, turn {candidate.turn}: {error}")
        return
    if hit is None:
        return
    hits = found.hits.setdefault(candidate.run.trace_id, [])
    if all(other.turn != hit.turn for other in hits):
        hits.append(hit)

"""Planted sessions put into a store and searched, as a scan does it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tests.behaviors.planted import Planted
from tracedance_sdk.behaviors import Wanted, packaged_behaviors, scan_partition
from tracedance_sdk.store import TraceStore


def found_in(folder: Path, items: Iterable[Planted]) -> dict[str, dict[str, list[int]]]:
    """Return for each session, by its name, the source turns of each behaviour found in it.

    A behaviour takes the session's own parameters where it was planted for that one.

    Raises:
        AssertionError: A place could not be looked at.
    """
    store = TraceStore.create(folder)
    sessions = {item.name: item for item in items}
    store.add([item.trace for item in sessions.values()])
    store.index()
    found: dict[str, dict[str, list[int]]] = {name: {} for name in sessions}
    plain = [Wanted(behavior, behavior.filled()) for behavior in packaged_behaviors().values()]
    for key in store.partitions():
        for outcome in scan_partition(folder, key, plain):
            assert not outcome.errors, outcome.errors
            for name, hits in outcome.hits.items():
                if not _has_own(sessions[name], outcome.behavior):
                    found[name][outcome.behavior] = sorted(hit.turn for hit in hits)
        for item in sessions.values():
            if item.parameters:
                behavior = packaged_behaviors()[item.behavior]
                wanted = Wanted(behavior, behavior.filled(dict(item.parameters)))
                (outcome,) = scan_partition(folder, key, [wanted])
                if item.name in outcome.hits:
                    turns = sorted(hit.turn for hit in outcome.hits[item.name])
                    found[item.name][item.behavior] = turns
    return found


def _has_own(item: Planted, behavior: str) -> bool:
    return bool(item.parameters) and item.behavior == behavior

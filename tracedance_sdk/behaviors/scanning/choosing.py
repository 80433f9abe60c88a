"""Which occurrences are kept: in seeded order, no near-duplicates, so many of each origin."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from tracedance_sdk.behaviors.scanning.near_duplicates import THRESHOLD, near_duplicates
from tracedance_sdk.behaviors.scanning.occurrences import Occurrence


class Caps(NamedTuple):
    """How many occurrences of one behaviour are kept of one origin; None for any number.

    Attributes:
        session: Of one session with its sub-agents.
        project: Of one project.
        user: Of one user.
        similarity: Share of equal words from which contexts are near-duplicates; None keeps them.
        seed: Of the order in which they are taken.
    """

    session: int | None = 2
    project: int | None = None
    user: int | None = None
    similarity: float | None = THRESHOLD
    seed: int = 0


def shuffled(occurrences: Iterable[Occurrence], seed: int) -> list[Occurrence]:
    """Return occurrences in an order that depends on their ids and the seed alone."""

    def place(item: Occurrence) -> bytes:
        return hashlib.sha256(f"{seed}\0{item.id}".encode()).digest()

    return sorted(occurrences, key=place)


def chosen(
    occurrences: Iterable[Occurrence],
    signatures: Mapping[str, tuple[int, ...]],
    caps: Caps | None = None,
) -> list[Occurrence]:
    """Return occurrences of one behaviour in seeded order, those left out marked as `dropped`.

    Within a session the earlier ones come first: two of a session are its first two.

    Args:
        occurrences: Of one behaviour, in any order.
        signatures: By id of the occurrence; those without one are never near-duplicates.
        caps: How many of each origin.
    """
    limits = caps or Caps()
    ordered = shuffled(occurrences, limits.seed)
    dropped = _beyond_session(ordered, limits.session)
    left = [item for item in ordered if item.id not in dropped]
    if limits.similarity is not None:
        told = [item for item in left if item.id in signatures]
        same = near_duplicates([signatures[item.id] for item in told], threshold=limits.similarity)
        for item, other in zip(told, same, strict=True):
            if other is not None:
                dropped[item.id] = f"near-duplicate of {told[other].id}"
    for name, most in (("project", limits.project), ("user", limits.user)):
        counts: Counter[str] = Counter()
        for item in left:
            value = getattr(item, name)
            if most is None or value is None or item.id in dropped:
                continue
            counts[value] += 1
            if counts[value] > most:
                dropped[item.id] = name
    return [item.model_copy(update={"dropped": dropped.get(item.id)}) for item in ordered]


def _beyond_session(ordered: Iterable[Occurrence], most: int | None) -> dict[str, str]:
    if most is None:
        return {}
    counts: Counter[str] = Counter()
    dropped: dict[str, str] = {}
    for item in sorted(ordered, key=lambda one: (one.trace_id, one.turn)):
        counts[item.session] += 1
        if counts[item.session] > most:
            dropped[item.id] = "session"
    return dropped

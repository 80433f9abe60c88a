"""Histories of writes: whether an answer was recorded in the same world as the one at hand.

Two histories of writes differ as soon as any write is another one; that is information. An answer
is *stale* when those writes differ which took effect and share a value with its arguments: they
may have changed the very record that it speaks of.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from tracedance_sdk.trace import Json

LEAST_CHARACTERS: Final = 5
"""Shorter strings (a cabin, a country, yes) are shared by chance."""


class Write(NamedTuple):
    """A call that may have changed the world.

    Attributes:
        key: Canonical key of the call.
        values: Strings of `LEAST_CHARACTERS` or more in its arguments.
        took_effect: False where the tool said that it failed, None where its answer is not known.
    """

    key: str
    values: frozenset[str]
    took_effect: bool | None


def write_of(key: str, arguments: Json, *, took_effect: bool | None) -> Write:
    """Return a call as a write."""
    return Write(key, telling_values(arguments), took_effect)


def telling_values(value: Json) -> frozenset[str]:
    """Return the strings in a JSON value that are long enough to name something.

    Example:
        >>> sorted(telling_values({"id": "ZFA04Y", "bags": 3, "paid": [{"by": "card_11"}, "no"]}))
        ['ZFA04Y', 'card_11']
    """
    found: set[str] = set()
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            if len(item) >= LEAST_CHARACTERS:
                found.add(item)
        elif isinstance(item, dict):
            pending.extend(item.values())
        elif isinstance(item, (list, tuple)):
            pending.extend(item)
    return frozenset(found)


def histories_differ(one: Sequence[Write], other: Sequence[Write]) -> bool:
    """Whether any write is another one, or they were made in another order."""
    return [write.key for write in one] != [write.key for write in other]


def is_stale(
    values: frozenset[str],
    recorded: Iterable[Write],
    now: Iterable[Write],
    *,
    certain_only: bool = False,
) -> bool:
    """Whether the writes that matter to a call differ between its recording and now.

    Args:
        values: `telling_values` of the call's arguments.
        recorded: Writes before the recording.
        now: Writes before the call.
        certain_only: Leave out writes of which it is not known whether they took effect.
    """
    return _that_matter(values, recorded, certain_only) != _that_matter(values, now, certain_only)


def _that_matter(values: frozenset[str], writes: Iterable[Write], certain_only: bool) -> list[str]:
    barred = (False, None) if certain_only else (False,)
    return [w.key for w in writes if w.took_effect not in barred and values & w.values]

"""Histories of writes: whether an answer was recorded in the same world as the one at hand.

Two histories of writes differ as soon as any write is another one; that is information. An answer
is *stale* when those writes differ which took effect and share a value with its arguments: they
may have changed the very record that it speaks of.
"""

from __future__ import annotations

from collections.abc import Iterable
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


def telling_values(value: Json) -> frozenset[str]:
    """Return the strings in a JSON value that are long enough to name something.

    Example:
        >>> sorted(telling_values({"id": "ZFA04Y", "bags": 3, "paid": [{"by": "card_11"}, "no"]}))
        ['ZFA04Y', 'card_11']
    """
    found: set[str] = set()
    pending: list[Iterable[Json]] = [(value,)]
    while pending:
        for item in pending.pop():
            if isinstance(item, str):
                if len(item) >= LEAST_CHARACTERS:
                    found.add(item)
            elif isinstance(item, dict):
                pending.append(item.values())
            elif isinstance(item, (list, tuple)):
                pending.append(item)
    return frozenset(found)


def history_marks(writes: Iterable[Write]) -> tuple[int, ...]:
    """Return a number for each beginning of a history, the empty one first.

    Two histories of one process are the same when their numbers are, as sure as hashes are.
    """
    marks = [0]
    for write in writes:
        marks.append(next_mark(marks[-1], write))
    return tuple(marks)


def next_mark(mark: int, write: Write) -> int:
    """Return the number of a history that has one write more."""
    return hash((mark, write.key))


def writes_that_matter(
    values: frozenset[str], writes: Iterable[Write], *, certain_only: bool = False
) -> list[str]:
    """Return the keys of the writes that may have changed what a call with these values is about.

    An answer is stale when they were others before it was recorded than they are now.

    Args:
        values: `telling_values` of the call's arguments.
        writes: In order.
        certain_only: Leave out writes of which it is not known whether they took effect.
    """
    return [
        write.key
        for write in writes
        if write.took_effect is not False
        and not (certain_only and write.took_effect is None)
        and not values.isdisjoint(write.values)
    ]

"""Histories of writes: whether an answer was recorded in the same world as the one at hand.

Two histories of writes differ as soon as any write is another one; that is information. An answer
is *stale* when those writes differ which took effect and are about the same as the call: they may
have changed the very record that it speaks of.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tracedance_sdk.replay.recordings.subjects import Subjects


class Write(NamedTuple):
    """A call that may have changed the world.

    Attributes:
        key: Canonical key of the call.
        subjects: What it may have changed; see `changed_by`.
        took_effect: False where the tool said that it failed, None where its answer is not known.
    """

    key: str
    subjects: Subjects
    took_effect: bool | None


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
    subjects: Subjects, writes: Iterable[Write], *, certain_only: bool = False
) -> list[str]:
    """Return the keys of the writes that may have changed what a call is about.

    An answer is stale when they were others before it was recorded than they are now.

    Args:
        subjects: Of the call; see `subjects_of`.
        writes: In order.
        certain_only: Leave out writes of which it is not known whether they took effect.
    """
    return [
        write.key
        for write in writes
        if write.took_effect is not False
        and not (certain_only and write.took_effect is None)
        and not subjects.isdisjoint(write.subjects)
    ]

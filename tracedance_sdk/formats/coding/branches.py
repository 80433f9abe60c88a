"""The branches of a session whose records name the record that they follow.

Files of such sessions only grow at their end. A record's parent is therefore looked for among the
records before it, which rules out cycles, and a branch is named after the record with which it
leaves the one before: neither changes when the file grows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

MOST_REPEATED: Final = 200_000
"""Most records of all branches together, those they share counted for each; of a session with many
records, four times as many."""


class Link(NamedTuple):
    """What a record says of its place.

    Attributes:
        names: The ids by which later records may refer to it.
        parent: The id that it refers to; None where it says nothing, and follows the one before.
        is_root: It follows none.
        is_spoken: It is part of the conversation: a branch without such a record is none.
    """

    names: tuple[str, ...] = ()
    parent: str | None = None
    is_root: bool = False
    is_spoken: bool = True


class Branch(NamedTuple):
    """One way through a session.

    Attributes:
        name: Empty for the first.
        steps: Positions of its records, in order; with each also those that lead nowhere.
        lost: How many of its records name a parent that the file does not hold.
        of: The branch that it leaves; None for the first, and where it shares nothing.
        start: Position of the record with which it leaves that branch.
    """

    name: str
    steps: tuple[int, ...]
    lost: int
    of: str | None = None
    start: int = 0


class Branches(NamedTuple):
    """The branches of a session, and how many were left out because they repeat too much."""

    found: tuple[Branch, ...]
    left_out: int


def find_branches(links: Sequence[Link]) -> Branches:
    """Return the branches of a session in the order in which they begin.

    Args:
        links: Of the records in the file's order.

    Example:
        >>> links = [Link(("a",)), Link(("b",), "a"), Link(("c",), "b"), Link(("d",), "a")]
        >>> [(branch.name, branch.steps) for branch in find_branches(links).found]
        [('', (0, 1, 2)), ('d', (0, 3))]
    """
    parents, lost = _parents(links)
    spoken = _first_spoken(links, parents)
    heads: dict[int, int] = {}
    """Of each record, which of its children begins the branch that goes on."""
    for index, parent in enumerate(parents):
        if spoken[index] is None:
            continue
        rival = heads.get(parent)
        if rival is None or _before(spoken[index], spoken[rival]):
            heads[parent] = index
    beginnings = [
        index
        for index, parent in enumerate(parents)
        if spoken[index] is not None and heads[parent] != index
    ]
    beginnings.sort(key=lambda index: spoken[index] or 0)
    idle = [index for index in range(len(links)) if spoken[index] is None]
    return _walk(links, parents, heads, [heads.get(-1), *beginnings], idle=idle, lost=lost)


def _parents(links: Sequence[Link]) -> tuple[list[int], list[bool]]:
    places: dict[str, int] = {}
    parents: list[int] = []
    lost: list[bool] = []
    for index, link in enumerate(links):
        parent = index - 1
        known = link.parent is None or link.parent in places
        if link.is_root:
            parent = -1
        elif link.parent is not None and known:
            parent = places[link.parent]
        parents.append(parent)
        lost.append(not known and not link.is_root)
        places.update((name, index) for name in link.names)
    return parents, lost


def _first_spoken(links: Sequence[Link], parents: list[int]) -> list[int | None]:
    """Return of each record the first one at or below it that is part of the conversation."""
    found: list[int | None] = [i if link.is_spoken else None for i, link in enumerate(links)]
    for index in range(len(links) - 1, -1, -1):
        parent, below = parents[index], found[index]
        if parent >= 0 and below is not None and _before(below, found[parent]):
            found[parent] = below
    return found


def _before(one: int | None, other: int | None) -> bool:
    return one is not None and (other is None or one < other)


def _walk(
    links: Sequence[Link],
    parents: list[int],
    heads: dict[int, int],
    beginnings: list[int | None],
    *,
    idle: list[int],
    lost: list[bool],
) -> Branches:
    beside: dict[int, list[int]] = {}
    for index in idle:
        beside.setdefault(parents[index], []).append(index)
    found: list[Branch] = []
    owners: dict[int, str] = {}
    total = 0
    for position, beginning in enumerate(beginnings):
        steps = _steps(beginning, parents, heads)
        joined = _joined(steps, beside)
        total += len(joined)
        if found and total > max(MOST_REPEATED, 4 * len(links)):
            return Branches(tuple(found), len(beginnings) - position)
        start = beginning or 0
        names = links[start].names if position else ()
        name = (names[0] if names else str(start)) if position else ""
        of = owners.get(parents[start]) if position else None
        for step in steps:
            owners.setdefault(step, name)
        missing = sum(lost[step] for step in joined)
        found.append(Branch(name, tuple(joined), missing, of, start))
    return Branches(tuple(found), 0)


def _steps(beginning: int | None, parents: list[int], heads: dict[int, int]) -> list[int]:
    steps: list[int] = []
    step = -1 if beginning is None else beginning
    while step >= 0:
        steps.append(step)
        step = parents[step]
    steps.reverse()
    last = heads.get(steps[-1]) if steps else None
    while last is not None:
        steps.append(last)
        last = heads.get(last)
    return steps


def _joined(steps: list[int], beside: dict[int, list[int]]) -> list[int]:
    """Return the steps with the records that hang on them and lead nowhere."""
    pending = [hanging for step in (-1, *steps) for hanging in beside.get(step, ())]
    joined = [*steps]
    while pending:
        step = pending.pop()
        joined.append(step)
        pending.extend(beside.get(step, ()))
    return sorted(joined)

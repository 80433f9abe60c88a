"""Stretches of a journal in which records are missing, or are not what was written."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Final, NamedTuple

END: Final = 2**63
"""A line number behind every line of a file."""


class GapKind(enum.StrEnum):
    """What a gap does to the runs it touches."""

    LOST = "lost"
    ALTERED = "altered"


class Place(NamedTuple):
    """Where a line stands in its chain: number of the file, and of the line in it."""

    file: int
    line: int


class Gap(NamedTuple):
    """A stretch of a chain that cannot be relied on.

    Attributes:
        kind: Whether records are gone or unreadable, or are other than they were written.
        what: What is wrong, in words.
        path: The file that shows it.
        line: Number of the line that shows it, from 1; 0 for the file as a whole.
        chain: The chain, as in the headers of its files.
        first: Where the stretch begins; what stands before is as it was written.
        last: Where it ends, this line included.
        n_lines: How many lines are concerned, as far as that can be told; at least 1.
        is_damage: False when nothing is wrong with the journal itself: the other file was pruned,
            or only this one was asked for.
    """

    kind: GapKind
    what: str
    path: Path
    line: int
    chain: str
    first: Place
    last: Place
    n_lines: int = 1
    is_damage: bool = True

    def touches(self, first: Place, last: Place) -> bool:
        """Whether something that goes on from one place of the chain to another may be in it."""
        return first <= self.last and last >= self.first

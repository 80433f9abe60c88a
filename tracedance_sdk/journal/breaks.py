"""The ways in which a journal can be found to be other than it was written."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import NamedTuple


class BreakKind(enum.StrEnum):
    """What was done to a journal, as far as it can be told."""

    EDITED = "edited"
    MISSING = "missing"
    INSERTED = "inserted"
    REORDERED = "reordered"
    TRUNCATED = "truncated"
    REWRITTEN = "rewritten"
    RENAMED = "renamed"
    BLOB_MISSING = "blob missing"
    BLOB_CHANGED = "blob changed"


class Break(NamedTuple):
    """A place where a journal is not what was written.

    Attributes:
        path: The file, or the folder when no file can be named.
        line: Number of the line, from 1; 0 for the file as a whole.
        kind: What was done.
        what: The same in words.
    """

    path: Path
    line: int
    kind: BreakKind
    what: str

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else str(self.path)
        return f"{self.kind}: {self.what} @ {place}"

    def place(self) -> tuple[str, int]:
        """Return a key that sorts breaks by file and line."""
        return str(self.path), self.line

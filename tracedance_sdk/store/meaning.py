"""Which trace a text means: a whole id, an id at its source, or the beginning of an id."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from tracedance_sdk.trace import Trace

WHOLE: Final = 0
NATIVE: Final = 1
PREFIX: Final = 2
"""Ways in which a text may mean a trace; a lower one comes before all that are higher."""

MOST_NAMED: Final = 3


class Meant(NamedTuple):
    """A trace that a text may mean.

    Attributes:
        rank: `WHOLE`, `NATIVE` or `PREFIX`.
        trace_id: Its id.
    """

    rank: int
    trace_id: str


def rank_of(trace: Trace, wanted: str) -> int | None:
    """Return how a text means a trace: `WHOLE`, `NATIVE` or `PREFIX`; None when it does not."""
    if trace.id == wanted:
        return WHOLE
    if trace.source is not None and wanted and trace.source.native_id == wanted:
        return NATIVE
    return PREFIX if wanted and trace.id.startswith(wanted) else None


def ambiguous(wanted: str, ids: Sequence[str], *, is_prefix: bool) -> str:
    """Return in one line that a text means several traces, and the first of them.

    Args:
        wanted: The text.
        ids: What it may mean, two or more.
        is_prefix: They begin so; else their source calls them so.
    """
    names = ", ".join(name[:80] for name in ids[:MOST_NAMED])
    more = ", ..." if len(ids) > MOST_NAMED else ""
    how = "begin with" if is_prefix else "are at their source"
    return f"several traces {how} {wanted!r:.80}: {names}{more}"

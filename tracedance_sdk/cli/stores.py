"""Traces of a store, as the verbs choose them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracedance_sdk.errors import StoreError
    from tracedance_sdk.store import ToolLimit
    from tracedance_sdk.trace import Trace


def is_store(folder: Path) -> bool:
    """Whether a folder holds a store of traces."""
    return next(folder.glob("manifest-*.json"), None) is not None if folder.is_dir() else False


def stored_traces(
    folder: Path,
    *,
    trace_id: str | None = None,
    where: str | None = None,
    tools: ToolLimit = "inferred",
) -> Iterator[Trace | StoreError]:
    """Yield traces of a store, one at a time; those not wanted are not read.

    For a partition that is damaged there is one error, and the others are read all the same.

    Args:
        folder: The store's.
        trace_id: What `TraceStore.get` takes; None chooses by `where` alone.
        where: SQL over the view `traces`; None for all.
        tools: The weakest origin of definitions that are added.

    Raises:
        StoreError: No store there, or one that cannot be searched; or several traces are meant.
        InvalidQuery: The condition is refused.
    """
    from tracedance_sdk.errors import StoreError
    from tracedance_sdk.store import PREFIX, TraceStore, ambiguous

    store = TraceStore.open(folder, tools=tools)
    conditions = [] if where is None else [f"({where}\n)"]
    if trace_id is not None:
        meant = store.meant(trace_id)
        ids = [item.trace_id for item in meant if item.rank == meant[0].rank]
        if not ids:
            return
        if len(ids) > 1:
            raise StoreError(ambiguous(trace_id, ids, is_prefix=meant[0].rank == PREFIX))
        conditions.append("trace_id = '" + ids[0].replace("'", "''") + "'")
    yield from store.readable(" AND ".join(conditions) or None)

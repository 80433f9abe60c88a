"""Traces of a store, as the verbs choose them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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
) -> Iterator[Trace]:
    """Yield traces of a store, one at a time; those not wanted are not read.

    Args:
        folder: The store's.
        trace_id: What the id begins with, or is at its source; None chooses by `where` alone.
        where: SQL over the view `traces`; None for all.
        tools: The weakest origin of definitions that are added.

    Raises:
        StoreError: No store there, or a damaged one.
        InvalidQuery: The condition is refused.
    """
    from tracedance_sdk.store import TraceStore

    conditions = [] if where is None else [f"({where}\n)"]
    if trace_id is not None:
        text = "'" + trace_id.replace("'", "''").replace("\0", "") + "'"
        conditions.append(f"(starts_with(trace_id, {text}) OR native_id = {text})")
    store = TraceStore.open(folder, tools=tools)
    yield from store.traces(" AND ".join(conditions) or None)

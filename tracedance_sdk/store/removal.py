"""Take traces out of a store."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from tracedance_sdk.errors import InvalidOption, StoreError
from tracedance_sdk.store.adding import manifest_without
from tracedance_sdk.store.folder import LocalFolder, present
from tracedance_sdk.store.key_index import KeyIndex
from tracedance_sdk.store.queries import connected

_MOST_ATTEMPTS: Final = 1_000


class PruneSummary(NamedTuple):
    """What `prune` did.

    Attributes:
        removed: Traces taken out.
        undated: Traces without any time, which stay.
    """

    removed: int
    undated: int


def remove_traces(folder: LocalFolder, index: KeyIndex, ids: Sequence[str]) -> int:
    """Take out traces by their whole ids; return how many were there."""
    for _ in range(_MOST_ATTEMPTS):
        manifest, number = present(folder)
        with index.at(manifest):
            found = [known for trace_id in dict.fromkeys(ids) if (known := index.find(trace_id))]
        if not found:
            return 0
        spots = {known.spot for known in found}
        if folder.commit(manifest_without(manifest, spots, number=number)):
            return len(spots)
    raise StoreError(f"the store {str(folder)!r} is busy: no manifest could be written")


def prune_traces(
    folder: LocalFolder, index: KeyIndex, older_than: timedelta | datetime
) -> PruneSummary:
    """Take out traces that ended before a time; see `TraceStore.prune`."""
    limit = datetime.now(UTC) - older_than if isinstance(older_than, timedelta) else older_than
    if limit.tzinfo is None:
        raise InvalidOption(f"older_than={older_than!r} has no time zone")
    connection = connected(folder, present(folder).manifest)
    try:
        rows = connection.execute(
            "SELECT trace_id, coalesce(ended_at, started_at) IS NULL FROM traces "
            "WHERE coalesce(coalesce(ended_at, started_at) < ?, true)",
            [limit],
        ).fetchall()
    finally:
        connection.close()
    old = [trace_id for trace_id, is_undated in rows if not is_undated]
    return PruneSummary(remove_traces(folder, index, old), len(rows) - len(old))

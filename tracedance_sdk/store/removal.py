"""Take traces out of a store."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from tracedance_sdk.errors import InvalidOption, StoreError
from tracedance_sdk.formats import ToolShapes
from tracedance_sdk.store.adding import manifest_without
from tracedance_sdk.store.folder import LocalFolder, present
from tracedance_sdk.store.key_index import KeyIndex
from tracedance_sdk.store.manifest import Manifest, Partition, StoredFile
from tracedance_sdk.store.moving import read_traces
from tracedance_sdk.store.partitions import keep_shapes
from tracedance_sdk.store.queries import rows_of

_MOST_ATTEMPTS: Final = 1_000
_logger: Final = logging.getLogger(__name__)


class PruneSummary(NamedTuple):
    """What `prune` did.

    Attributes:
        removed: Traces taken out.
        undated: Traces without any time, which stay.
    """

    removed: int
    undated: int


def remove_traces(folder: LocalFolder, index: KeyIndex, ids: Sequence[str]) -> int:
    """Take out traces by their whole ids; return how many were there.

    What the calls of those beside them look like is found out anew, so that no definition of a
    tool tells of a trace that is gone.
    """
    tools: dict[tuple[str, tuple[int, ...]], StoredFile] = {}
    for _ in range(_MOST_ATTEMPTS):
        manifest, number = present(folder)
        with index.at(manifest):
            found = [known for trace_id in dict.fromkeys(ids) if (known := index.find(trace_id))]
        if not found:
            return 0
        spots = {known.spot for known in found}
        touched = {spot.partition for spot in spots}
        changed = manifest_without(manifest, spots, number=number)
        partitions = list(changed.partitions)
        for place, part in enumerate(partitions):
            if part.name in touched:
                key = part.name, part.dropped
                tools[key] = tools.get(key) or _tools(folder, part)
                partitions[place] = part._replace(files={**part.files, "tools": tools[key]})
        if folder.commit(Manifest(number, tuple(partitions))):
            return len(spots)
    raise StoreError(f"the store {str(folder)!r} is busy: no manifest could be written")


def _tools(folder: LocalFolder, partition: Partition) -> StoredFile:
    try:
        shapes = ToolShapes(trace for _, trace in read_traces(folder, partition))
    except StoreError as error:
        _logger.warning("no tools are inferred from a partition any more: %s", error)
        shapes = ToolShapes()
    return keep_shapes(folder, shapes)


def prune_traces(
    folder: LocalFolder, index: KeyIndex, older_than: timedelta | datetime
) -> PruneSummary:
    """Take out traces that ended before a time; see `TraceStore.prune`."""
    limit = datetime.now(UTC) - older_than if isinstance(older_than, timedelta) else older_than
    if limit.tzinfo is None:
        raise InvalidOption(f"older_than={older_than!r} has no time zone")
    rows = rows_of(
        folder,
        present(folder).manifest,
        "SELECT trace_id, coalesce(ended_at, started_at) IS NULL FROM traces "
        "WHERE coalesce(coalesce(ended_at, started_at) < ?, true)",
        [limit],
    )
    old = [trace_id for trace_id, is_undated in rows if not is_undated]
    return PruneSummary(remove_traces(folder, index, old), len(rows) - len(old))

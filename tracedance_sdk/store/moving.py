"""Take rows of partitions over into a new one, without reading traces where that can be saved."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from tracedance_sdk.errors import StoreError, TraceDanceError
from tracedance_sdk.formats import ToolShapes
from tracedance_sdk.store.folder import LocalFolder
from tracedance_sdk.store.manifest import Partition
from tracedance_sdk.store.partitions import Rows, each_document, read_shapes
from tracedance_sdk.trace import Trace, decode, parse_json

_WRITER_DEPTH: Final = 254
"""How deep a document may be nested that `encode_json` writes: what was added can be read."""


def read_traces(
    folder: LocalFolder, partition: Partition, rows: Iterable[int] | None = None
) -> Iterator[tuple[int, Trace]]:
    """Yield rows of a partition with their traces, as they were stored.

    Args:
        folder: The store's.
        partition: Where they lie.
        rows: Which, in ascending order; by default all that count.

    Raises:
        StoreError: A file is missing or damaged, or holds what is no trace.
    """
    wanted = live_rows(partition) if rows is None else rows
    for row, trace_id, data in each_document(folder, partition, wanted):
        where = f"trace {trace_id!r:.80} in {folder}"
        try:
            yield row, decoded(data, where)
        except TraceDanceError as error:
            raise StoreError(f"{error} (file {partition.files['documents'].name})") from error


def decoded(data: bytes, where: str) -> Trace:
    """Return the trace of a stored document.

    Args:
        data: The document.
        where: What it is, for errors.

    Raises:
        TraceDanceError: It is not what `encode_json` writes.
    """
    return decode(parse_json(data, where=where, max_depth=_WRITER_DEPTH), where=where)


def live_rows(partition: Partition) -> tuple[int, ...]:
    """Return the rows that count, in ascending order."""
    dropped = frozenset(partition.dropped)
    return tuple(row for row in range(partition.rows) if row not in dropped)


def moved_shapes(folder: LocalFolder, moved: Iterable[Rows], *, start: ToolShapes) -> ToolShapes:
    """Return shapes with those of the calls of moved rows added."""
    for item in moved:
        if len(item.rows) == item.partition.rows:
            start = start.merged(read_shapes(folder, item.partition))
        else:
            traces = (trace for _, trace in read_traces(folder, item.partition, item.rows))
            start = start.merged(ToolShapes(traces))
    return start


def merged_shapes(found: Iterable[ToolShapes]) -> ToolShapes:
    """Return the sum of shapes, which stay as they are."""
    parts = list(found)
    while len(parts) > 1:
        # In pairs, so that none is copied once for every other.
        pairs = zip(parts[::2], [*parts[1::2], ToolShapes()][: len(parts[::2])], strict=True)
        parts = [left.merged(right) for left, right in pairs]
    return parts[0] if parts else ToolShapes()

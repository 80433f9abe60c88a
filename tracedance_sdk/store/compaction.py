"""Merge small partitions, leave behind rows that no longer count, and clear away old files.

Whoever reads holds a manifest and may go on with it for a while: files go only when the last
manifest that names them was replaced longer ago than that.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

from tracedance_sdk.errors import StoreError, TraceDanceError
from tracedance_sdk.formats import ToolShapes
from tracedance_sdk.store.feature_columns import FEATURES_VERSION
from tracedance_sdk.store.folder import LocalFolder, present, require_whole
from tracedance_sdk.store.libraries import arrow
from tracedance_sdk.store.manifest import Manifest, Partition, manifest_name
from tracedance_sdk.store.moving import live_rows, moved_shapes
from tracedance_sdk.store.partitions import (
    Content,
    Rows,
    keep_table,
    moved_events,
    read_table,
    write_partition,
)

FULL_BYTES: Final = 32 * 1024**2
"""A partition of this size is left as it is, unless rows of it no longer count."""

FULL_ROWS: Final = 20_000
"""The same by the number of traces."""

GRACE: Final = timedelta(hours=1)
"""How long files stay that only a manifest of the past names."""

PATIENCE: Final = timedelta(seconds=30)
"""How long to wait until nobody writes."""

_MOST_ATTEMPTS: Final = 1_000


class CompactSummary(NamedTuple):
    """What `compact` did.

    Attributes:
        partitions_before: How many there were.
        partitions: How many there are.
        rows_dropped: Rows left behind that no longer counted.
        files_removed: Files cleared away, old manifests included.
        bytes_removed: Their length.
        clearing_skipped: Nothing was cleared away, as others did not end writing in time.
    """

    partitions_before: int
    partitions: int
    rows_dropped: int
    files_removed: int
    bytes_removed: int
    clearing_skipped: bool = False


def compact_store(
    folder: LocalFolder, *, grace: timedelta = GRACE, patience: timedelta = PATIENCE
) -> CompactSummary:
    """Compact a store; see `TraceStore.compact`."""
    folder.require_writable()
    require_whole(folder)
    before = present(folder).manifest
    dropped = 0
    for group in _groups(before.partitions):
        with folder.writing():
            if _replace(folder, group, _merged(folder, group)):
                dropped += sum(len(part.dropped) for part in group)
    with folder.clearing(patience_s=patience.total_seconds()) as is_quiet:
        removed, size = _clear(folder, grace) if is_quiet else (0, 0)
    after = present(folder).manifest
    counts = len(before.partitions), len(after.partitions), dropped, removed, size
    return CompactSummary(*counts, clearing_skipped=not is_quiet)


def _groups(partitions: Sequence[Partition]) -> Iterator[list[Partition]]:
    """Yield partitions to be made one, in order; one alone only if rows of it do not count."""
    group: list[Partition] = []
    size = rows = 0
    for part in partitions:
        is_full = part.document_bytes >= FULL_BYTES or part.rows >= FULL_ROWS
        if is_full and not part.dropped:
            continue
        if group and (size + part.document_bytes > 2 * FULL_BYTES or rows + part.rows > FULL_ROWS):
            yield from _worthwhile(group)
            group, size, rows = [], 0, 0
        group.append(part)
        size, rows = size + part.document_bytes, rows + part.live
    yield from _worthwhile(group)


def _worthwhile(group: list[Partition]) -> Iterator[list[Partition]]:
    if len(group) > 1 or any(part.dropped for part in group):
        yield group


def _merged(folder: LocalFolder, group: Sequence[Partition]) -> Partition:
    moved = [Rows(part, live_rows(part)) for part in group]
    families: list[str] = []
    for rows in moved:
        names = read_table(folder, rows.partition.files["traces"], ["family"]).column(0)
        families += names.take(arrow().array(rows.rows, type=arrow().int64())).to_pylist()
    shapes = moved_shapes(folder, moved, start=ToolShapes())
    merged = write_partition(folder, Content((), moved, families, shapes))
    made_with = {(part.features_version, part.features_tools) for part in group}
    if len(made_with) > 1 or group[0].features_version != FEATURES_VERSION:
        return merged
    features = keep_table(folder, f"features-v{FEATURES_VERSION}", _features(folder, moved))
    return merged._replace(
        files={**merged.files, "features": features},
        features_version=FEATURES_VERSION,
        features_tools=group[0].features_tools,
    )


def _features(folder: LocalFolder, moved: Sequence[Rows]) -> Any:
    tables, offset = [], 0
    for rows in moved:
        tables.append(moved_events(folder, rows, "features", offset=offset))
        offset += len(rows.rows)
    return arrow().concat_tables(tables)


def _replace(folder: LocalFolder, group: Sequence[Partition], merged: Partition) -> bool:
    """Put one partition in the place of several, unless others changed one of them meanwhile."""
    for _ in range(_MOST_ATTEMPTS):
        manifest, number = present(folder)
        if any(part not in manifest.partitions for part in group):
            return False
        first, gone = group[0], {part.name for part in group}
        partitions = tuple(
            merged if part == first else part
            for part in manifest.partitions
            if part == first or part.name not in gone
        )
        if folder.commit(Manifest(number, partitions)):
            return True
    raise StoreError(f"the store {str(folder)!r} is busy: no manifest could be written")


def _clear(folder: LocalFolder, grace: timedelta) -> tuple[int, int]:
    """Remove old manifests, and files that nobody needs; return how many and their bytes."""
    limit = time.time() - grace.total_seconds()
    removed = size = 0
    kept, old = _by_age(folder, limit)
    names = {name for manifest in kept for name in manifest.names}
    loose = [path for path in folder.loose() if path.name not in names and _changed(path) < limit]
    for path in [*old, *loose]:
        with contextlib.suppress(OSError):
            length = path.stat().st_size
            path.unlink()
            removed, size = removed + 1, size + length
    return removed, size


def _by_age(folder: LocalFolder, limit: float) -> tuple[list[Manifest], list[Path]]:
    """Return the manifests that somebody may hold still, and the paths of the others."""
    kept: list[Manifest] = []
    old: list[Path] = []
    present_number = present(folder).manifest.number
    replaced = float("inf")
    for number in reversed(folder.numbers()):
        path = folder.path / manifest_name(number)
        if number > present_number:
            # No manifest, as nobody reads it and the next one does not take its number.
            continue
        if replaced < limit:
            old.append(path)
        else:
            with contextlib.suppress(TraceDanceError):
                kept.append(folder.read_manifest(number))
        replaced = min(replaced, _changed(path))
    return kept, old


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return float("inf")

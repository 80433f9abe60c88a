"""Write a partition's files, and read rows of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from tracedance_sdk.errors import StoreError, TraceDanceError, UnreadableFile
from tracedance_sdk.formats import ToolShapes
from tracedance_sdk.store.columns import (
    CALLS,
    DOCUMENTS,
    ROW,
    TRACES,
    TURNS,
    Column,
    arrow_schema,
)
from tracedance_sdk.store.facts import Facts, Measure, Row, document_digest
from tracedance_sdk.store.families import Member
from tracedance_sdk.store.folder import LocalFolder
from tracedance_sdk.store.libraries import arrow, compute, parquet
from tracedance_sdk.store.manifest import Partition, StoredFile
from tracedance_sdk.trace import parse_json

_GROUP_BYTES: Final = 4 * 1024**2
"""Documents up to this size lie together: what is unpacked to read one of them."""

_GROUP_ROWS: Final = 16_384
_LEVEL: Final = 1
"""Of zstd; higher ones cost more time than the import has."""

_EVENTS: Final[Mapping[str, Sequence[Column]]] = {
    "turns": TURNS,
    "calls": CALLS,
}
_FEW_VALUES: Final = frozenset(
    {
        "trace_id", "session_id", "family", "agent", "agent_version", "collector", "trace_group",
        "project", "cwd", "git_branch", "role", "origin", "name", "model", "finish_reason",
        "requested_by", "bound_by", "kind", "effect", "event", "origin_rule", "failed_by",
        "protection",
    }
)  # fmt: skip
"""Text columns that are written as a dictionary."""


class Fresh(NamedTuple):
    """A trace ready to be written.

    Attributes:
        member: What binds it to others.
        measure: How long it is.
        digest: SHA-256 of its document.
        data: Its document.
        facts: Its rows.
        protection: What was done to it.
        supersedes: Whether it replaces an equally protected version whatever its length.
    """

    member: Member
    measure: Measure
    digest: str
    data: bytes
    facts: Facts
    protection: str
    supersedes: bool = False


class Rows(NamedTuple):
    """Some rows of a partition, by number, in ascending order."""

    partition: Partition
    rows: tuple[int, ...]


class Content(NamedTuple):
    """What a new partition is made of: fresh traces, then rows of others.

    Attributes:
        fresh: Traces just read.
        moved: Rows taken over as they are.
        families: For each of both, in this order.
        shapes: What the calls of all of them look like.
    """

    fresh: Sequence[Fresh]
    moved: Sequence[Rows]
    families: Sequence[str]
    shapes: ToolShapes


def write_partition(folder: LocalFolder, content: Content) -> Partition:
    """Write the files of a partition and return its entry for a manifest.

    Raises:
        StoreError: They cannot be written, or what is moved cannot be read.
    """
    tables = {
        "traces": _traces(folder, content),
        **{kind: _events(folder, content, kind) for kind in _EVENTS},
    }
    files = {kind: keep_table(folder, kind, table) for kind, table in tables.items()}
    files["documents"] = folder.keep(
        "documents",
        "parquet",
        lambda path: _write(path, arrow_schema(DOCUMENTS), _documents(folder, content)),
    )
    files["tools"] = keep_shapes(folder, content.shapes)
    sizes = tables["traces"].column("document_bytes")
    return Partition(files, tables["traces"].num_rows, compute().sum(sizes).as_py() or 0)


def keep_table(folder: LocalFolder, kind: str, table: Any) -> StoredFile:
    """Keep a table as a file of a store, its name beginning with a kind."""
    return folder.keep(kind, "parquet", lambda path: _write(path, table.schema, _groups(table)))


def keep_shapes(folder: LocalFolder, shapes: ToolShapes) -> StoredFile:
    """Keep what calls look like as a file of a store."""
    data = orjson.dumps(shapes.to_dict())
    return folder.keep("tools", "json", lambda path: path.write_bytes(data))


def read_shapes(folder: LocalFolder, partition: Partition) -> ToolShapes:
    """Return what the calls of a partition look like.

    Raises:
        StoreError: The file is missing or damaged.
    """
    file = partition.files["tools"]
    path = folder.local(file)
    try:
        data = path.read_bytes()
        if hashlib.sha256(data).hexdigest()[:32] not in file.name:
            raise damaged(folder, file, ValueError("its content is not what its name says"))
        return ToolShapes.from_dict(parse_json(data, where=str(path)))
    except (OSError, TraceDanceError) as error:
        raise damaged(folder, file, error) from error


def _write(path: Path, schema: Any, groups: Iterable[Any]) -> None:
    """Write tables as the row groups of a file."""
    names = [field.name for field in schema if str(field.type) == "string"]
    large = [field.name for field in schema if str(field.type).startswith("large_")]
    writer = parquet().ParquetWriter(
        path,
        schema,
        compression="zstd",
        compression_level=_LEVEL,
        use_dictionary=[name for name in names if name in _FEW_VALUES],
        write_statistics=[name for name in schema.names if name not in large],
        store_schema=True,
        write_page_checksum=True,
    )
    with writer:
        for group in groups:
            writer.write_table(group, row_group_size=max(group.num_rows, 1))


def _groups(table: Any) -> Iterator[Any]:
    for start in range(0, table.num_rows, _GROUP_ROWS):
        yield table.slice(start, _GROUP_ROWS)


def table_of(columns: Sequence[Column], rows: Sequence[Row]) -> Any:
    """Return rows as an Arrow table."""
    schema = arrow_schema(columns)
    if not rows:
        return schema.empty_table()
    pa = arrow()
    arrays = [
        pa.array(values, type=field.type)
        for values, field in zip(zip(*rows, strict=True), schema, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def _traces(folder: LocalFolder, content: Content) -> Any:
    pa = arrow()
    tables = [table_of(TRACES, [item.facts.trace for item in content.fresh])]
    for rows in content.moved:
        tables.append(read_table(folder, rows.partition.files["traces"]).take(rows.rows))
    table = pa.concat_tables(tables)
    place = table.schema.get_field_index("family")
    return table.set_column(place, "family", pa.array(content.families, type=pa.string()))


def _documents(folder: LocalFolder, content: Content) -> Iterator[Any]:
    """Yield the row groups of documents, one in memory at a time."""
    rows: list[Row] = []
    size = 0
    for trace_id, data in _each_document(folder, content):
        if rows and (size + len(data) > _GROUP_BYTES or len(rows) == _GROUP_ROWS):
            yield table_of(DOCUMENTS, rows)
            rows, size = [], 0
        rows.append((trace_id, data))
        size += len(data)
    if rows:
        yield table_of(DOCUMENTS, rows)


def _each_document(folder: LocalFolder, content: Content) -> Iterator[tuple[str, bytes]]:
    for item in content.fresh:
        yield item.member.trace_id, item.data
    for moved in content.moved:
        for _, trace_id, data in each_document(folder, moved.partition, moved.rows):
            yield trace_id, data


def _events(folder: LocalFolder, content: Content, kind: str) -> Any:
    rows: list[Row] = []
    numbers: list[int] = []
    for number, item in enumerate(content.fresh):
        found = item.facts.turns if kind == "turns" else item.facts.calls
        rows += found
        numbers += [number] * len(found)
    tables = [numbered(_EVENTS[kind], rows, numbers)]
    offset = len(content.fresh)
    for moved in content.moved:
        tables.append(moved_events(folder, moved, kind, offset=offset))
        offset += len(moved.rows)
    return arrow().concat_tables(tables)


def numbered(columns: Sequence[Column], rows: Sequence[Row], numbers: Sequence[int]) -> Any:
    """Return rows as a table with the numbers of their traces' rows as its last column."""
    pa = arrow()
    table = table_of(columns[:-1], rows)
    return table.append_column(pa.field(ROW, pa.int64()), pa.array(numbers, type=pa.int64()))


def moved_events(folder: LocalFolder, moved: Rows, kind: str, *, offset: int) -> Any:
    """Return the events of moved traces, numbered anew from `offset`."""
    pa, pc = arrow(), compute()
    table = read_table(folder, moved.partition.files[kind])
    wanted = pa.array(moved.rows, type=pa.int64())
    places = pc.index_in(table.column(ROW), value_set=wanted)
    table = table.filter(pc.is_valid(places))
    places = pc.add(pc.cast(pc.drop_null(places), pa.int64()), offset)
    return table.set_column(table.schema.get_field_index(ROW), ROW, places)


def read_table(folder: LocalFolder, file: StoredFile, columns: Sequence[str] | None = None) -> Any:
    """Return a file, or some of its columns, as an Arrow table.

    Raises:
        StoreError: The file is missing or damaged.
    """
    with open_file(folder, file) as opened:
        try:
            return opened.read(columns=None if columns is None else list(columns))
        except (OSError, ValueError) as error:
            raise damaged(folder, file, error) from error


def open_file(folder: LocalFolder, file: StoredFile) -> Any:
    """Open a Parquet file.

    Raises:
        StoreError: The file is missing or damaged.
    """
    try:
        return parquet().ParquetFile(folder.local(file), page_checksum_verification=True)
    except (OSError, ValueError) as error:
        raise damaged(folder, file, error) from error


def damaged(folder: LocalFolder, file: StoredFile, error: Exception) -> StoreError:
    """Return the error about a file that cannot be read."""
    if isinstance(error, StoreError | UnreadableFile):
        return StoreError(str(error))
    if isinstance(error, FileNotFoundError):
        return StoreError(f"the store {str(folder)!r} lacks its file {file.name}")
    if isinstance(error, OSError) and error.errno and error.strerror:
        reason = error.strerror.partition("\n")[0]
        return StoreError(
            f"the file {file.name} of the store {str(folder)!r} cannot be read: {reason}"
        )
    reason = str(error).partition("\n")[0]
    return StoreError(f"the file {file.name} of the store {str(folder)!r} is damaged: {reason}")


def each_document(
    folder: LocalFolder, partition: Partition, rows: Iterable[int]
) -> Iterator[tuple[int, str, bytes]]:
    """Yield row, trace id and document, one group of documents in memory at a time.

    Args:
        folder: The store's.
        partition: Where they lie.
        rows: Which, in ascending order.

    Raises:
        StoreError: The file is missing or damaged, or a document is not the one that was stored.
    """
    file = partition.files["documents"]
    traces = partition.files["traces"]
    digests = read_table(folder, traces, ["document_sha256"]).column(0)
    if len(digests) != partition.rows:
        raise damaged(folder, traces, ValueError(f"it holds {len(digests)} rows"))
    for numbers, table in _document_groups(folder, file, tuple(rows)):
        ids, documents = table.column("trace_id"), table.column("document")
        for place, row in enumerate(numbers):
            trace_id, data = ids[place].as_py(), documents[place].as_py()
            if document_digest(data) != digests[row].as_py():
                reason = f"trace {trace_id!r:.80} is not what was stored"
                raise damaged(folder, file, ValueError(reason))
            yield row, trace_id, data


def _document_groups(
    folder: LocalFolder, file: StoredFile, rows: Sequence[int]
) -> Iterator[tuple[list[int], Any]]:
    pending = list(reversed(rows))
    with open_file(folder, file) as opened:
        start = 0
        for group in range(opened.num_row_groups):
            end = start + opened.metadata.row_group(group).num_rows
            inside: list[int] = []
            while pending and pending[-1] < end:
                inside.append(pending.pop())
            if inside:
                try:
                    table = opened.read_row_group(group)
                except (OSError, ValueError) as error:
                    raise damaged(folder, file, error) from error
                yield inside, table.take([row - start for row in inside])
            start = end
    if pending:
        raise StoreError(f"the file {file.name} of the store {str(folder)!r} lacks rows")

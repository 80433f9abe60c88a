"""One SELECT over a store's views, by a DuckDB that can reach nothing else."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from tracedance_sdk.errors import InvalidQuery, StoreError, shown
from tracedance_sdk.store.columns import CALLS, ROW, TRACES, TURNS, Column, public
from tracedance_sdk.store.feature_columns import FEATURES, FEATURES_VERSION
from tracedance_sdk.store.folder import LocalFolder
from tracedance_sdk.store.libraries import arrow, duck
from tracedance_sdk.store.manifest import Manifest, Partition

VIEWS: Final[dict[str, Sequence[Column]]] = {
    "traces": TRACES,
    "turns": TURNS,
    "calls": CALLS,
    "features": FEATURES,
}
"""The views and their columns."""

TIMEOUT_S: Final = 60.0
MEMORY_MB: Final = 1024
MOST_ROWS: Final = 1_000_000

_NUMBERED: Final = "file_row_number"


class Selection(NamedTuple):
    """The answer to a query; iterating gives each row as a dict.

    Attributes:
        columns: Their names, in order.
        rows: The rows; times are aware datetimes.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    def dicts(self) -> Iterator[dict[str, Any]]:
        """Yield each row by column names; of equal names the last counts."""
        return (dict(zip(self.columns, row, strict=True)) for row in self.rows)


def run_select(
    folder: LocalFolder,
    manifest: Manifest,
    sql: str,
    *,
    timeout_s: float = TIMEOUT_S,
    memory_mb: int = MEMORY_MB,
    most_rows: int = MOST_ROWS,
) -> Selection:
    """Run a query; see `TraceStore.select`."""
    duckdb = duck()
    if asks_features(sql):
        _require_features(manifest, folder)
    connection = connected(folder, manifest, memory_mb=memory_mb)
    try:
        statement = _only_select(connection, sql)
        timer = threading.Timer(timeout_s, connection.interrupt)
        timer.daemon = True
        timer.start()
        try:
            cursor = connection.execute(statement)
            rows = cursor.fetchmany(most_rows + 1)
        finally:
            timer.cancel()
        columns = tuple(item[0] for item in cursor.description)
    except duckdb.InterruptException as error:
        raise InvalidQuery(f"stopped after {timeout_s:g} s: {_short(sql)}") from error
    except (duckdb.Error, RuntimeError) as error:
        raise InvalidQuery(f"{_reason(error)}: {_short(sql)}") from error
    finally:
        connection.close()
    if len(rows) > most_rows:
        raise InvalidQuery(f"more than {most_rows:,} rows; add a LIMIT: {_short(sql)}")
    return Selection(columns, tuple(rows))


def asks_features(sql: str) -> bool:
    """Whether a query names the view `features`, which must have been derived for it."""
    return "features" in sql.lower()


def connected(folder: LocalFolder, manifest: Manifest, *, memory_mb: int = MEMORY_MB) -> Any:
    """Return a DuckDB connection with a store's views, closed off from everything else.

    It reads the partitions' own files and no other, loads nothing, and its settings are locked.
    Limits of memory do not stop every query that means harm: run SQL of others in a process of
    its own.

    Raises:
        StoreError: A file of the store is missing or damaged.
    """
    duckdb = duck()
    connection = duckdb.connect(
        ":memory:",
        config={
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "memory_limit": f"{memory_mb}MB",
            "temp_directory": "",
            "preserve_insertion_order": "true",
        },
    )
    try:
        _make_dropped(connection, folder, manifest)
        paths: list[str] = []
        for name, columns in VIEWS.items():
            parts = _with_file(manifest, name)
            paths += (str(folder.local(part.files[name])) for part in parts)
            connection.execute(_view(folder, parts, name, columns))
        connection.execute(f"SET allowed_paths = [{_texts(paths)}]")
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
    except duckdb.Error as error:
        connection.close()
        raise StoreError(
            f"the store {str(folder)!r} cannot be searched: {_reason(error)}"
        ) from error
    return connection


def _make_dropped(connection: Any, folder: LocalFolder, manifest: Manifest) -> None:
    """Make a table of the rows that no longer count."""
    connection.execute("CREATE TEMP TABLE dropped_rows (file VARCHAR, trace_row BIGINT)")
    files: list[str] = []
    rows: list[int] = []
    for name in VIEWS:
        for part in _with_file(manifest, name):
            files += [str(folder.local(part.files[name]))] * len(part.dropped)
            rows += part.dropped
    if rows:
        pa = arrow()
        table = pa.table({"file": pa.array(files), "trace_row": pa.array(rows, type=pa.int64())})
        connection.register("dropped_source", table)
        connection.execute("INSERT INTO dropped_rows SELECT * FROM dropped_source")
        connection.unregister("dropped_source")


def _with_file(manifest: Manifest, name: str) -> list[Partition]:
    """Return the partitions that have the file of a view, of the version that is read."""
    if name != "features":
        return list(manifest.partitions)
    return [p for p in manifest.partitions if p.features_version == FEATURES_VERSION]


def _view(
    folder: LocalFolder, partitions: Sequence[Partition], name: str, columns: Sequence[Column]
) -> str:
    names = ", ".join(f'"{column}"' for column in public(columns))
    row = _NUMBERED if name == "traces" else ROW
    whole = [str(folder.local(p.files[name])) for p in partitions if not p.dropped]
    holed = [str(folder.local(p.files[name])) for p in partitions if p.dropped]
    parts: list[str] = []
    if whole:
        source = f"read_parquet([{_texts(whole)}])"
        parts.append(f"SELECT {names} FROM {source}")  # noqa: S608 - names are ours, quoted
    if holed:
        source = f"read_parquet([{_texts(holed)}], filename=true, file_row_number=true)"
        parts.append(
            f"SELECT {names} FROM {source} AS f WHERE NOT EXISTS ("  # noqa: S608 - as above
            f"SELECT 1 FROM dropped_rows AS d WHERE d.file = f.filename AND d.trace_row = f.{row})"
        )
    if not parts:
        parts.append(_empty(columns))
    return f"CREATE VIEW {name} AS {' UNION ALL '.join(parts)}"


def _empty(columns: Sequence[Column]) -> str:
    types = {
        "text": "VARCHAR", "long": "VARCHAR", "int": "BIGINT", "float": "DOUBLE",
        "flag": "BOOLEAN", "time": "TIMESTAMPTZ", "texts": "VARCHAR[]",
    }  # fmt: skip
    fields = (f'NULL::{types[c.type]} AS "{c.name}"' for c in columns if c.meaning)
    return f"SELECT {', '.join(fields)} WHERE false"


def _require_features(manifest: Manifest, folder: LocalFolder) -> None:
    lacking = sum(part.features_version != FEATURES_VERSION for part in manifest.partitions)
    if lacking:
        raise StoreError(
            f"{lacking} of {len(manifest.partitions)} partitions of the store {str(folder)!r} lack "
            "features of this version; store.index() derives them (or: tracedance index)"
        )


def _only_select(connection: Any, sql: str) -> Any:
    """Return the one statement of a text, if it is a SELECT."""
    try:
        sql.encode()
    except UnicodeEncodeError as error:
        raise InvalidQuery(f"no text that can be written as UTF-8: {_short(sql)}") from error
    statements = connection.extract_statements(sql)
    if len(statements) != 1:
        raise InvalidQuery(f"one SELECT is wanted, not {len(statements)} statements: {_short(sql)}")
    kind = str(statements[0].type).rpartition(".")[2]
    if kind != "SELECT":
        raise InvalidQuery(f"only SELECT is allowed, not {kind}: {_short(sql)}")
    return statements[0]


def _texts(values: Sequence[str]) -> str:
    return ", ".join("'" + value.replace("'", "''") + "'" for value in values)


def _reason(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines or [type(error).__name__])[0]


def _short(sql: str) -> str:
    return shown(" ".join(sql.split()), 100)

"""One SELECT over a store's views, by a DuckDB that can reach nothing else."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from tracedance_sdk.errors import InvalidQuery, StoreError
from tracedance_sdk.store.allowed_sql import first_line, in_short, views_asked
from tracedance_sdk.store.column_hints import unknown_column
from tracedance_sdk.store.columns import CALLS, ROW, TRACES, TURNS, Column, public
from tracedance_sdk.store.damage import found_damage
from tracedance_sdk.store.feature_columns import FEATURES, FEATURES_VERSION
from tracedance_sdk.store.fetching import MEMORY_MB, Limits, fetch
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
    limits: Limits = Limits(),  # noqa: B008 - cannot change
) -> Selection:
    """Run a query; see `TraceStore.select`."""
    duckdb = duck()
    views = views_asked(sql)
    if "features" in views:
        _require_features(manifest, folder)
    connection = connected(folder, manifest, memory_mb=limits.memory_mb)
    try:
        return Selection(*fetch(connection, sql, limits))
    except duckdb.InterruptException as error:
        raise InvalidQuery(f"stopped after {limits.timeout_s:g} s: {in_short(sql)}") from error
    except (duckdb.Error, RuntimeError, OverflowError, MemoryError) as error:
        if damage := found_damage(folder, manifest, views, error):
            raise damage from error
        raise InvalidQuery(f"{_reason(error, views)}: {in_short(sql)}") from error
    finally:
        connection.close()


def columns_of_answer(sql: str) -> list[tuple[str, str]]:
    """Return the names of the columns that a query would give, with DuckDB's names of their types.

    The query is not run. It is bound to views without a row, so that no store is needed.

    Raises:
        InvalidQuery: It is no SELECT over the views, or names what they do not have, in one line.
        MissingDependency: DuckDB is not installed.

    Example:
        >>> columns_of_answer("SELECT agent, count(*) AS n FROM traces GROUP BY ALL")
        [('agent', 'VARCHAR'), ('n', 'BIGINT')]
    """
    duckdb = duck()
    views = views_asked(sql)
    connection = connected(LocalFolder(Path()), Manifest(1, ()))
    try:
        answer = connection.sql(sql)
        return list(zip(answer.columns, map(str, answer.types), strict=True))
    except (duckdb.Error, RuntimeError, MemoryError) as error:
        raise InvalidQuery(f"{_reason(error, views)}: {in_short(sql)}") from error
    finally:
        connection.close()


def _reason(error: Exception, views: Iterable[str]) -> str:
    columns = {name: public(of) for name, of in VIEWS.items()}
    told = first_line(error)
    return unknown_column(told, frozenset(views), columns) or told


def rows_of(
    folder: LocalFolder,
    manifest: Manifest,
    sql: str,
    parameters: Sequence[Any] = (),
    *,
    memory_mb: int = MEMORY_MB,
) -> list[tuple[Any, ...]]:
    """Return the rows of a query of our own over the views.

    Raises:
        StoreError: A file of the store is missing or damaged.
    """
    duckdb = duck()
    connection = connected(folder, manifest, memory_mb=memory_mb)
    try:
        return list(connection.execute(sql, list(parameters)).fetchall())
    except duckdb.Error as error:
        raise _unsearchable(folder, manifest, VIEWS, error) from error
    finally:
        connection.close()


def _unsearchable(
    folder: LocalFolder, manifest: Manifest, views: Iterable[str], error: Exception
) -> StoreError:
    general = StoreError(f"the store {str(folder)!r} cannot be searched: {first_line(error)}")
    return found_damage(folder, manifest, views, error) or general


def asks_features(sql: str) -> bool:
    """Whether a query asks the view `features`, which must have been derived for it."""
    try:
        return "features" in views_asked(sql)
    except InvalidQuery:
        return False  # which says why it is refused when it is run


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
        dropped = f"dropped_{secrets.token_hex(8)}"  # a name that no query can know
        _make_dropped(connection, folder, manifest, dropped)
        paths: list[str] = []
        for name in VIEWS:
            parts = _with_file(manifest, name)
            paths += (str(folder.local(part.files[name])) for part in parts)
            connection.execute(_view(folder, parts, name, dropped=dropped))
        connection.execute(f"SET allowed_paths = [{_texts(paths)}]")
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
    except duckdb.Error as error:
        connection.close()
        raise _unsearchable(folder, manifest, VIEWS, error) from error
    return connection


def _make_dropped(connection: Any, folder: LocalFolder, manifest: Manifest, name: str) -> None:
    """Make a table of the rows that no longer count."""
    connection.execute(f"CREATE TEMP TABLE {name} (file VARCHAR, trace_row BIGINT)")
    files: list[str] = []
    rows: list[int] = []
    for view in VIEWS:
        for part in _with_file(manifest, view):
            files += [str(folder.local(part.files[view]))] * len(part.dropped)
            rows += part.dropped
    if rows:
        pa = arrow()
        table = pa.table({"file": pa.array(files), "trace_row": pa.array(rows, type=pa.int64())})
        connection.register("dropped_source", table)
        connection.execute(f"INSERT INTO {name} SELECT * FROM dropped_source")  # noqa: S608 - ours
        connection.unregister("dropped_source")


def _with_file(manifest: Manifest, name: str) -> list[Partition]:
    """Return the partitions that have the file of a view, of the version that is read."""
    if name != "features":
        return list(manifest.partitions)
    return [p for p in manifest.partitions if p.features_version == FEATURES_VERSION]


def _view(folder: LocalFolder, partitions: Sequence[Partition], name: str, *, dropped: str) -> str:
    columns = VIEWS[name]
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
            f"SELECT 1 FROM {dropped} AS d WHERE d.file = f.filename AND d.trace_row = f.{row})"
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


def _texts(values: Sequence[str]) -> str:
    return ", ".join("'" + value.replace("'", "''") + "'" for value in values)

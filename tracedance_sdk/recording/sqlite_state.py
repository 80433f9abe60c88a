"""A snapshot of a SQLite database: ``{table: {key: {column: value}}}``.

The key is the primary key: its text, its JSON when it is no text, a JSON array when it has several
columns; without a primary key, the row id. Tables and rows are in order. Of internal and shadow
tables nothing is kept, of a blob over 4 KiB its size and hash, of a table over 20,000 rows the
number of rows and a hash over all of them, so that a change still shows.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import itertools
import os
import sqlite3
from collections.abc import Callable, Container, Iterator
from pathlib import Path
from typing import Any, Final

import orjson

from tracedance_sdk.recording.values import freeze
from tracedance_sdk.trace import Json, type_stub

MAX_ROWS: Final = 20_000
"""Most rows of a table that are kept one by one."""

MAX_BLOB: Final = 4 * 1024
"""Largest blob, in bytes, that is kept."""

_HEADER: Final = b"SQLite format 3\0"
_WAIT_SECONDS: Final = 2.0
_NO_COMPANION: Final = ("SQLITE_CANTOPEN", "SQLITE_READONLY")
_TEXT, _BLOB = 1, 2
_ROW_IDS: Final = ("rowid", "_rowid_", "oid")


def is_database(path: Path) -> bool:
    """Whether a file is a SQLite database, by its first bytes."""
    with path.open("rb") as file:
        return file.read(len(_HEADER)) == _HEADER


def database_state(path: str | os.PathLike[str]) -> dict[str, Json]:
    """Return the committed content of a database file, opened read-only for the moment.

    Raises:
        sqlite3.Error: The file is no database, is damaged, or stays locked for two seconds.
    """
    with contextlib.closing(_read_only(Path(path))) as connection:
        return connection_state(connection)


def connection_state(connection: sqlite3.Connection) -> dict[str, Json]:
    """Return the content of a database as a connection sees it, its own open changes included.

    All tables are read in one transaction. One that is open already is read in and left open;
    else a reading one is begun and ended. Row and text factories of the connection do not matter.

    Raises:
        sqlite3.Error: The connection is closed, belongs to another thread, or the database is
            damaged or locked.
    """
    cursor = connection.cursor()
    cursor.row_factory = None
    if connection.in_transaction:
        return _tables(cursor)
    cursor.execute("BEGIN")
    try:
        return _tables(cursor)
    finally:
        cursor.execute("COMMIT")


def _read_only(path: Path) -> sqlite3.Connection:
    uri = path.resolve(strict=True).as_uri()
    connection = sqlite3.connect(f"{uri}?mode=ro", uri=True, timeout=_WAIT_SECONDS)
    try:
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        connection.close()
        if not error.sqlite_errorname.startswith(_NO_COMPANION):
            raise
        if path.with_name(f"{path.name}-wal").exists():
            raise
        # Write-ahead logging wants files beside the database, which we may not make here. Nobody
        # else has made them, so nobody is writing.
        return sqlite3.connect(f"{uri}?immutable=1", uri=True, timeout=_WAIT_SECONDS)
    return connection


def _tables(cursor: sqlite3.Cursor) -> dict[str, Json]:
    # Text goes through the connection's own factory, so only numbers and blobs are asked for.
    (encoding,) = cursor.execute("SELECT CAST(encoding AS BLOB) FROM pragma_encoding").fetchone()
    listed = cursor.execute(
        "SELECT CAST(name AS BLOB), type = 'virtual' FROM pragma_table_list"
        " WHERE schema = 'main' AND type IN ('table', 'virtual')"
        " AND substr(name, 1, 7) <> 'sqlite_'"
        " ORDER BY name"
    ).fetchall()
    decode = functools.partial(_decoded, encoding=encoding.replace(b"\0", b"").decode("ascii"))
    found: dict[str, Json] = {}
    for raw, is_virtual in listed:
        name = decode(raw)
        try:
            found[name] = _Table(cursor, name, decode).content()
        except sqlite3.OperationalError as error:
            # The module behind a virtual table need not be at hand here.
            if not is_virtual:
                raise
            found[name] = type_stub("sqlite3.table", f"not read: {error}")
    return found


def _decoded(data: bytes, *, encoding: str) -> str:
    return data.decode(encoding, "backslashreplace")


class _Table:
    """One table, read through a cursor whose connection may turn text into anything."""

    def __init__(self, cursor: sqlite3.Cursor, name: str, decode: Callable[[bytes], str]) -> None:
        self._cursor = cursor
        self._name = _quoted(name)
        self._decode = decode
        shape = cursor.execute(
            "SELECT CAST(name AS BLOB), pk FROM pragma_table_xinfo(?) WHERE hidden IN (0, 2, 3)",
            (name,),
        ).fetchall()
        self._columns = [decode(column) for column, _ in shape]
        keyed = sorted((place, decode(column)) for column, place in shape if place)
        self._key = [column for _, column in keyed] or [self._row_id()]

    def content(self) -> Json:
        """Return ``{key: {column: value}}``, or a stub with count and hash."""
        count = self._cursor.execute(f"SELECT count(*) FROM {self._name}").fetchone()[0]  # noqa: S608
        if count > MAX_ROWS:
            digest = hashlib.sha256()
            for row in self._rows():
                digest.update(freeze(row))
            return type_stub("sqlite3.table", f"{count} rows, sha256 {digest.hexdigest()}")
        found: dict[str, Json] = {}
        for key, values in self._rows():
            found[_free(key, found)] = dict(zip(self._columns, values, strict=True))
        return found

    def _row_id(self) -> str:
        names = {column.lower() for column in self._columns}
        return next((name for name in _ROW_IDS if name not in names), self._columns[0])

    def _rows(self) -> Iterator[tuple[str, list[Json]]]:
        parts: list[str] = []
        for column in [*self._key, *self._columns]:
            name = _quoted(column)
            text = f"CASE typeof({name}) WHEN 'text' THEN CAST({name} AS BLOB) ELSE +{name} END"
            kind = (
                f"CASE typeof({name}) WHEN 'text' THEN {_TEXT} WHEN 'blob' THEN {_BLOB} ELSE 0 END"
            )
            parts += kind, text
        order = ", ".join(map(_quoted, self._key))
        query = f"SELECT {', '.join(parts)} FROM {self._name} ORDER BY {order}"  # noqa: S608
        width = len(self._key)
        for row in self._cursor.execute(query):
            values = [
                self._value(kind, value) for kind, value in zip(row[::2], row[1::2], strict=True)
            ]
            yield _key_text(values[:width]), values[width:]

    def _value(self, kind: int, value: Any) -> Json:
        if kind == _TEXT:
            return self._decode(value)
        if kind == _BLOB and len(value) > MAX_BLOB:
            return type_stub(
                "bytes", f"{len(value)} bytes, sha256 {hashlib.sha256(value).hexdigest()}"
            )
        return orjson.loads(freeze(value))


def _key_text(parts: list[Json]) -> str:
    key = parts if len(parts) > 1 else parts[0]
    return key if isinstance(key, str) else freeze(key).decode()


def _free(key: str, taken: Container[str]) -> str:
    """Return the key, numbered when an earlier row has it, such as 1 and the text 1, or NULLs."""
    if key not in taken:
        return key
    return next(spelled for n in itertools.count(2) if (spelled := f"{key} {n}") not in taken)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'

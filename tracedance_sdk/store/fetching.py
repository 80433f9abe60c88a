"""Fetch the answer of a query in pieces, each small, with a look at the clock in between."""

from __future__ import annotations

import threading
import time
from sys import getsizeof
from typing import Any, Final, NamedTuple

from tracedance_sdk.errors import InvalidQuery
from tracedance_sdk.store.allowed_sql import in_short

TIMEOUT_S: Final = 60.0
MEMORY_MB: Final = 1024
MOST_ROWS: Final = 1_000_000
ANSWER_MB: Final = 512

_PIECE_BYTES: Final = 4_000_000
_PIECE_ROWS: Final = 10_000
_FIRST_ROWS: Final = 16


class Limits(NamedTuple):
    """What a query may use.

    Attributes:
        timeout_s: Seconds after which it is stopped.
        memory_mb: Megabytes that DuckDB may use.
        most_rows: An answer with more rows is an error.
        answer_mb: So is one that takes more megabytes in Python.
    """

    timeout_s: float = TIMEOUT_S
    memory_mb: int = MEMORY_MB
    most_rows: int = MOST_ROWS
    answer_mb: int = ANSWER_MB


class Answer(NamedTuple):
    """Names of columns, and rows."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


def fetch(connection: Any, sql: str, limits: Limits) -> Answer:
    """Return the answer of a query that may be run.

    Values are what DuckDB's client makes of them. Where an interval is longer than Python can
    say, columns of intervals are text.

    Raises:
        InvalidQuery: It takes too long, or its answer is too large.
        duckdb.Error: Whatever DuckDB finds wrong; `InterruptException` after the time is over.
    """
    ends = time.monotonic() + limits.timeout_s
    timer = threading.Timer(limits.timeout_s, connection.interrupt)
    timer.daemon = True
    timer.start()
    try:
        cursor = connection.execute(sql)
        kinds = [str(item[1]) for item in cursor.description]
        columns = tuple(item[0] for item in cursor.description)
        try:
            rows = _rows(cursor, sql, limits, ends=ends)
        except OverflowError:
            rows = _rows(_in_text(connection, sql, kinds), sql, limits, ends=ends)
    finally:
        timer.cancel()
    return Answer(columns, rows)


def _rows(cursor: Any, sql: str, limits: Limits, *, ends: float) -> tuple[tuple[Any, ...], ...]:
    rows: list[tuple[Any, ...]] = []
    n_bytes, wanted = 0, _FIRST_ROWS
    while piece := cursor.fetchmany(min(wanted, limits.most_rows + 1 - len(rows))):
        rows += piece
        size = sum(_size(row) for row in piece)
        n_bytes += size
        if len(rows) > limits.most_rows:
            most = f"more than {limits.most_rows:,} rows; add a LIMIT"
            raise InvalidQuery(f"{most}: {in_short(sql)}")
        if n_bytes > limits.answer_mb * 1_000_000:
            raise InvalidQuery(f"an answer of more than {limits.answer_mb:,} MB: {in_short(sql)}")
        if time.monotonic() > ends:
            raise InvalidQuery(f"stopped after {limits.timeout_s:g} s: {in_short(sql)}")
        wanted = max(1, min(_PIECE_ROWS, _PIECE_BYTES * len(piece) // size))
    return tuple(rows)


def _size(row: tuple[Any, ...]) -> int:
    """Return the bytes that a row takes, about."""
    total, pending = getsizeof(row), list(row)
    while pending:
        value = pending.pop()
        total += getsizeof(value)
        if isinstance(value, (list, tuple)):
            pending += value
        elif isinstance(value, dict):
            pending += value
            pending += value.values()
    return total


def _in_text(connection: Any, sql: str, kinds: list[str]) -> Any:
    """Return the cursor of a query whose columns of intervals are text."""
    wanted = (
        f"#{place}::VARCHAR" if "INTERVAL" in kind else f"#{place}"
        for place, kind in enumerate(kinds, 1)
    )
    return connection.execute(connection.sql(sql).project(", ".join(wanted)).sql_query())

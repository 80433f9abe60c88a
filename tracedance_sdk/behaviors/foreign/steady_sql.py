"""What a query may not ask if it is to give the same each time: the clock, chance, a sample.

Which functions those are, DuckDB's own catalogue says; so a release with more of them is covered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

import orjson

from tracedance_sdk.errors import InvalidQuery, shown

_CLOCKS: Final = """
SELECT lower(function_name) FROM duckdb_functions() WHERE function_type = 'scalar'
GROUP BY ALL HAVING bool_or(stability = 'VOLATILE')
    OR bool_or(stability = 'CONSISTENT_WITHIN_QUERY' AND len(parameters) = 0)"""
_MACROS: Final = """
SELECT lower(function_name), lower(macro_definition) FROM duckdb_functions()
WHERE macro_definition IS NOT NULL"""
_WORDS: Final = frozenset(
    ("current_date", "current_time", "current_timestamp", "localtime", "localtimestamp")
)
"""What SQL writes without brackets; a column of that name is taken for it."""

_BY_CHANCE: Final = frozenset(("reservoir_quantile",))
_HARMLESS: Final = frozenset(("error", "current_schema", "current_database", "current_catalog"))
_NOW: Final = frozenset(("age",))
"""Functions that count from today when they are given one time alone."""


def check_steady(sql: str, *, where: str) -> None:
    """See that a query gives the same whenever it is asked.

    Args:
        sql: One SELECT, already checked by `tracedance_sdk.store.views_asked`.
        where: What it is, for messages.

    Raises:
        InvalidQuery: It asks for the clock, for chance or for a sample.

    Example:
        >>> check_steady("SELECT trace_id, 1 FROM traces WHERE started_at > now()", where="sql")
        Traceback (most recent call last):
        tracedance_sdk.errors.InvalidQuery: sql: 'now' gives something else each time it is asked
    """
    found = next(_unsteady(sql), None)
    if found is not None:
        raise InvalidQuery(f"{where}: {found} gives something else each time it is asked")


def _unsteady(sql: str) -> Iterator[str]:
    import duckdb

    with duckdb.connect(":memory:") as connection:
        text = connection.execute("SELECT json_serialize_sql($1::VARCHAR)", [sql]).fetchone()
    pending = [orjson.loads(text[0] if text else b"null")]
    while pending:
        value = pending.pop()
        if isinstance(value, list):
            pending += value
        elif isinstance(value, dict):
            yield from _asked(value)
            pending += value.values()


def _asked(part: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a part of the tree asks for that is another each time."""
    if part.get("sample"):
        yield "a sample"
    elif "function_name" in part:
        name = _name(part)
        arguments = part.get("arguments", part.get("children")) or ()
        if name in _functions() or (name in _NOW and len(arguments) == 1):
            yield shown(name)
    elif part.get("class") == "COLUMN_REF":
        names = [str(name).lower() for name in part.get("column_names") or ()]
        if len(names) == 1 and names[0] in _WORDS:
            yield shown(names[0])


def _name(part: Mapping[str, Any]) -> str:
    whole = part.get("qualified_name")
    path = whole.get("path") if isinstance(whole, dict) else None
    return str(path[-1] if path else part["function_name"]).lower()


@cache
def _functions() -> frozenset[str]:
    """Return the names of the functions that are another each time, and of macros that ask them."""
    import duckdb

    with duckdb.connect(":memory:") as connection:
        found = {row[0] for row in connection.execute(_CLOCKS).fetchall()} | _WORDS | _BY_CHANCE
        macros = dict(connection.execute(_MACROS).fetchall())
    found -= _HARMLESS
    while more := {
        name
        for name, definition in macros.items()
        if name not in found | _HARMLESS and found & set(re.findall(r"\w+", definition))
    }:
        found |= more
    return frozenset(found)

"""What a query may ask: DuckDB parses it, and every table and function in its tree is looked at.

DuckDB's own closing off is not enough: its parser takes statements that write inside a SELECT, its
catalog lists whatever the connection holds, and the files that the views are made of may be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import orjson

from tracedance_sdk.errors import InvalidQuery, shown
from tracedance_sdk.store.libraries import duck

VIEW_NAMES: Final = ("traces", "turns", "calls", "features")
"""The views that a query may ask."""

TABLE_FUNCTIONS: Final = frozenset(
    ("generate_series", "json_each", "json_tree", "range", "repeat", "repeat_row", "unnest")
)
"""Functions that may stand where a table stands; these read nothing but their arguments."""

_NODES: Final = frozenset(("SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"))
_OUTSIDE: Final = re.compile(
    r"(read|duckdb|pragma|parquet|sniff)_.*|current_setting|current_query|getenv|getvariable|"
    r"write_log|sleep_ms|pg_sleep|pg_get_.*|query|query_table|glob|nextval|currval"
)
_SCHEMAS: Final = frozenset(((), ("main",), ("memory",), ("memory", "main")))

_Scope = frozenset[str]


class _Visit(NamedTuple):
    """A part of the tree, and the names that WITH has defined for it."""

    value: Any
    scope: _Scope


def views_asked(sql: str, *, connection: Any = None) -> frozenset[str]:
    """Return the names of the views that a query asks.

    Args:
        sql: One SELECT.
        connection: A DuckDB connection to parse it with; by default one is made.

    Raises:
        InvalidQuery: It is something else, or asks something else than the views, in one line.
        MissingDependency: DuckDB is not installed.

    Example:
        >>> sorted(views_asked("SELECT count(*) FROM turns JOIN calls USING (trace_id, turn)"))
        ['calls', 'turns']
    """
    if connection is not None:
        return _views(_tree(connection, sql), sql)
    with duck().connect(":memory:") as own:
        return _views(_tree(own, sql), sql)


def in_short(sql: str) -> str:
    """Return a query on one line, cut, for a message."""
    return shown(" ".join(sql.split()), 100)


def _tree(connection: Any, sql: str) -> Any:
    """Return the tree of the one statement of a text, if it is a SELECT."""
    if "\0" in sql:
        raise InvalidQuery(f"a query has no NUL character: {in_short(sql)}")
    try:
        sql.encode()
    except UnicodeEncodeError as error:
        raise InvalidQuery(f"no text that can be written as UTF-8: {in_short(sql)}") from error
    try:
        statements = connection.extract_statements(sql)
    except duck().Error as error:
        raise InvalidQuery(f"{first_line(error)}: {in_short(sql)}") from error
    if len(statements) != 1:
        many = f"one SELECT is wanted, not {len(statements)} statements"
        raise InvalidQuery(f"{many}: {in_short(sql)}")
    kind = str(statements[0].type).rpartition(".")[2]
    if kind != "SELECT":
        hint = " (PIVOT needs its values: ON column IN (...))" if kind == "MULTI" else ""
        raise InvalidQuery(f"only SELECT is allowed, not {kind}{hint}: {in_short(sql)}")
    text = connection.execute("SELECT json_serialize_sql($1::VARCHAR)", [sql]).fetchone()[0]
    try:
        tree = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InvalidQuery(f"it is nested too deeply: {in_short(sql)}") from error
    if tree.get("error") or len(tree.get("statements", ())) != 1:
        reason = str(tree.get("error_message", "it is no SELECT")).partition("\n")[0]
        raise InvalidQuery(f"{reason}: {in_short(sql)}")
    return tree


def _views(tree: Any, sql: str) -> frozenset[str]:
    asked: set[str] = set()
    pending = [_Visit(tree, frozenset())]
    while pending:
        value, scope = pending.pop()
        if isinstance(value, list):
            pending += (_Visit(item, scope) for item in value)
        elif isinstance(value, dict):
            try:
                asked.update(_checked(value, scope))
            except _RefusedError as refusal:
                raise InvalidQuery(f"{refusal}: {in_short(sql)}") from None
            pending += _inside(value, scope)
    return frozenset(asked)


class _RefusedError(Exception):
    """A part of a query that is not allowed."""


def _checked(part: Mapping[str, Any], scope: _Scope) -> tuple[str, ...]:
    """Return the view that a part of the tree names, if it names one."""
    kind = part.get("type")
    if isinstance(kind, str) and kind.endswith("_NODE") and kind not in _NODES:
        what = kind.removesuffix("_NODE").removesuffix("_QUERY")
        raise _RefusedError(f"only SELECT is allowed, not {what}")
    if kind == "SHOW_REF" and not part.get("query"):
        raise _RefusedError("SHOW is not allowed; the views are " + ", ".join(VIEW_NAMES))
    if kind == "TABLE_FUNCTION":
        name = _folded(_path(part["function"], "function_name")[-1])
        if name not in TABLE_FUNCTIONS:
            raise _RefusedError(f"the table function {shown(name)} is not allowed")
    elif "function_name" in part and part.get("class", "FUNCTION") in ("FUNCTION", "WINDOW"):
        name = _folded(_path(part, "function_name")[-1])
        if _OUTSIDE.fullmatch(name):
            raise _RefusedError(f"the function {shown(name)} is not allowed")
    elif kind == "BASE_TABLE":
        return _table(_path(part, "table_name"), scope)
    return ()


def _table(path: tuple[str, ...], scope: _Scope) -> tuple[str, ...]:
    *schema, name = (_folded(item) for item in path)
    if name in scope and schema in ([], ["recurring"]):
        return ()
    if name in VIEW_NAMES and tuple(schema) in _SCHEMAS:
        return (name,)
    known = ", ".join(VIEW_NAMES)
    raise _RefusedError(f"no table {shown('.'.join(path))}; the views are {known}")


def _path(part: Mapping[str, Any], key: str) -> tuple[str, ...]:
    """Return a name with its catalog and schema, whichever way this DuckDB writes them."""
    whole = part.get("qualified_name")
    if isinstance(whole, dict) and whole.get("path"):
        return tuple(str(item) for item in whole["path"])
    above = (part.get(name) for name in ("catalog", "catalog_name", "schema", "schema_name"))
    return (*(str(item) for item in above if item), str(part.get(key)))


def _inside(part: Mapping[str, Any], scope: _Scope) -> Iterator[_Visit]:
    """Yield the values of a part; a name of WITH is known to what comes after it, not before."""
    inner = scope
    entries = part.get("cte_map")
    for entry in (entries or {}).get("map") or ():
        yield _Visit(entry["value"], inner)
        inner |= {_folded(entry["key"])}
    for key, value in part.items():
        if key == "cte_map":
            continue
        # Only the repeated half of a recursive query sees the rows of the query itself.
        own = part.get("type") == "RECURSIVE_CTE_NODE" and key == "right"
        yield _Visit(value, inner | {_folded(str(part["cte_name"]))} if own else inner)


def _folded(name: str) -> str:
    """Return a name as DuckDB compares it: letters of ASCII without case."""
    return name.encode(errors="surrogatepass").lower().decode(errors="surrogatepass")


def first_line(error: Exception) -> str:
    """Return the first line of an error's message that says something."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines or [type(error).__name__])[0]

"""Rows of a query as JSON and as CSV, whatever their values are."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from datetime import date, time
from typing import Any, Final

from tracedance_sdk.errors import InvalidQuery
from tracedance_sdk.trace import Json

_DEEPEST: Final = 100
_QUOTED: Final = re.compile(r'[",\r\n]|^\s|\s$')


def plain(value: Any, *, depth: int = 0) -> Json:
    """Return a value that DuckDB gives as a JSON value, or as text where JSON has no such thing.

    Text are: numbers that are no 64-bit integers or finite floats, times (ISO 8601), intervals,
    UUIDs, bytes (hexadecimal), and keys of maps that are none (as JSON).

    Raises:
        InvalidQuery: It is nested more than 100 deep.
    """
    if depth > _DEEPEST:
        raise InvalidQuery(f"a value is nested more than {_DEEPEST} deep")
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**64 else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    if isinstance(value, (list, tuple)):
        return [plain(item, depth=depth + 1) for item in value]
    if isinstance(value, dict):
        return {_key(key, depth): plain(item, depth=depth + 1) for key, item in value.items()}
    return str(value)


def _key(key: Any, depth: int) -> str:
    found = plain(key, depth=depth + 1)
    return found if isinstance(found, str) else json_text(found)


def json_text(value: Json) -> str:
    r"""Return compact JSON on one line, in which whatever is not printable is an escape.

    Example:
        >>> json_text("\x1b[31m")
        '"\\u001b[31m"'
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in text)


def json_line(row: Mapping[str, Any]) -> str:
    """Return a row as one JSON object."""
    return json_text({name: plain(value) for name, value in row.items()})


def cell_text(value: Any) -> str:
    """Return a value as the text of a cell: lists and maps as JSON, nothing for null."""
    if value is None:
        return ""
    if isinstance(value, (list, tuple, dict)):
        return json.dumps(plain(value), ensure_ascii=False)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value).hex()
    return str(value)


def csv_line(cells: Iterable[str]) -> str:
    """Return a line of CSV; a cell with a quote, a comma, a line end or outer space is quoted."""
    found = [
        '"' + cell.replace('"', '""') + '"' if _QUOTED.search(cell) else cell for cell in cells
    ]
    return ",".join(found) if found != [""] else '""'

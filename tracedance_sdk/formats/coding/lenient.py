"""Take fields of foreign records where they are what they should be, and leave the rest alone.

Clients change what they write from week to week. A field of another type than the one known is not
an error here: it reads as absent, and whoever reads the record keeps it as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from tracedance_sdk.trace import Json

_MOST: Final = 2**63 - 1
_SECONDS_END: Final = 100_000_000_000
"""Numbers below are seconds since 1970 (until the year 5138), others milliseconds."""

_TIME: Final = re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}")


def text_at(record: Mapping[str, Any], *keys: str) -> str | None:
    """Return the first of these fields that is text and not empty."""
    for key in keys:
        value = record.get(key)
        if isinstance(value, str) and value:
            return value
    return None


def object_at(record: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return a field that is an object; an empty one where it is none."""
    value = record.get(key)
    return value if isinstance(value, dict) else {}


def list_at(record: Mapping[str, Any], key: str) -> list[Any]:
    """Return a field that is a list; an empty one where it is none."""
    value = record.get(key)
    return value if isinstance(value, list) else []


def objects_at(record: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """Return the objects in a field that is a list."""
    return [item for item in list_at(record, key) if isinstance(item, dict)]


def count_at(record: Mapping[str, Any], *keys: str) -> int | None:
    """Return the first of these fields that is a whole number from 0 to 2^63 - 1."""
    for key in keys:
        value = record.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST:
            return value
    return None


def integer_at(record: Mapping[str, Any], *keys: str) -> int | None:
    """Return the first of these fields that is a whole number of 64 bits, such as an exit code."""
    for key in keys:
        value = record.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and -_MOST <= value <= _MOST:
            return value
    return None


def number_at(record: Mapping[str, Any], *keys: str) -> float | None:
    """Return the first of these fields that is a number."""
    for key in keys:
        value = record.get(key)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= _MOST:
            return float(value)
    return None


def flag_at(record: Mapping[str, Any], *keys: str) -> bool | None:
    """Return the first of these fields that is true or false."""
    for key in keys:
        value = record.get(key)
        if isinstance(value, bool):
            return value
    return None


def time_of(value: Json) -> str | None:
    """Return a time as ISO-8601 text; None for what is no time.

    Args:
        value: ISO-8601 text, or seconds or milliseconds since 1970.

    Example:
        >>> time_of(1730000201000), time_of("2026-01-01T00:00:00Z"), time_of("today")
        ('2024-10-27T03:36:41+00:00', '2026-01-01T00:00:00Z', None)
    """
    if isinstance(value, str):
        if not _TIME.match(value):
            return None
        try:
            datetime.fromisoformat(value).astimezone(UTC)
        except (ValueError, OverflowError):
            return None
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0:
        return None
    seconds = value if value < _SECONDS_END else value / 1000
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        return None


def time_at(record: Mapping[str, Any], *keys: str) -> str | None:
    """Return the first of these fields that is a time; see `time_of`."""
    for key in keys:
        found = time_of(record.get(key))
        if found is not None:
            return found
    return None


def rest(record: Mapping[str, Any], *known: str) -> dict[str, Any]:
    """Return the fields of a record that are not among the known ones."""
    return {key: value for key, value in record.items() if key not in known}

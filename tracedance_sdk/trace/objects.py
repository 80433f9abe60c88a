"""Parts of a trace as plain JSON objects: what is unknown, None or empty is absent."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from typing import Any, Final

from pydantic import BaseModel

from tracedance_sdk.trace.markers import UNKNOWN

FORMAT: Final = "tracedance.trace"
VERSION: Final = 1


def plain(record: BaseModel) -> dict[str, Any]:
    """Return any part of a trace as a JSON object, by the rule of `encode`."""
    found: dict[str, Any] = {}
    values = record.__dict__
    for name, default in _fields(type(record)):
        value = values[name]
        if value is default or value is UNKNOWN or (value is None and default is not UNKNOWN):
            continue
        if isinstance(default, BaseModel) and value == default:
            continue
        if value == () or (value == {} and default is not UNKNOWN and default is not None):
            continue
        found[name] = _plain_value(value)
    if record.__pydantic_extra__:
        found.update(record.__pydantic_extra__)
    return found


@cache
def _fields(kind: type[BaseModel]) -> tuple[tuple[str, Any], ...]:
    """Return each field with the default that may be left out; a sentinel where none may."""
    return tuple(
        (name, _KEEP if name in ("type", "ok") else field.default)
        for name, field in kind.model_fields.items()
    )


_KEEP: Final = object()


def _plain_value(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return plain(value)
    if isinstance(value, tuple):
        return [_plain_value(item) for item in value]
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    return value

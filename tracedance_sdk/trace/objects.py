"""Parts of a trace as plain JSON objects: what is unknown, None or empty is absent."""

from __future__ import annotations

from datetime import datetime
from functools import cache
from typing import Any, Final

from pydantic import BaseModel

FORMAT: Final = "tracedance.trace"
VERSION: Final = 1


def plain(record: BaseModel) -> dict[str, Any]:
    """Return any part of a trace as a JSON object, by the rule of `encode`."""
    defaults, empty = _left_out(type(record))
    found: dict[str, Any] = {
        name: value for name, value in record.__dict__.items() if value is not defaults[name]
    }
    for name, value in empty.items():
        if name in found and found[name] == value:
            del found[name]
    for name, value in found.items():
        if type(value) not in _AS_THEY_ARE:
            found[name] = _plain_value(value)
    if record.__pydantic_extra__:
        found.update(record.__pydantic_extra__)
    return found


@cache
def _left_out(kind: type[BaseModel]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what is left out: each field's very default, and what equals another value."""
    defaults: dict[str, Any] = {}
    empty: dict[str, Any] = {}
    for name, field in kind.model_fields.items():
        defaults[name] = _KEEP if name == "type" else field.default
        if field.default_factory is dict:
            empty[name] = {}
        elif isinstance(field.default, BaseModel):
            empty[name] = field.default
    return defaults, empty


_KEEP: Final = object()
_AS_THEY_ARE: Final = frozenset({str, int, float, bool, dict, list, type(None)})


def _plain_value(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain_value(item) for item in value]
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, BaseModel):
        return plain(value)
    return value

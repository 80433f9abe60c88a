"""Parts of a trace as plain JSON objects: what is unknown, None or empty is absent."""

from __future__ import annotations

from collections.abc import Container
from datetime import datetime
from typing import Any, Final, NamedTuple

from pydantic import BaseModel

FORMAT: Final = "tracedance.trace"
VERSION: Final = 1


def plain(record: BaseModel, *, without: Container[str] = ()) -> dict[str, Any]:
    """Return any part of a trace as a JSON object, by the rule of `encode`.

    Args:
        record: The part.
        without: Fields that are left out.
    """
    kind = type(record)
    rule = _RULES.get(kind)
    if rule is None:
        rule = _RULES[kind] = _rule(kind)
    defaults, empty, is_text = rule
    fields, extra = record.__dict__, record.__pydantic_extra__
    if is_text:
        return {**fields, **extra} if extra else fields.copy()
    found: dict[str, Any] = {}
    for name, value in fields.items():
        if value is defaults[name] or name in without:
            continue
        if type(value) in _AS_THEY_ARE:
            found[name] = value
        elif type(value) is tuple:
            found[name] = [
                plain(item) if isinstance(item, BaseModel) else _plain_value(item) for item in value
            ]
        else:
            found[name] = _plain_value(value)
    for name, value in empty.items():
        if name in found and fields[name] == value:
            del found[name]
    if extra:
        found.update(extra)
    return found


class _Rule(NamedTuple):
    """What is left out of records of one kind.

    Attributes:
        defaults: Each field's very default.
        empty: Fields that are left out when they equal a value.
        is_text: Every field is text that is always there.
    """

    defaults: dict[str, Any]
    empty: dict[str, Any]
    is_text: bool


def _rule(kind: type[BaseModel]) -> _Rule:
    defaults: dict[str, Any] = {}
    empty: dict[str, Any] = {}
    for name, field in kind.model_fields.items():
        defaults[name] = _KEEP if name == "type" else field.default
        if field.default_factory is dict:
            empty[name] = {}
        elif isinstance(field.default, BaseModel):
            empty[name] = field.default
    is_text = all(
        name == "type" or (field.annotation is str and field.is_required())
        for name, field in kind.model_fields.items()
    )
    return _Rule(defaults, empty, is_text)


_RULES: Final[dict[type[BaseModel], _Rule]] = {}
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

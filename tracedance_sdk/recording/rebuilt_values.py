"""Recorded JSON as the values that a function says it returns."""

from __future__ import annotations

import collections.abc
import functools
import inspect
import types
from collections.abc import Callable
from typing import Any, Final, get_args, get_origin, get_type_hints

import orjson

from tracedance_sdk.trace import UNKNOWN, Json

_PLAIN: Final = (Any, None, type(None), str, int, float, bool, dict, list, object)
_STREAMS: Final = (
    collections.abc.Iterator,
    collections.abc.Iterable,
    collections.abc.Generator,
    collections.abc.AsyncIterator,
    collections.abc.AsyncIterable,
    collections.abc.AsyncGenerator,
)
_AWAITED: Final = (collections.abc.Awaitable, collections.abc.Coroutine, types.CoroutineType)

Rebuild = Callable[[Json], Any]


def rebuilder(function: Callable[..., Any], *, items: bool) -> Rebuild:
    """Return what makes a recorded result of a function into what the function returns.

    A value is rebuilt by the return annotation, with pydantic: models, dataclasses, enumerations,
    dates, decimals, tuples, sets, alone or in containers. Nothing is coerced that JSON can hold:
    a text does not become a number. What does not fit its annotation, and what has none, stays
    JSON.

    Args:
        function: As it was decorated.
        items: It gives items one by one; then it is these that are rebuilt.

    Example:
        >>> from datetime import date
        >>> def due(order: str) -> date: ...
        >>> rebuilder(due, items=False)("2026-03-01")
        datetime.date(2026, 3, 1)
    """
    hint = _hint(function, items=items)
    if _is_plain(hint):
        return _as_it_is
    return functools.partial(_validated, _adapter(hint))


def _is_plain(hint: Any) -> bool:
    """Whether all values of a type are what JSON gives."""
    if get_origin(hint) in (dict, list):
        return all(map(_is_plain, get_args(hint)))
    return any(hint is plain for plain in _PLAIN)


def _as_it_is(value: Json) -> Any:
    return None if value is UNKNOWN else value


def _validated(adapter: Any, value: Json) -> Any:
    if value is UNKNOWN:
        return None
    if adapter is None:
        return value
    from pydantic import ValidationError

    try:
        return adapter.validate_json(orjson.dumps(value), strict=True, by_alias=True, by_name=True)
    except (ValidationError, TypeError, ValueError):
        return value


def _adapter(hint: Any) -> Any:
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError

    try:
        return TypeAdapter(hint)
    except (PydanticUserError, PydanticUndefinedAnnotation, TypeError):
        return None


def _hint(function: Callable[..., Any], *, items: bool) -> Any:
    if isinstance(function, (classmethod, staticmethod)):
        function = function.__func__
    while isinstance(function, functools.partial):
        function = function.func
    if not (inspect.isroutine(function) or inspect.isclass(function)):
        function = type(function).__call__
    try:
        hints = get_type_hints(inspect.unwrap(function), include_extras=True)
    except (NameError, TypeError, AttributeError):
        return Any
    hint = hints.get("return", Any)
    wrappers = _STREAMS if items else _AWAITED
    if get_origin(hint) in wrappers and get_args(hint):
        return get_args(hint)[0 if items else -1]
    return Any if items else hint

"""What kind of function a decorator was put on, and what it is called."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import AsyncGeneratorType, FunctionType, GeneratorType
from typing import Any, Final, Literal

Kind = Literal["plain", "coroutine", "generator", "async_generator"]


def kind_of(function: Callable[..., Any]) -> Kind:
    """Return how the body of a function is run."""
    body = _body(function)
    if inspect.iscoroutinefunction(body) or _is_generator_coroutine(body):
        return "coroutine"
    if inspect.isasyncgenfunction(body):
        return "async_generator"
    if inspect.isgeneratorfunction(body):
        return "generator"
    return "plain"


def hidden_kind_of(function: Callable[..., Any]) -> Kind:
    """Return the kind of what a plain wrapper (as by ``functools.wraps``) was put around."""
    inner = inspect.unwrap(_body(function))
    return kind_of(inner)


def name_of(function: Callable[..., Any]) -> str:
    """Return a function's name; a partial's is its function's, an object's is its class's."""
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__name__", None)
    return name if isinstance(name, str) else type(function).__name__


def is_decoratable(thing: object) -> bool:
    """Whether a decorator can be put on it."""
    return callable(thing) or isinstance(thing, (classmethod, staticmethod))


def creates_only(function: Callable[..., Any]) -> bool:
    """Whether calling it does nothing but make a coroutine: an ``async def`` as written."""
    body = _body(function)
    return type(body) is FunctionType and bool(body.__code__.co_flags & inspect.CO_COROUTINE)


def _body(function: Callable[..., Any]) -> Callable[..., Any]:
    while True:
        if isinstance(function, functools.partial):
            function = function.func
        elif isinstance(function, (classmethod, staticmethod)) or inspect.ismethod(function):
            function = function.__func__
        else:
            break
    if inspect.isroutine(function) or inspect.isclass(function):
        return function
    called = inspect.getattr_static(type(function), "__call__", None)
    return called if inspect.isroutine(called) else function


def _is_generator_coroutine(function: Callable[..., Any]) -> bool:
    code = getattr(function, "__code__", None)
    return code is not None and bool(code.co_flags & inspect.CO_ITERABLE_COROUTINE)


GENERATORS: Final = {"generator": GeneratorType, "async_generator": AsyncGeneratorType}
"""Kind → the type of what calling such a function gives."""

"""The function that a decorator returns: it behaves as the one it was put on."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from typing import Any, Protocol

import wrapt


class Decoration(Protocol):
    """What a decorator does with a function; kept with it, to do the same to another."""

    def around(self, function: Callable[..., Any], /) -> Callable[..., Any]:
        """Decorate a function."""


class BoundRecorded(wrapt.BoundFunctionWrapper):  # type: ignore[type-arg]  # generic in stubs only
    """A recorded function as attribute access gives it, bound to an instance or class."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        owner: Any = self._self_owner
        if self._self_binding == "classmethod":
            method: Any = self.__wrapped__
            owner = method.__self__
        elif self._self_binding != "staticmethod" and self._self_instance is not None:
            owner = self._self_instance
        return getattr, (owner, self.__name__)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if self._self_instance is None or self._self_binding in ("classmethod", "staticmethod"):
            return self
        owner = copy.deepcopy(self._self_instance, memo)
        return self._self_parent.__get__(owner, self._self_owner)


class Recorded(wrapt.FunctionWrapper):  # type: ignore[type-arg]  # as above
    """A recorded function. Pickled by reference and copied as itself, as functions are."""

    __bound_function_wrapper__ = BoundRecorded

    def __reduce_ex__(self, protocol: Any) -> Any:
        name = getattr(self, "__qualname__", None)
        if name is not None and lookup(self.__module__, name) is self:
            return name
        runner: Any = self._self_wrapper
        return _decorate_again, (self.__wrapped__, runner.__self__.decoration)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self


def _decorate_again(function: Callable[..., Any], decoration: Decoration) -> Callable[..., Any]:
    return decoration.around(function)


def lookup(module: str | None, qualified_name: str) -> object:
    """Return what a module that is loaded has by this name; None when it has nothing."""
    found: object = sys.modules.get(module or "")
    for part in qualified_name.split("."):
        found = getattr(found, part, None)
    return found

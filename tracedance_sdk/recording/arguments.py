"""Bind the arguments of a call to parameter names, by a plan made once per function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from inspect import Parameter
from typing import Any, Final

OWN_PARAMETERS: Final = ("self", "cls", "mcs")
"""First parameters that hold the object a function belongs to; never recorded."""

_POSITIONAL: Final = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


class ArgumentPlan:
    """Turns what was passed into arguments by name.

    Only what was passed appears: no defaults, no ``self``. What lands in ``*args`` is a list
    under that parameter's name; what lands in ``**kwargs`` stands beside the others.

    Args:
        function: The tool as written: a function, method, partial or callable object.
        ignore: Names left out of the record.

    Example:
        >>> def pay(amount, *notes, urgent=False): ...
        >>> ArgumentPlan(pay).bind((7, "a", "b"), {"urgent": True}, bound=False)
        {'amount': 7, 'notes': ['a', 'b'], 'urgent': True}
    """

    __slots__ = ("_bound_names", "_free_names", "_ignore", "_more", "_rest", "_skip")

    def __init__(self, function: Callable[..., Any], *, ignore: Collection[str] = ()) -> None:
        parameters = _parameters(function)
        names = tuple(p.name for p in parameters if p.kind in _POSITIONAL)
        self._rest = _name_of(parameters, Parameter.VAR_POSITIONAL, default="args")
        self._more = _name_of(parameters, Parameter.VAR_KEYWORD, default="kwargs")
        self._ignore = tuple(ignore)
        has_bound_already = inspect.ismethod(function)
        self._bound_names = names if has_bound_already else names[1:]
        self._skip = 1 if names and names[0] in OWN_PARAMETERS and not has_bound_already else 0
        self._free_names = names[self._skip :]

    def bind(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], *, bound: bool
    ) -> dict[str, Any]:
        """Return the arguments by name.

        Args:
            args: As passed; without the instance when `bound`.
            kwargs: As passed.
            bound: The function was called on an instance or a class.
        """
        if bound:
            names = self._bound_names
        else:
            names = self._free_names
            if self._skip:
                args = args[1:]
        found: dict[str, Any] = dict(zip(names, args, strict=False))
        if len(args) > len(names):
            found[self._rest] = list(args[len(names) :])
        if kwargs:
            if found.keys().isdisjoint(kwargs):
                found.update(kwargs)
            else:
                # A positional-only parameter may share its name with a key of **kwargs.
                same = {name: value for name, value in kwargs.items() if name in found}
                found = {**found, **{k: v for k, v in kwargs.items() if k not in same}}
                found[self._more] = same
        for name in self._ignore:
            found.pop(name, None)
        return found


def _parameters(function: Callable[..., Any]) -> list[Parameter]:
    if isinstance(function, (classmethod, staticmethod)):
        function = function.__func__
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        # Builtins without a signature: everything is recorded under "args".
        return []


def _name_of(parameters: list[Parameter], kind: object, *, default: str) -> str:
    return next((p.name for p in parameters if p.kind is kind), default)

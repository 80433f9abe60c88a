"""What the source of an anchor makes texts of says nothing of where it lies in memory.

Python writes an address for whatever has no text of its own: ``<function names at 0x7f...>``. It
is another one each time, and so would be what an anchor finds by it. So `str`, `repr`, `ascii`,
`format`, f-strings and ``%`` leave it out.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from datetime import date, time, timedelta, tzinfo
from typing import Any, Final

from tracedance_sdk.behaviors.foreign.walls import without_addresses

_SAID: Final = "_said"
_FILLED_IN: Final = "_filled_in"
_PLAIN: Final = (str, bytes, int, float, complex, date, time, timedelta, tzinfo, type(None))
"""Types whose values have texts of their own."""


def without_places(tree: ast.Module) -> ast.Module:
    """Return a checked tree, changed so that it makes texts by what `offered_texts` offers."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FormattedValue):
            node.value = _asked(_SAID, node.value, ast.Constant(node.conversion))
            node.conversion = -1
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            node.right = _asked(_FILLED_IN, node.right)
        elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Mod):
            node.value = _asked(_FILLED_IN, node.value)
    return tree


def _asked(name: str, value: ast.expr, *more: ast.expr) -> ast.expr:
    function = ast.copy_location(ast.Name(name, ast.Load()), value)
    given = [ast.copy_location(one, value) for one in more]
    return ast.copy_location(ast.Call(function, [value, *given], []), value)


def offered_texts() -> dict[str, Any]:
    """Return what stands for the builtins that make texts, and for f-strings and ``%``."""
    return {
        "str": _Text,
        "repr": _repr,
        "ascii": _ascii,
        "format": _format,
        _SAID: _said,
        _FILLED_IN: _filled_in,
    }


class _Texts(type):
    """The type of `_Text`: every text is one of its."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, str)

    def __hash__(cls) -> int:
        return 1  # that of other types is where they lie

    def __repr__(cls) -> str:
        return repr(str)


class _Text(str, metaclass=_Texts):
    """Stands for `str`; what it makes is one."""

    __slots__ = ()

    def __new__(cls, *given: Any, **named: Any) -> Any:
        made = str(*given, **named)
        return made if given and isinstance(given[0], _PLAIN) else without_addresses(made)


def _repr(value: Any, /) -> str:
    return repr(value) if isinstance(value, _PLAIN) else without_addresses(repr(value))


def _ascii(value: Any, /) -> str:
    return ascii(value) if isinstance(value, _PLAIN) else without_addresses(ascii(value))


def _format(value: Any, spec: str = "", /) -> str:
    return format(_plain(value), spec)


_CONVERSIONS: Final[dict[int, Callable[[Any], Any]]] = {
    ord("r"): _repr,
    ord("s"): _Text,
    ord("a"): _ascii,
}


def _said(value: Any, conversion: int) -> Any:
    """Return what an f-string is to write of a value."""
    return _CONVERSIONS.get(conversion, _plain)(value)


def _plain(value: Any) -> Any:
    return value if isinstance(value, _PLAIN) else _Text(value)


class _Said:
    """A value that ``%`` writes without its address."""

    __slots__ = ("_value",)

    def __init__(self, value: Any) -> None:
        self._value = value

    def __str__(self) -> str:
        return str(_plain(self._value))

    def __repr__(self) -> str:
        return _repr(self._value)


def _filled_in(value: Any) -> Any:
    """Return the right side of ``%``: a number as it is, and what a text is filled with."""
    if isinstance(value, tuple):
        return tuple(_shown(item) for item in value)
    if isinstance(value, dict):
        return {key: _shown(item) for key, item in value.items()}
    return _shown(value)


def _shown(value: Any) -> Any:
    return value if isinstance(value, _PLAIN) else _Said(value)

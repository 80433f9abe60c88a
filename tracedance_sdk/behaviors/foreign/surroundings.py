"""What the source of an anchor finds around it: some builtins, and parts of a few modules."""

from __future__ import annotations

import ast
import builtins
import collections
import datetime as dt
import itertools
import json
import math
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from types import SimpleNamespace
from typing import Any, Final

from tracedance_sdk.behaviors.foreign.grammar import ENTRY
from tracedance_sdk.errors import InvalidSpec, shown

_BUILTINS: Final = """
    abs all any ascii bin bool chr complex dict divmod enumerate filter float format frozenset hex
    int isinstance iter len list map max min next oct ord pow range repr reversed round set slice
    sorted str sum tuple zip True False None Ellipsis NotImplemented
    """.split()  # noqa: SIM905 - a table to be read
_EXCEPTIONS: Final = tuple(
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) and issubclass(value, Exception)
)
_ITERTOOLS: Final = """
    accumulate chain combinations compress dropwhile filterfalse groupby islice pairwise
    permutations product starmap takewhile zip_longest
    """
_MATH: Final = """
    ceil comb dist exp fabs floor fsum gcd hypot inf isclose isfinite isinf isnan log log10 log2 pi
    sqrt trunc
    """
_OFFERED: Final[dict[str, tuple[Any, str]]] = {
    "json": (json, "loads dumps"),
    "collections": (collections, "Counter OrderedDict defaultdict deque"),
    "itertools": (itertools, _ITERTOOLS),
    "math": (math, _MATH),
    "datetime": (dt, "date datetime time timedelta timezone"),
}
_INNER: Final = frozenset(("_pylong", "_strptime", "time"))
"""Modules that functions on offer import themselves; source that names one is refused before."""

_SEARCHING: Final = ("search", "match", "fullmatch", "findall", "finditer")
_LETTERS: Final = {"i": 2, "m": 8, "s": 16}
_FLAGS: Final = {
    "I": 2, "IGNORECASE": 2, "M": 8, "MULTILINE": 8, "S": 16, "DOTALL": 16,
}  # fmt: skip


def compiled(tree: ast.Module) -> Callable[[Any, Any, Any], Any]:
    """Return the function that a checked tree defines.

    Args:
        tree: As `check_source` returns it.

    Raises:
        InvalidSpec: Its top raises.
    """
    names_offered = (*_BUILTINS, *_EXCEPTIONS)
    offered: dict[str, Any] = {name: getattr(builtins, name) for name in names_offered}
    offered["__import__"] = _import
    names: dict[str, Any] = {"__builtins__": offered}
    try:
        exec(compile(tree, "<anchor>", "exec"), names)  # noqa: S102 - checked, and runs apart
    except Exception as error:
        raise InvalidSpec(f"anchor.code: {type(error).__name__}: {shown(str(error))}") from error
    found: Callable[[Any, Any, Any], Any] = names[ENTRY]
    return found


def load_what_is_offered() -> None:
    """Import what functions on offer would import when they are first called."""
    import_module("re2")
    for name in _INNER:
        with suppress(ModuleNotFoundError):  # _pylong is not there in every Python
            import_module(name)
    dt.datetime.strptime("2000", "%Y")  # noqa: DTZ007 - for what it imports


def _import(name: str, *_: Any) -> Any:
    if name == "re":
        return _patterns()
    if name in _INNER:
        return import_module(name)
    module, offered = _OFFERED[name]
    return SimpleNamespace(**{item: getattr(module, item) for item in offered.split()})


def _patterns() -> SimpleNamespace:
    """Return what ``re`` offers: RE2, which takes time in proportion to the text."""
    re2 = import_module("re2")

    def with_flags(do: Callable[..., Any]) -> Callable[..., Any]:
        def call(pattern: Any, *arguments: Any, flags: int = 0) -> Any:
            return do(_flagged(pattern, flags), *arguments)

        return call

    def compiled_pattern(pattern: Any, flags: int = 0) -> Any:
        return re2.compile(_flagged(pattern, flags))

    def searching(do: Callable[..., Any]) -> Callable[..., Any]:
        def call(pattern: Any, text: str, flags: int = 0) -> Any:
            return do(_flagged(pattern, flags), text)

        return call

    found = {name: searching(getattr(re2, name)) for name in _SEARCHING}
    found |= {name: with_flags(getattr(re2, name)) for name in ("split", "sub", "subn")}
    return SimpleNamespace(compile=compiled_pattern, escape=re2.escape, **found, **_FLAGS)


def _flagged(pattern: Any, flags: int) -> Any:
    letters = "".join(letter for letter, bit in _LETTERS.items() if flags & bit)
    return f"(?{letters}){pattern}" if letters and isinstance(pattern, str) else pattern

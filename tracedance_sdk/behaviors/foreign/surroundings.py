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
from tracedance_sdk.behaviors.foreign.patterns import offered_patterns
from tracedance_sdk.behaviors.foreign.steady_texts import offered_texts, without_places
from tracedance_sdk.errors import InvalidSpec, shown

Stage = Callable[[Any, Any, Any], Any]
"""What source defines: ``anchor(run, place, parameters)``."""

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


def compiled(tree: ast.Module) -> Callable[[], Stage]:
    """Return what defines the function of a checked tree anew each time it is called.

    Nothing that one of them keeps, such as a list at the top of the source, is seen by another.
    Calling it raises `InvalidSpec` when the top of the source raises.

    Args:
        tree: As `check_source` returns it; it is changed.
    """
    names_offered = (*_BUILTINS, *_EXCEPTIONS)
    offered: dict[str, Any] = {name: getattr(builtins, name) for name in names_offered}
    offered |= {"__import__": _import, **offered_texts()}
    code = compile(without_places(tree), "<anchor>", "exec")

    def define() -> Stage:
        names: dict[str, Any] = {"__builtins__": dict(offered)}
        try:
            exec(code, names)  # noqa: S102 - checked, and runs apart
        except Exception as error:
            what = f"anchor.code: {type(error).__name__}: {shown(str(error))}"
            raise InvalidSpec(what) from error
        found: Stage = names[ENTRY]
        return found

    return define


def load_what_is_offered() -> None:
    """Import what functions on offer would import when they are first called."""
    for name in _INNER:
        with suppress(ModuleNotFoundError):  # _pylong is not there in every Python
            import_module(name)
    dt.datetime.strptime("2000", "%Y")  # noqa: DTZ007 - for what it imports


def _import(name: str, *_: Any) -> Any:
    if name == "re":
        return offered_patterns()
    if name in _INNER:
        return import_module(name)
    module, offered = _OFFERED[name]
    return SimpleNamespace(**{item: getattr(module, item) for item in offered.split()})

"""Planted sessions: small runs that show a behaviour, and twins that do not.

Each module ``<frame>_<...>.py`` beside this one has a table ``PLANTED``. Tests of a family and of
the whole catalogue go through all of them.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from tests.store.stored import run
from tracedance_sdk.trace import Json, Trace


class Planted(NamedTuple):
    """A session and what is to be found in it.

    Attributes:
        name: Also the trace's id; unique among all.
        behavior: Id of the behaviour it was written for.
        trace: The session.
        turn: Index of the source turn; None for a twin, in which the behaviour does not occur.
        also: Other behaviours that occur in it by their definitions.
        parameters: Of the behaviour, where the defaults are not meant.
    """

    name: str
    behavior: str
    trace: Trace
    turn: int | None = None
    also: frozenset[str] = frozenset()
    parameters: Mapping[str, Json] = MappingProxyType({})


def planted(
    name: str,
    *turns: dict[str, Any],
    turn: int | None = None,
    also: str = "",
    parameters: dict[str, Json] | None = None,
    **fields: Any,
) -> Planted:
    """Return a planted session; its name begins with the id of its behaviour.

    Args:
        name: Such as ``A05 an edit after a listing``.
        turns: As `tests.store.stored` makes them.
        turn: Index of the source turn; None for a twin.
        also: Ids of other behaviours that occur in it, with spaces between.
        parameters: Of the behaviour.
        fields: Others of the trace, such as ``tools``.
    """
    trace = run(name, *turns, **fields)
    others = frozenset(also.split())
    return Planted(name, name.split(maxsplit=1)[0], trace, turn, others, parameters or {})


def all_planted() -> tuple[Planted, ...]:
    """Return what the tables of all modules hold."""
    names = sorted(item.name for item in pkgutil.iter_modules(__path__))
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    return tuple(item for module in modules for item in getattr(module, "PLANTED", ()))

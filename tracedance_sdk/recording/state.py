"""Where the state of an agent's world comes from: one snapshot function for each kind of source.

=============================  =================================================================
source                         snapshot
=============================  =================================================================
callable, sync or async        what it returns (an awaitable, for the caller to await)
object with ``get_state()``    what that method returns; else ``snapshot()``
dict, dataclass, pydantic      its content at the time of the snapshot
=============================  =================================================================
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson

from tracedance_sdk.errors import StateSourceError
from tracedance_sdk.recording.values import freeze

_METHODS: Final = ("get_state", "snapshot")
_ACCEPTED: Final = (
    "give a callable, an object with get_state() or snapshot(), a dict, a dataclass instance or a"
    " pydantic model"
)


def state_source(source: object) -> Callable[[], object]:
    """Return the function that takes a snapshot of a source; the module says of what kinds.

    Nothing is read yet. The function may raise whatever its source raises.

    Raises:
        StateSourceError: Nothing that a snapshot can be taken of; the message names the type and
            what is accepted.

    Example:
        >>> mailbox = {"inbox": 1}
        >>> take = state_source(mailbox)
        >>> mailbox["inbox"] = 2
        >>> take()
        {'inbox': 2}
    """
    if not isinstance(source, type):
        for name in _METHODS:
            method: Callable[[], object] | None = getattr(source, name, None)
            if callable(method):
                return method
        if isinstance(source, Mapping) or dataclasses.is_dataclass(source) or _is_model(source):
            return lambda: orjson.loads(freeze(source))
    if callable(source) and not isinstance(source, type):
        return source
    raise StateSourceError(f"no state can be taken from {_described(source)}; {_ACCEPTED}")


def _is_model(source: object) -> bool:
    return "__pydantic_serializer__" in vars(type(source)) and hasattr(source, "model_fields_set")


def _described(source: Any) -> str:
    if isinstance(source, type):
        return f"the class {source.__qualname__!r}, which is no instance"
    shown = repr(source)
    shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
    return f"{shown} of type {type(source).__name__!r}"

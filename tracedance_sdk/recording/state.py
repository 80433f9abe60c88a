"""Where the state of an agent's world comes from: one snapshot function for each kind of source.

=============================  =================================================================
source                         snapshot
=============================  =================================================================
callable, sync or async        what it returns (an awaitable, for the caller to await)
object with ``get_state()``    what that method returns; else ``snapshot()``
dict, dataclass, pydantic      its content at the time of the snapshot
``sqlite3.Connection``         ``{table: {key: {column: value}}}``; see `sqlite_state`
path of a SQLite database      the same, opened read-only for the moment
path of a directory            ``{relative path: content}``; see `directory_state`
=============================  =================================================================
"""

from __future__ import annotations

import dataclasses
import functools
import os
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import orjson

from tracedance_sdk.errors import StateSourceError
from tracedance_sdk.recording.directory_state import directory_state
from tracedance_sdk.recording.sqlite_state import connection_state, database_state, is_database
from tracedance_sdk.recording.value_stubs import bounded_text
from tracedance_sdk.recording.values import freeze

_METHODS: Final = ("get_state", "snapshot")
_ACCEPTED: Final = (
    "give a callable, an object with get_state() or snapshot(), a dict, a dataclass instance, a"
    " pydantic model, a sqlite3.Connection, or the path of a SQLite database or a directory"
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
    if isinstance(source, type):
        raise StateSourceError(f"the class {source.__qualname__!r} is no instance; {_ACCEPTED}")
    for name in _METHODS:
        method: Callable[[], object] | None = getattr(source, name, None)
        if callable(method):
            return method
    if isinstance(source, sqlite3.Connection):
        return functools.partial(connection_state, source)
    if isinstance(source, (str, os.PathLike)):
        return _path_source(Path(source))
    if isinstance(source, Mapping) or dataclasses.is_dataclass(source) or _is_model(source):
        return lambda: orjson.loads(freeze(source))
    if callable(source):
        return source
    raise StateSourceError(
        f"no state can be taken from {_shown(source)} of type {type(source).__name__!r};"
        f" {_ACCEPTED}"
    )


def _path_source(path: Path) -> Callable[[], object]:
    try:
        if path.is_dir():
            return functools.partial(directory_state, path.resolve())
        if is_database(path):
            return functools.partial(database_state, path.resolve())
    except (OSError, ValueError) as error:
        raise StateSourceError(f"no state can be taken from {str(path)!r}: {error}") from error
    raise StateSourceError(
        f"{str(path)!r} is neither a SQLite database nor a directory; {_ACCEPTED}"
    )


def _is_model(source: object) -> bool:
    return "__pydantic_serializer__" in vars(type(source)) and hasattr(source, "model_fields_set")


def _shown(source: object) -> str:
    shown = bounded_text(repr(source))
    return shown if len(shown) <= 60 else f"{shown[:57]}..."

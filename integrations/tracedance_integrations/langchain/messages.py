"""The fields of LangChain's message objects, by their names."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from tracedance_sdk.formats import Message, message_from_langchain

_ASKED: Final = (
    "content",
    "name",
    "tool_calls",
    "invalid_tool_calls",
    "additional_kwargs",
    "tool_call_id",
    "status",
    "role",
)
_DUMPED: Final = (*_ASKED, "artifact")
"""In a state: what differs by chance from run to run (ids, tokens, times) is left out."""

_DEPTH: Final = 12


class _Kept(NamedTuple):
    """A message that has been read, and what it said then."""

    origin: weakref.ref[Any]
    said: tuple[Any, ...]
    found: Message


_KEPT: Final[dict[int, _Kept]] = {}
"""By the message's `id`, as long as it lives: every request repeats the messages before it."""


def read(message: Any) -> Message:
    """Return what a message says, as a model is shown it; read once while it stays as it is."""
    key, said = id(message), _said(vars(message))
    kept = _KEPT.get(key)
    if kept is not None and kept.origin() is message and _are_same(kept.said, said):
        return kept.found
    found = message_from_langchain(_fields_of(message))
    origin = weakref.ref(message, lambda _: _KEPT.pop(key, None))
    _KEPT[key] = _Kept(origin, said, found)
    return found


def _said(held: dict[str, Any]) -> tuple[Any, ...]:
    content, calls = held.get("content"), held.get("tool_calls")
    sizes = tuple(len(value) if isinstance(value, list) else -1 for value in (content, calls))
    return sizes, content, calls, held.get("name"), held.get("status")


def _are_same(known: tuple[Any, ...], said: tuple[Any, ...]) -> bool:
    return known[0] == said[0] and all(a is b for a, b in zip(known[1:], said[1:], strict=True))


def _fields_of(message: Any) -> dict[str, Any]:
    held = vars(message)
    return {"type": held.get("type"), **{key: held[key] for key in _ASKED if key in held}}


def facts_of(message: Any) -> dict[str, Any]:
    """Return what a message of a model says of itself."""
    held = vars(message)
    return {k: held.get(k) for k in ("id", "usage_metadata", "response_metadata")}


def is_message(value: Any) -> bool:
    """Whether a value is a message of LangChain's."""
    from langchain_core.messages import BaseMessage

    return isinstance(value, BaseMessage)


def as_json(value: Any, depth: int = 0) -> Any:
    """Return a graph's state with its messages as JSON: their fields, the empty ones left out."""
    if value is None or isinstance(value, (str, int, float)) or depth > _DEPTH:
        return value
    if isinstance(value, Mapping):
        return {key: as_json(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_json(item, depth + 1) for item in value]
    if is_message(value):
        held = vars(value)
        told = {k: _kept(held[k]) for k in _DUMPED if k != "content" and held.get(k)}
        if told.get("status") == "success":
            del told["status"]
        told = {key: as_json(item, depth + 1) for key, item in told.items() if item}
        return {
            "type": held.get("type"),
            "content": as_json(held.get("content"), depth + 1),
            **told,
        }
    return value


def _kept(value: Any) -> Any:
    """Return a mapping without what is not known in it."""
    if not isinstance(value, dict):
        return value
    return {key: item for key, item in value.items() if item not in (None, [], {})}

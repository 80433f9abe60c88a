"""Decode the values of attributes: JSON in text, flattened lists, stand-ins for values."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import Any, Final

from tracedance_sdk.errors import InvalidJSON
from tracedance_sdk.trace import UNKNOWN, Json, parse_json

REDACTED: Final = frozenset(
    {"__REDACTED__", "<REDACTED>", "[REDACTED]", "<elided>", "<not specified>"}
)
"""What emitters write where content was switched off or is not known."""

_MOST_STEPS: Final = 12
_MOST_DIGITS: Final = 6
_MOST_LITERAL: Final = 100_000


def decoded(value: Json) -> Json:
    """Return a value that may be JSON in text: objects, lists and quoted text are decoded.

    Numbers in text stay text, as nobody knows whether they were text before. A text within the
    text is decoded once more. What cannot be decoded is kept as it stands.
    """
    for _ in range(2):
        if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "[", '"'):
            return value
        try:
            value = parse_json(value, where="attribute")
        except InvalidJSON:
            return value
    return value


def structure(value: Json) -> Json:
    """Return an object or list, decoded from JSON text where it is text; else `UNKNOWN`."""
    found = decoded(value)
    return found if isinstance(found, (dict, list)) else UNKNOWN


def json_value(value: Json) -> Json:
    """Return the value of text that is always JSON, numbers and words too; other text as it is."""
    if not isinstance(value, str):
        return value
    try:
        return parse_json(value, where="attribute")
    except InvalidJSON:
        return value


def literal(text: str) -> Json:
    """Return the value of a Python literal such as ``{'city': 'Rome'}``; `UNKNOWN` if it is none.

    Only constants, lists and dicts are read; nothing runs.
    """
    if not text.startswith(("{", "[")) or len(text) > _MOST_LITERAL:
        return UNKNOWN
    try:
        return _plain(ast.literal_eval(text))
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return UNKNOWN


def _plain(value: Any) -> Json:
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        if not all(isinstance(key, str) for key in value):
            raise TypeError("a key that is no text")
        return {key: _plain(item) for key, item in value.items()}
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    raise TypeError(type(value).__name__)


def unflattened(attributes: Mapping[str, Json], prefix: str) -> Json:
    """Return what attributes ``prefix.0.role``, ``prefix.0.content`` and so on say together.

    Numbered steps become lists in numeric order, whatever is missing between them; a number too
    large to be an index is a name. `UNKNOWN` when there is no such attribute.
    """
    if prefix in attributes:
        return _opened(decoded(attributes[prefix]))
    start = prefix + "."
    found: dict[str, Any] = {}
    for key, value in attributes.items():
        if key.startswith(start):
            _place(found, key[len(start) :].split(".", _MOST_STEPS), value)
    return _listed(found) if found else UNKNOWN


def _opened(value: Json) -> Json:
    """Return list items whose keys are dotted with their keys unfolded."""
    if not isinstance(value, list):
        return value
    items = []
    for item in value:
        tree: dict[str, Any] = {}
        for key, inner in item.items() if isinstance(item, dict) else ():
            _place(tree, key.split(".", _MOST_STEPS), inner)
        items.append(_listed(tree) if isinstance(item, dict) else item)
    return items


def _place(tree: dict[str, Any], steps: list[str], value: Json) -> None:
    for step in steps[:-1]:
        inner = tree.setdefault(step, {})
        if not isinstance(inner, dict):
            inner = tree[step] = {"": inner}
        tree = inner
    last = steps[-1]
    held = tree.get(last)
    if isinstance(held, dict) and not isinstance(value, dict):
        held[""] = value
    else:
        tree[last] = value


def _listed(tree: Any, depth: int = 0) -> Json:
    if not isinstance(tree, dict) or depth > _MOST_STEPS:
        return tree
    if tree and all(key.isdecimal() and len(key) <= _MOST_DIGITS for key in tree):
        return [_listed(tree[key], depth + 1) for key in sorted(tree, key=int)]
    return {key: _listed(inner, depth + 1) for key, inner in tree.items()}


def first_of(values: Iterable[Json]) -> Json:
    """Return the first value that says anything; `UNKNOWN` when none does."""
    for value in values:
        if value is not None and value is not UNKNOWN and value not in ("", [], {}):
            return value
    return UNKNOWN

"""See what a JSON file is from its first bytes, which may end anywhere."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

_TOKEN: Final = re.compile(rb'"[^"\\]*"|["{}\[\]:]')
"""A mark, or a whole string without escapes; of any other string only its first quote."""

_INSIDE: Final = re.compile(rb'(?:[^"\\]+|\\.){1,1000}', re.DOTALL)
"""A piece of a string's inside; bounded, because a match remembers each of its repetitions."""

_MOST_LISTS: Final = 1000


class Outline(NamedTuple):
    """The first object of a document and how deep in lists it stands.

    Attributes:
        depth: Number of lists around it; 0 for a document that is an object.
        keys: Names of its fields, as far as the bytes go; empty when no object was found.
    """

    depth: int
    keys: frozenset[str]


def peek(head: bytes) -> Outline:
    """Return the outline of the first document in some JSON bytes.

    It takes time in proportion to the bytes, whatever they are, and the last answer is
    remembered: every collector asks about the same bytes.

    Example:
        >>> peek(b'[{"role": "user", "content": [{"type": "te').keys == {"role", "content"}
        True
    """
    return _outline(head)


def forget_peeked() -> None:
    """Let go of the bytes that `peek` saw last."""
    _outline.cache_clear()


@lru_cache(maxsize=1)
def _outline(head: bytes) -> Outline:
    lists, level = 0, 0
    keys: set[str] = set()
    text = b""
    for piece in tokens(head):
        if piece == b"[" and level == 0:
            lists += 1
            if lists > _MOST_LISTS:
                break
        elif piece in (b"{", b"["):
            level += 1
        elif piece in (b"}", b"]"):
            level -= 1
            if level <= 0:
                break
        elif piece != b":":
            text = piece
        elif level == 1:
            keys.add(string_of(text))
    return Outline(lists, frozenset(keys))


def tokens(data: bytes) -> Iterator[bytes]:
    """Yield the marks and strings of JSON bytes; what an open string holds is no mark."""
    start: int | None = 0
    while start is not None:
        end = start
        start = None
        for match in _TOKEN.finditer(data, end):
            piece = match.group()
            if piece != b'"':
                yield piece
                continue
            end = match.end()
            while (inside := _INSIDE.match(data, end)) is not None:
                end = inside.end()
            if data[end : end + 1] == b'"':
                start = end + 1
                yield data[match.start() : start]
            break


def string_of(quoted: bytes) -> str:
    """Return what a quoted string says."""
    text = quoted.decode("utf-8", "replace")
    if "\\" in text:
        with contextlib.suppress(ValueError):
            return str(json.loads(text, strict=False))
    return text[1:-1]

"""See what a JSON file is from its first bytes, which may end anywhere."""

from __future__ import annotations

import contextlib
import json
import re
from typing import Final, NamedTuple

_TOKEN: Final = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]:]', re.DOTALL)


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

    Example:
        >>> peek(b'[{"role": "user", "content": [{"type": "te').keys == {"role", "content"}
        True
    """
    lists, level = 0, 0
    keys: set[str] = set()
    text = b""
    for token in _TOKEN.finditer(head.removeprefix(b"\xef\xbb\xbf")):
        piece = token.group()
        if piece == b"[" and level == 0:
            lists += 1
        elif piece in (b"{", b"["):
            level += 1
        elif piece in (b"}", b"]"):
            level -= 1
            if level <= 0:
                break
        elif piece != b":":
            text = piece
        elif level == 1:
            keys.add(_name(text))
    return Outline(lists, frozenset(keys))


def _name(quoted: bytes) -> str:
    text = quoted.decode("utf-8", "replace")
    if "\\" in text:
        with contextlib.suppress(ValueError):
            return str(json.loads(text, strict=False))
    return text[1:-1]

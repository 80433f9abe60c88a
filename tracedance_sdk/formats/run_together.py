"""Take apart JSON documents that were written one after another without a line between them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

_SPACE: Final = re.compile(r"\s*")
# Only where a document ends is asked, so that numbers need not be made.
_DECODER: Final = json.JSONDecoder(parse_int=len, parse_float=len, parse_constant=len)


class Piece(NamedTuple):
    """Text of one document, or the rest that is none.

    Attributes:
        text: As it stands there.
        start: Characters before it.
        line: Lines before it.
    """

    text: str
    start: int
    line: int


def pieces(data: bytes) -> Iterable[Piece]:
    """Return the objects and lists that some text is made of; last, if need be, what is neither.

    It takes time in proportion to the text.

    Returns:
        At least two pieces of which the first is a document; nothing for text that is not so.

    Example:
        >>> [piece.text for piece in pieces(b'{"a": 1} {"b": 2}{"c')]
        ['{"a": 1}', '{"b": 2}', '{"c']
        >>> list(pieces(b'{"a": 1'))
        []
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return []
    end = _end(text, _after_space(text, 0))
    if end is None or _after_space(text, end) == len(text):
        return []
    return _pieces(text)


def _pieces(text: str) -> Iterator[Piece]:
    start, line, counted = _after_space(text, 0), 0, 0
    while start < len(text):
        end = _end(text, start)
        line += text.count("\n", counted, start)
        counted = start
        yield Piece(text[start:end], start, line)
        if end is None:
            return
        start = _after_space(text, end)


def _after_space(text: str, start: int) -> int:
    found = _SPACE.match(text, start)
    return start if found is None else found.end()


def _end(text: str, start: int) -> int | None:
    """Return where the object or list that starts here ends; None where there is none."""
    if text[start : start + 1] not in ("{", "["):
        return None
    try:
        return _DECODER.raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        return None

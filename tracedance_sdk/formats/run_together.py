"""Take apart JSON that is no document as it stands, but holds whole ones.

Documents that were written one after another without a line between them; and a list that is cut
short, or with something in it that is no JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from tracedance_sdk.trace import holds_too_many

MOST_BAD_ITEMS: Final = 1000
"""After so many items that are none, the rest of a list is one problem."""

_SPACE: Final = re.compile(r"\s*")
# Only where a document ends is asked, so that numbers need not be made.
_DECODER: Final = json.JSONDecoder(parse_int=len, parse_float=len, parse_constant=len)
_BRACKET_OR_TEXT: Final = re.compile(r'[{}\[\]]|"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_TO_COMMA: Final = re.compile(r'(?:[^,\[\]{}"]++|"(?:[^"\\]++|\\.)*+")*+')


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
        At least two pieces of which the first is a document; nothing for text that is not so, or
        that holds too many values to look.

    Example:
        >>> [piece.text for piece in pieces(b'{"a": 1} {"b": 2}{"c')]
        ['{"a": 1}', '{"b": 2}', '{"c']
        >>> list(pieces(b'{"a": 1'))
        []
    """
    text = _text(data)
    if text is None:
        return []
    end = _end(text, _after_space(text, 0))
    if end is None or _after_space(text, end) == len(text):
        return []
    return _pieces(text)


def items(data: bytes) -> Iterator[Piece]:
    """Yield the items of a list that is cut short or has something in it that is no JSON.

    An item that lists or objects make ends where its brackets do, so that a bad one costs itself.
    It takes time in proportion to the text.

    Yields:
        Each item, whether it is JSON or not, but for one that is cut short: that is the last one,
        with all that follows. Nothing for text that is no list, or holds too many values.

    Example:
        >>> [piece.text for piece in items(b'[{"a": 1}, {"b": nul}, {"c": 3}, {"d"')]
        ['{"a": 1}', '{"b": nul}', '{"c": 3}', '{"d"']
    """
    text = _text(data)
    if text is None:
        return
    start = _after_space(text, 0)
    if not text.startswith("[", start):
        return
    start = _after_space(text, start + 1)
    line, counted = 0, 0
    while start < len(text):
        end = _item_end(text, start)
        line += text.count("\n", counted, start)
        counted = start
        yield Piece(text[start:end].rstrip(), start, line)
        if end is None or text[end] == "]":
            return
        start = _after_space(text, end + 1)


def _item_end(text: str, start: int) -> int | None:
    """Return where the comma or bracket behind an item stands; None where there is none."""
    depth = 0
    if text[start] in "{[":
        for match in _BRACKET_OR_TEXT.finditer(text, start):
            mark = match.group()
            depth += (mark in ("{", "[")) - (mark in ("}", "]"))
            if not depth:
                start = match.end()
                break
        else:
            return None
    found = _TO_COMMA.match(text, start)
    end = start if found is None else found.end()
    return end if text[end : end + 1] in (",", "]") else None


def _text(data: bytes) -> str | None:
    """Return a document's text; None for what is none or would take too much memory."""
    if holds_too_many(data):
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


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

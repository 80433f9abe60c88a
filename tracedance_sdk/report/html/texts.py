"""Texts of a page: cut to a length that is said in words, with quotes marked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from tracedance_sdk.report.safe_text import (
    in_one_line,
    json_text,
    shorten_middle,
    value_text,
)
from tracedance_sdk.trace import Json

_MOST_QUOTES: Final = 20


class Piece(NamedTuple):
    """A stretch of a text, and whether it is marked as evidence."""

    text: str
    is_marked: bool = False


class Cut(NamedTuple):
    """What is shown of a text.

    Attributes:
        pieces: In order.
        before: Characters that are left out before them.
        after: Characters that are left out after them.
    """

    pieces: tuple[Piece, ...]
    before: int = 0
    after: int = 0

    @property
    def size(self) -> int:
        """Characters that are shown."""
        return sum(len(piece.text) for piece in self.pieces)

    @property
    def has_mark(self) -> bool:
        """Whether some of it is marked."""
        return any(piece.is_marked for piece in self.pieces)


def cut(text: str, most: int, *, quotes: Iterable[str] = ()) -> Cut:
    """Return at most so many characters of a text, around its first quote where it has one.

    Args:
        text: Any text.
        most: Characters.
        quotes: What is to be marked where it stands in the text; empty ones are passed over.

    Example:
        >>> shown = cut("one two three", 7, quotes=["one"])
        >>> [(piece.text, piece.is_marked) for piece in shown.pieces], shown.after
        ([('one', True), (' two', False)], 6)
    """
    wanted = [quote for quote in quotes if quote][:_MOST_QUOTES]
    places = [place for quote in wanted if (place := text.find(quote)) >= 0]
    start = 0
    if places and len(text) > most and min(places) > most // 2:
        start = max(0, min(min(places) - most // 3, len(text) - most))
    shown = text[start : start + most]
    return Cut(_marked(shown, wanted), start, len(text) - start - len(shown))


def cut_json(value: Json, most: int, *, quotes: Iterable[str] = ()) -> Cut:
    """Return at most so many characters of a JSON value, as compact JSON; of text as it is."""
    if isinstance(value, str):
        return cut(value, most, quotes=quotes)
    return cut(json_text(value), most, quotes=quotes)


def short(value: Json, width: int = 120) -> str:
    """Return a JSON value in one short line; "" for None."""
    return "" if value is None else value_text(value, width=width)


def name_text(name: str, width: int = 200) -> str:
    """Return a name in one line, cut in its middle: both ends tell names apart."""
    return shorten_middle(in_one_line(name[: 50 * width]), width)


def _marked(text: str, quotes: Iterable[str]) -> tuple[Piece, ...]:
    """Return a text in pieces; where quotes overlap the earlier and longer one is marked."""
    spans = sorted((place, -len(quote)) for quote in quotes if (place := text.find(quote)) >= 0)
    pieces: list[Piece] = []
    end = 0
    for place, negative in spans:
        if place < end:
            continue
        if place > end:
            pieces.append(Piece(text[end:place]))
        pieces.append(Piece(text[place : place - negative], is_marked=True))
        end = place - negative
    if end < len(text):
        pieces.append(Piece(text[end:]))
    return tuple(pieces)

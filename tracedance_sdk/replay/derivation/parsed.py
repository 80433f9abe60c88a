"""Answers as values: JSON in a text is parsed, and written back in the style it came in."""

from __future__ import annotations

import functools
import json
from typing import Final, NamedTuple

from tracedance_sdk.errors import InvalidJSON
from tracedance_sdk.trace import Json, Result, parse_json

Separators = tuple[str, str]

_SEPARATORS: Final[tuple[Separators, ...]] = ((", ", ": "), (",", ":"))
_LONGEST: Final = 1_000_000
_SHORT: Final = 8_000


class Style(NamedTuple):
    """How a tool writes JSON into a text; `is_text` False where the answer is no such text."""

    is_text: bool = False
    separators: Separators = (", ", ": ")
    ascii_only: bool = True
    indent: int | None = None

    def write(self, value: Json) -> Json:
        """Return a value as the tool would answer it."""
        if not self.is_text:
            return value
        if self.indent is not None:
            return json.dumps(value, indent=self.indent, ensure_ascii=self.ascii_only)
        return json.dumps(value, separators=self.separators, ensure_ascii=self.ascii_only)


class Parsed(NamedTuple):
    """An answer as a value, with the style that writes it back exactly."""

    value: Json
    style: Style


def parsed(result: Result) -> Parsed:
    """Return what an answer says; not to be changed, as equal answers may share it.

    A text is parsed when it is a JSON object or list that some style writes back exactly.
    """
    content = result.content
    if not isinstance(content, str) or len(content) > _LONGEST or content[:1] not in ("{", "["):
        return Parsed(content, Style())
    return _remembered(content) if len(content) <= _SHORT else _parsed(content)


def _parsed(text: str) -> Parsed:
    try:
        value = parse_json(text.encode(), where="answer", unique_keys=True)
    except (InvalidJSON, UnicodeEncodeError):
        return Parsed(text, Style())
    style = next((style for style in _styles() if style.write(value) == text), None)
    return Parsed(text, Style()) if style is None else Parsed(value, style)


# The same recordings are read in every run of every test.
_remembered = functools.lru_cache(maxsize=2048)(_parsed)


def _styles() -> list[Style]:
    found = [
        Style(True, separators, ascii_only)
        for separators in _SEPARATORS
        for ascii_only in (True, False)
    ]
    return found + [Style(True, indent=n, ascii_only=a) for n in (2, 4) for a in (True, False)]

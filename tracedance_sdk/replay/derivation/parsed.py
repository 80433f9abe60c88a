"""Answers as values: JSON in a text is parsed, and written back in the style it came in."""

from __future__ import annotations

import json
from typing import Final, NamedTuple

from tracedance_sdk.errors import InvalidJSON
from tracedance_sdk.trace import Json, Result, parse_json

Separators = tuple[str, str]

_SEPARATORS: Final[tuple[Separators, ...]] = ((", ", ": "), (",", ":"))
_LONGEST: Final = 1_000_000


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
    """Return what an answer says.

    A text is parsed when it is a JSON object or list that some style writes back exactly.
    """
    content = result.content
    if not isinstance(content, str) or len(content) > _LONGEST or content[:1] not in ("{", "["):
        return Parsed(content, Style())
    try:
        value = parse_json(content.encode(), where="answer", unique_keys=True)
    except (InvalidJSON, UnicodeEncodeError):
        return Parsed(content, Style())
    style = next((style for style in _styles() if style.write(value) == content), None)
    return Parsed(content, Style()) if style is None else Parsed(value, style)


def _styles() -> list[Style]:
    found = [
        Style(True, separators, ascii_only)
        for separators in _SEPARATORS
        for ascii_only in (True, False)
    ]
    return found + [Style(True, indent=n, ascii_only=a) for n in (2, 4) for a in (True, False)]

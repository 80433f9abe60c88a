"""Make text that nobody vouches for safe to show: on a terminal, in a table cell, in XML.

A tool's output may hold terminal escape sequences, control characters, or characters that
reverse the reading direction. All of them are shown as escapes instead of being obeyed.
"""

from __future__ import annotations

import re
from typing import Final

import orjson
from rich.cells import cell_len, set_cell_size

from tracedance_sdk.trace import UNKNOWN, Json

_C1_AND_BIDI: Final = (
    r"\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff"
)
_UNSAFE: Final = re.compile(rf"[\x00-\x08\x0b-\x1f{_C1_AND_BIDI}\U000e0000-\U000e007f]")
_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
ELLIPSIS: Final = "..."


def visible(text: str) -> str:
    r"""Return text in which everything a terminal would obey is an escape; line ends stay.

    Example:
        >>> visible("\x1b[31mred")
        '\\x1b[31mred'
    """
    return _UNSAFE.sub(_escape, text.replace("\r\n", "\n"))


def in_one_line(text: str) -> str:
    """Return `visible` text with every run of white space as one space."""
    return visible(" ".join(text.split()))


def shorten(text: str, width: int) -> str:
    """Return text of at most `width` terminal cells, cut at its end.

    Example:
        >>> shorten("a long sentence", 9)
        'a long...'
    """
    if cell_len(text) <= width:
        return text
    if width <= len(ELLIPSIS):
        return ELLIPSIS[:width]
    return set_cell_size(text, width - len(ELLIPSIS)).rstrip() + ELLIPSIS


def shorten_middle(text: str, width: int) -> str:
    """Return text of at most `width` terminal cells, cut in its middle: both ends tell names apart.

    Example:
        >>> shorten_middle("2026-01-17-run-0001.json", 15)
        '2026-0...1.json'
    """
    if cell_len(text) <= width:
        return text
    room = width - len(ELLIPSIS)
    if room < 2:
        return shorten(text, width)
    tail = _last_cells(text, room // 2)
    return set_cell_size(text, room - cell_len(tail)).rstrip() + ELLIPSIS + tail


def value_text(value: Json, *, width: int | None = None) -> str:
    """Return a JSON value as one line: strings as they are, all else as JSON.

    Args:
        value: The value; `UNKNOWN` is shown as such.
        width: Most cells to use; None for all of it.
    """
    if value is UNKNOWN:
        return "(unknown)"
    if not isinstance(value, str):
        return _limited(visible(json_text(value)), width)
    # Only so much of a huge text is looked at as can be shown.
    start = value if width is None else value[: 4 * width + 64]
    line = in_one_line(start)
    if len(start) < len(value):
        line += ELLIPSIS
    return _limited(line, width)


def json_text(value: Json) -> str:
    """Return a JSON value as compact JSON; what JSON cannot hold as Python writes it."""
    try:
        return orjson.dumps(value).decode()
    except (TypeError, ValueError):
        return repr(value)


def xml_text(text: str) -> str:
    """Return text that XML 1.0 can hold: `visible`, and characters XML forbids as escapes."""
    return _NOT_XML.sub(_escape, visible(text))


def _limited(text: str, width: int | None) -> str:
    return text if width is None else shorten(text, width)


def _last_cells(text: str, width: int) -> str:
    start = len(text)
    while start > 0 and cell_len(text[start - 1 :]) <= width:
        start -= 1
    return text[start:]


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"

"""Values short enough for a line of a failure text, with what matters still in them."""

from __future__ import annotations

import json
from typing import Final

from tracedance_sdk.report import shorten, visible
from tracedance_sdk.trace import Json

WIDTH: Final = 92
CUT: Final = "..."
_LONG: Final = 60
_CONTEXT: Final = 16


def short_json(value: Json, *, more: bool = False) -> str:
    """Return a value as one line of JSON.

    Args:
        value: The value.
        more: Say that the object has further keys.
    """
    text = json.dumps(value, ensure_ascii=False, default=repr)
    if more and isinstance(value, dict):
        text = f"{text[:-1]}, {CUT}}}" if value else f"{{{CUT}}}"
    return shorten(visible(text[: 4 * WIDTH]), WIDTH)


def short_pair(expected: Json, found: Json) -> tuple[Json, Json]:
    """Cut from two long texts what they share at either end, but for a few characters.

    Example:
        >>> short_pair("a" * 80 + "x", "a" * 80 + "y")
        ('...aaaaaaaaaaaaaaaax', '...aaaaaaaaaaaaaaaay')
    """
    if not (isinstance(expected, str) and isinstance(found, str)):
        return expected, found
    if max(len(expected), len(found)) <= _LONG:
        return expected, found
    most = min(len(expected), len(found))
    start = next((i for i in range(most) if expected[i] != found[i]), most)
    end = next((i for i in range(most - start) if expected[-1 - i] != found[-1 - i]), most - start)
    return _window(expected, start, end), _window(found, start, end)


def _window(text: str, start: int, end: int) -> str:
    first, last = max(start - _CONTEXT, 0), len(text) - max(end - _CONTEXT, 0)
    return (CUT if first else "") + text[first:last] + (CUT if last < len(text) else "")

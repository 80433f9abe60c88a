"""What a model wrote for itself, in every shape in which logs keep it, is found and taken out.

Reasoning lies in parts of its own, in fields beside the content (``reasoning_content``,
``signature``, ``encrypted_content``), in blocks that a result holds, or between tags in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from tracedance_sdk.trace import Json, Media, Part, Reasoning, Text

_TAGS: Final = re.compile(
    r"<(?P<end>/?)(?P<name>(?:antml:)?(?:think|thinking|thought|reasoning))>", re.IGNORECASE
)
_BLOCKS: Final = frozenset({"thinking", "redacted_thinking", "reasoning", "reasoning_content"})


def without_spans(text: str) -> str:
    r"""Return an assistant's text without what stands between tags such as ``<think>``.

    A text that closes a tag it never opened was reasoning up to there; one that begins with a tag
    which is never closed is reasoning as a whole. A tag that is opened later and never closed is
    left, as nobody can say where it would end.

    Example:
        >>> without_spans("<think>Which one?</think>\nThe first.")
        'The first.'
    """
    if _TAGS.search(text) is None:
        return text
    kept: list[str] = []
    at = depth = 0
    for tag in _TAGS.finditer(text):
        if not tag["end"]:
            if depth == 0:
                kept.append(text[at : tag.start()])
                at = tag.start()
            depth += 1
        else:
            if depth == 0:
                kept.clear()
            depth = max(0, depth - 1)
            if depth == 0:
                at = tag.end()
    if depth == 0 or any(piece.strip() for piece in kept):
        kept.append(text[at:])
    return "".join(kept).strip()


def without_reasoning(parts: Iterable[Part]) -> tuple[Part, ...]:
    """Return the parts of an assistant's turn without reasoning."""
    found: list[Part] = []
    for part in parts:
        if isinstance(part, Reasoning) or (isinstance(part, Media) and _is_block(part.data)):
            continue
        if isinstance(part, Text):
            text = without_spans(part.text)
            if text != part.text:
                if text:
                    found.append(Text(text=text))
                continue
        found.append(part)
    return tuple(found)


def has_span(text: str) -> bool:
    """Whether a text holds such tags."""
    return _TAGS.search(text) is not None


def reasoning_in(value: Json) -> str | None:
    """Return what in a value is reasoning, in a few words, or None."""
    for item in _walked(value):
        if isinstance(item, str):
            if has_span(item):
                return "a tagged span"
        elif _is_block(item):
            return f"a block of type {item['type']}"
    return None


def _is_block(value: Json) -> bool:
    return isinstance(value, dict) and value.get("type") in _BLOCKS


def _walked(value: Json) -> Iterator[Json]:
    pending = [value]
    while pending:
        item = pending.pop()
        yield item
        if isinstance(item, dict):
            pending += item.values()
        elif isinstance(item, list):
            pending += item

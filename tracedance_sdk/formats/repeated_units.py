"""What pieces of messages have in common with their repetition in a later request."""

from __future__ import annotations

import hashlib
from typing import Any, Final

import orjson

from tracedance_sdk.formats.message_pieces import Message, Piece, SeenCall, SeenResult
from tracedance_sdk.formats.piece_shapes import result_content
from tracedance_sdk.trace import UNKNOWN, Json, canonical_json

_SHORT: Final = 64
_END_OF_THOUGHT: Final = "</think>"
_CACHE: Final = "cache_control"

Unit = tuple[str, str]
"""What a piece of a message has in common with its repetition: reasoning, ids and the form of
arguments differ between the two."""


def is_thought(piece: Piece) -> bool:
    """Whether words hold thoughts."""
    return type(piece) is dict and _END_OF_THOUGHT in piece.get("text", "")


def unit_of(message: Message, piece: Piece) -> Unit | None:
    """Return what a piece has in common with its repetition; None for what may be left out."""
    if isinstance(piece, SeenCall):
        return "call", piece.name
    if isinstance(piece, SeenResult):
        return "result", piece.call_id or _brief(_text(_plain(piece.content)))
    if piece["type"] == "reasoning":
        return None
    if piece["type"] != "text":
        return message.speaker, _brief(_text(_bare(piece)))
    text = piece["text"].strip()
    if message.speaker == "assistant":
        if _END_OF_THOUGHT in text:
            text = text.rpartition(_END_OF_THOUGHT)[2].strip()
        if not text:
            return None
    return message.speaker, _brief(text)


def _bare(piece: dict[str, Any]) -> dict[str, Any]:
    """Return a part without the mark up to which a provider is to cache: it moves on."""
    rest = piece.get("part")
    if not isinstance(rest, dict) or _CACHE not in rest:
        return piece
    kept = {key: value for key, value in rest.items() if key != _CACHE}
    return {key: value for key, value in {**piece, "part": kept}.items() if value != {}}


def _plain(value: Json) -> Json:
    return None if value is UNKNOWN else value


def _text(value: Json) -> str:
    try:
        return orjson.dumps(value).decode()
    except TypeError:
        # Lone surrogates, integers beyond 64 bits and deep nesting: the fast writer refuses them.
        return canonical_json(value).decode()


def _brief(text: str) -> str:
    """Return short text, or the digest of a longer one."""
    if len(text) <= _SHORT:
        return text
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()


def without_marks(content: Json) -> Json:
    """Return a result without the marks up to which a provider is to cache it: they move on."""
    if not isinstance(content, list):
        return content
    parts: list[Json] = [
        {key: value for key, value in part.items() if key != _CACHE} if type(part) is dict else part
        for part in content
    ]
    return result_content(parts)

"""The parts of a message: the conventions' JSON on one side, our content on the other.

`part_json` and `read_part` are exact inverses for every part of ours. What the conventions cannot
say stands under the key ``tracedance`` inside the part, or as a whole part of a type of its own.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from tracedance_sdk.otel.names import OURS
from tracedance_sdk.trace import Json, blob_digest

_OWN_TYPE: Final = "tracedance.part"
_WORDS: Final = {"text": "text", "reasoning": "reasoning"}
_BARE: Final = 2
"""Fields of a part that is words and nothing else."""

_PLACES: Final = {"blob": ("data", "content"), "uri": ("uri", "uri")}


def part_json(document: dict[str, Json]) -> dict[str, Json]:
    """Return a part of a turn's content as a part of a message.

    Args:
        document: Of the part.
    """
    if len(document) == _BARE and document["type"] in _WORDS:
        return {"type": document["type"], "content": document["text"]}
    written = _words(document) if document["type"] in _WORDS else _media(document)
    if written is None or is_call(written) or is_response(written):
        return {"type": _OWN_TYPE, OURS: document}
    is_same = _complete(read_part(written)) == _complete(document)
    return written if is_same else {"type": _OWN_TYPE, OURS: document}


def read_part(part: dict[str, Any]) -> dict[str, Json] | None:
    """Return a message's part as the document of a part of ours.

    Returns:
        None for a part that says nothing. Parts of a type we have no word for are kept whole as
        media. Tool calls and their responses are no content; see `is_call`, `is_response`.
    """
    said, extra = part.get("type"), part.get(OURS)
    kind = said if isinstance(said, str) else ""
    if kind == _OWN_TYPE and isinstance(extra, dict):
        return extra
    if kind in _WORDS:
        return _read_words(part, kind, extra)
    if kind in _PLACES:
        field, key = _PLACES[kind]
        found: dict[str, Json] = {"type": "media", **_named(part)}
        value = part.get(key)
        if value is not None and (field == "data" or isinstance(value, str)):
            found[field] = value
        return found | (extra if isinstance(extra, dict) else {})
    if kind == "file":
        return {"type": "media", **_named(part), "data": part}
    return {"type": "media", "modality": str(kind or "other"), "data": part}


def is_call(part: dict[str, Any]) -> bool:
    """Whether a message's part asks for a tool."""
    return part.get("type") in ("tool_call", "server_tool_call")


def is_response(part: dict[str, Any]) -> bool:
    """Whether a message's part brings a tool's result."""
    return part.get("type") in ("tool_call_response", "server_tool_call_response")


def _complete(document: dict[str, Any] | None) -> dict[str, Any]:
    """Spell out the default that documents leave away."""
    return {"modality": "other", **(document or {})}


def _words(document: dict[str, Any]) -> dict[str, Json]:
    rest = {name: value for name, value in document.items() if name not in ("type", "text")}
    written = {"type": document["type"], "content": document["text"]}
    return written | {OURS: rest} if rest else written


def _media(document: dict[str, Any]) -> dict[str, Json] | None:
    modality, data = document.get("modality", "other"), document.get("data")
    if isinstance(data, dict):
        if modality in _WORDS and blob_digest(data):
            return {"type": modality, "content": data}
        return data if "type" in data else None
    kind = "blob" if isinstance(data, str) and "uri" not in document else "uri"
    field, key = _PLACES[kind]
    if not isinstance(document.get(field), str):
        return None
    written = {"type": kind, "modality": modality, key: document[field]}
    if "mime_type" in document:
        written["mime_type"] = document["mime_type"]
    rest = {k: v for k, v in document.items() if k not in ("type", "modality", "mime_type", field)}
    return written | {OURS: rest} if rest else written


def _named(part: dict[str, Any]) -> dict[str, Json]:
    """Return the kind of a part's content, as far as it is said in words."""
    return {k: part[k] for k in ("modality", "mime_type") if isinstance(part.get(k), str)}


def _read_words(part: dict[str, Any], kind: str, extra: Any) -> dict[str, Json] | None:
    content = part.get("content")
    if blob_digest(content) is not None:
        return {"type": "media", "modality": kind, "data": content}
    if content is None:
        return None
    text = content if isinstance(content, str) else orjson.dumps(content).decode()
    return {"type": kind, "text": text} | (extra if isinstance(extra, dict) else {})

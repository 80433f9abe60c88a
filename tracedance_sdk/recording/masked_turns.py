"""What was said in a turn, with its secrets masked: every field that holds words, known or not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from tracedance_sdk.trace import Json

Mask = Callable[[Json], Json]
"""Masks a JSON value; text stays text."""

_STRUCTURE: Final = frozenset(
    {"index", "role", "origin", "synthetic", "started_at", "ended_at", "type"}
)
"""Fields that hold nothing that anybody said."""

_TEXTS: Final = frozenset(
    {
        "id", "name", "model", "finish_reason", "text", "raw_arguments", "modality", "mime_type",
        "uri",
    }
)  # fmt: skip
"""Fields of parts, calls and turns that are text, and stay it whatever the redactor makes of it."""

_WHOLE: Final = frozenset({"arguments", "data", "settings"})
"""Fields that are masked as a value of their own; the name of any other counts, too."""


def masked_document(turn: Mapping[str, Any], mask: Mask) -> dict[str, Any]:
    """Return a turn's document with everything that was said in it masked; its structure stays.

    Args:
        turn: The document, as the trace writes it.
        mask: Masks a JSON value.
    """
    masked = _masked(turn, mask, apart=("content", "calls", "usage", "settings"))
    masked["content"] = [_masked(part, mask) for part in turn.get("content", ())]
    masked["calls"] = [_masked(call, mask) for call in turn.get("calls", ())]
    if "usage" in turn:
        masked["usage"] = _masked_usage(turn["usage"], mask)
    settings = mask(turn["settings"]) if "settings" in turn else None
    if isinstance(settings, dict):
        masked["settings"] = settings
    return masked


def _masked(fields: Mapping[str, Any], mask: Mask, apart: tuple[str, ...] = ()) -> dict[str, Any]:
    return {name: _field(name, value, mask) for name, value in fields.items() if name not in apart}


def _field(name: str, value: Any, mask: Mask) -> Any:
    if name in _STRUCTURE:
        return value
    if name in _TEXTS and isinstance(value, str):
        return str(mask(value))
    if name in _WHOLE:
        return mask(value)
    found = mask({name: value})
    return found[name] if isinstance(found, dict) and name in found else found


def _masked_usage(usage: Mapping[str, Any], mask: Mask) -> dict[str, Any]:
    """Return counts as they are, and masked what else a provider told with them."""
    return {
        name: count if isinstance(count, (int, float)) else _field(name, count, mask)
        for name, count in usage.items()
    }

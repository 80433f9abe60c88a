"""Identity: random ids for our own traces, derived ids for imported ones, the content hash."""

from __future__ import annotations

import hashlib
import secrets
from typing import Any, Final

import orjson

from tracedance_sdk.trace.canonical import canonical_json, json_digest
from tracedance_sdk.trace.markers import Json
from tracedance_sdk.trace.model import Trace
from tracedance_sdk.trace.objects import plain

_NOT_CONTENT: Final = frozenset(
    {
        "id", "session_id", "parent", "otel", "source", "fidelity", "started_at", "ended_at",
        "duration_ms", "parent_call_id", "bound_by",
    }
)  # fmt: skip


def random_trace_id() -> str:
    """Return a fresh trace id: 32 hex characters."""
    return secrets.token_hex(16)


def imported_trace_id(collector: str, namespace: str, native_id: str, branch: str = "") -> str:
    """Return the id of an imported trace: the same source gives the same id.

    Args:
        collector: Name of the collector.
        namespace: What keeps equal native ids of different sources apart.
        native_id: The source's own id.
        branch: Which branch of a forked session; empty for the only one.
    """
    text = f"{collector}\0{namespace}\0{native_id}\0{branch}"
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:32]


def source_digest(value: Json) -> str:
    """Return SHA-256 of a value as its source spells its numbers, 64 hex, for ids of imports.

    The order of keys is irrelevant. Unlike for `json_digest`, ``1`` and ``1.0`` differ: making
    them equal takes a walk through all of a conversation.
    """
    try:
        data = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except (TypeError, ValueError):
        data = canonical_json(value)
    return hashlib.sha256(data).hexdigest()


def content_hash(trace: Trace) -> str:
    """Return SHA-256 over what the trace says: ids, times and provenance left out.

    Two recordings of the same run have the same content hash.
    """
    fields = plain(trace)
    kept: dict[str, Any] = {k: v for k, v in fields.items() if k not in _NOT_CONTENT}
    kept["turns"] = [_turn_content(turn) for turn in fields.get("turns", ())]
    return json_digest(kept)


def _turn_content(turn: dict[str, Any]) -> dict[str, Any]:
    kept = {k: v for k, v in turn.items() if k not in _NOT_CONTENT}
    if "calls" in turn:
        kept["calls"] = [
            {k: v for k, v in call.items() if k not in _NOT_CONTENT} for call in turn["calls"]
        ]
    return kept

"""OpenClaw's index of sessions: which started which, with what, and how they ended."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from tracedance_sdk.errors import TraceDanceError
from tracedance_sdk.formats.coding.lenient import flag_at, object_at, text_at
from tracedance_sdk.formats.coding.session import is_unique
from tracedance_sdk.formats.opening import Document, documents, read_document
from tracedance_sdk.trace import Json, parse_json

NAME: Final = "sessions.json"
_MOST_BYTES: Final = 64 * 1024**2
_MOST_ABOVE: Final = 100
_OF_OUTCOME: Final = ("status", "abortedLastRun", "endedAt", "runtimeMs", "estimatedCostUsd")


class Spawner(NamedTuple):
    """The session that started another, and the call with which it did; None where unknown."""

    session: str
    call_id: str | None


class IndexEntry(NamedTuple):
    """What the index says of a session.

    Attributes:
        fields: Its entry, with the key under which it stands as ``sessionKey``.
        root_id: The session at the top, from which this one was started over whatever steps.
        parent: Who started it.
        outcome: How it ended, as fields of `Outcome`.
    """

    fields: dict[str, Json]
    root_id: str
    parent: Spawner | None
    outcome: dict[str, Json] | None


def find_entry(path: Path, session_id: str | None) -> IndexEntry | None:
    """Return what the index beside a session's file says of the session; None without one.

    An index that cannot be read counts as none.
    """
    index = path.parent / NAME
    if session_id is None or not index.is_file():
        return None
    entries = _entries(*_version(index))
    key = next((key for key, entry in entries.items() if _id(entry) == session_id), None)
    if key is None:
        return None
    entry = entries[key]
    above = _above(entries, key)
    parent = None
    if above:
        parent = Spawner(_id(entries[above[0]]), None)
        file = path.parent / f"{parent.session}.jsonl"
        if is_unique(parent.session) and file.is_file():
            calls = _spawned(*_version(file))
            parent = Spawner(parent.session, calls.get(key))
    return IndexEntry(
        {"sessionKey": key, **entry},
        _id(entries[above[-1]]) if above else session_id,
        parent,
        _outcome(entry),
    )


def _id(entry: Mapping[str, Any]) -> str:
    return text_at(entry, "sessionId") or ""


def _above(entries: Mapping[str, dict[str, Any]], key: str) -> list[str]:
    """Return the keys of the sessions above, the nearest first."""
    found: list[str] = []
    while len(found) < _MOST_ABOVE:
        above = text_at(entries[key], "spawnedBy")
        if above is None or above not in entries or above in found:
            return found
        found.append(above)
        key = above
    return found


def _outcome(entry: Mapping[str, Any]) -> dict[str, Json] | None:
    details = {key: entry[key] for key in _OF_OUTCOME if key in entry}
    if not details:
        return None
    status, aborted = text_at(entry, "status"), flag_at(entry, "abortedLastRun")
    ended = None if status is None else status == "done" and not aborted
    return {"ended": ended, "details": details}


def _version(path: Path) -> tuple[str, int, int]:
    status = path.stat()
    return str(path), status.st_mtime_ns, status.st_size


@lru_cache(maxsize=2)
def _entries(path: str, _modified: int, _size: int) -> Mapping[str, dict[str, Any]]:
    try:
        value = parse_json(read_document(path, limit=_MOST_BYTES), where=path)
    except TraceDanceError:
        return {}
    if not isinstance(value, dict):
        return {}
    return {key: entry for key, entry in value.items() if isinstance(entry, dict) and _id(entry)}


@lru_cache(maxsize=16)
def _spawned(path: str, _modified: int, _size: int) -> Mapping[str, str]:
    """Return the calls of a session's file by the key of the session that they started."""
    found: dict[str, str] = {}
    try:
        for document in documents(path):
            value = document.value if isinstance(document, Document) else None
            message = object_at(value, "message") if isinstance(value, dict) else {}
            started = text_at(object_at(message, "details"), "childSessionKey")
            call = text_at(message, "toolCallId")
            if started is not None and call is not None:
                found.setdefault(started, call)
    except TraceDanceError:
        return found
    return found

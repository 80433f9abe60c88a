"""Sessions of OpenCode, put together from the files of its storage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from tracedance_sdk.formats.coding.lenient import (
    count_at,
    flag_at,
    integer_at,
    number_at,
    object_at,
    rest,
    text_at,
    time_at,
)
from tracedance_sdk.formats.coding.opencode_storage import Storage
from tracedance_sdk.formats.coding.session import Session, session_trace_id
from tracedance_sdk.formats.guarding import guarded
from tracedance_sdk.formats.importing import ImportProblem
from tracedance_sdk.formats.places import Place
from tracedance_sdk.formats.transcript import media_part, reasoning_part, text_part
from tracedance_sdk.trace import UNKNOWN, Json, Trace

COLLECTOR: Final = "opencode"

_OF_SESSION: Final = ("id", "version", "directory")
_OF_MESSAGE: Final = ("id", "sessionID", "role", "modelID", "tokens", "finish")
_OF_PART: Final = ("sessionID", "messageID", "type", "text")
_BESIDE: Final = ("todo", "session_diff")
_MOST_ABOVE: Final = 100


def read_opencode(folder: Path, *, only: Path | None = None) -> Iterator[Trace | ImportProblem]:
    """Yield the sessions of a storage.

    Args:
        folder: The storage; see `is_storage`.
        only: The file of the one session wanted; by default all.
    """
    storage = Storage(folder)
    found = [(file, text_at(item, "id") or file.stem, item) for file, item in storage.sessions()]
    sessions = {session_id: session for _, session_id, session in reversed(found)}
    for file, _, session in found:
        if only is not None and file != only:
            continue
        read = partial(_trace, storage, sessions, session, file)
        yield from guarded(read, Place(str(file)), str(file))
        yield from storage.take_problems()
    yield from storage.take_problems()


def _trace(
    storage: Storage, sessions: Mapping[str, dict[str, Any]], session: dict[str, Any], file: Path
) -> Trace:
    session_id = text_at(session, "id") or file.stem
    log = Session("opencode")
    for message in storage.messages(session_id):
        _message(log, message, storage.parts(str(message.get("id"))))
    log.facts["session"] = rest(session, *_OF_SESSION) or None
    for kind in _BESIDE:
        log.facts[kind] = storage.beside(kind, session_id)
    fields: dict[str, Any] = {}
    above = _above(sessions, session_id)
    if above:
        trace_id = session_trace_id(COLLECTOR, above[0], _first(above[0], sessions[above[0]]))
        call = _starting_call(storage, above[0], session_id)
        fields = {"session_id": above[-1], "parent": {"trace_id": trace_id, "call_id": call}}
    version = text_at(session, "version")
    return log.finish(
        session_id,
        _first(session_id, session),
        path=file,
        collector=COLLECTOR,
        agent={"name": "opencode", **({"version": version} if version else {})},
        started_at=time_at(object_at(session, "time"), "created"),
        metadata={"cwd": text_at(session, "directory")},
        **fields,
    )


def _first(session_id: str, session: Mapping[str, Any]) -> Json:
    return {"id": session_id, "created": object_at(session, "time").get("created")}


def _above(sessions: Mapping[str, dict[str, Any]], session_id: str) -> list[str]:
    """Return the sessions above, the nearest first."""
    found: list[str] = []
    while len(found) < _MOST_ABOVE:
        parent = text_at(sessions[session_id], "parentID")
        if parent is None or parent not in sessions or parent in found:
            return found
        found.append(parent)
        session_id = parent
    return found


def _starting_call(storage: Storage, parent: str, child: str) -> str | None:
    for message in storage.messages(parent):
        for part in storage.parts(str(message.get("id"))):
            metadata = object_at(object_at(part, "state"), "metadata")
            if text_at(metadata, "sessionId", "sessionID") == child:
                return text_at(part, "callID", "id")
    return None


def _message(log: Session, message: Mapping[str, Any], parts: list[dict[str, Any]]) -> None:
    role = text_at(message, "role")
    time = object_at(message, "time")
    said = [made for part in parts if (made := _part(log, part)) is not None]
    kinds = {text_at(part, "type") for part in parts}
    own = rest(message, *_OF_MESSAGE)
    hidden = [part for part in parts if _is_mark(part)]
    own = log.own({**own, "id": message.get("id"), "parts": hidden or None})
    if role == "user" or (role == "assistant" and flag_at(message, "summary")):
        is_summary = role == "assistant" or "compaction" in kinds
        log.hear(
            said,
            flags=["compaction"] if is_summary else [],
            compaction=True if is_summary else None,
            started_at=time_at(time, "created"),
            **own,
        )
    elif role == "assistant":
        log.say(
            "assistant",
            said,
            origin="agent",
            model=text_at(message, "modelID") or text_at(object_at(message, "model"), "modelID"),
            finish_reason=text_at(message, "finish"),
            usage=_usage(log, message),
            started_at=time_at(time, "created"),
            ended_at=time_at(time, "completed"),
            **own,
        )
    else:
        log.keep({**message, "parts": parts})
        return
    for part in parts:
        if part.get("type") == "tool":
            _tool(log, part)


def _is_mark(part: Mapping[str, Any]) -> bool:
    """Whether a part is neither said nor done: where a step begins, what it changed, ..."""
    return part.get("type") not in ("text", "reasoning", "file", "tool")


def _part(log: Session, part: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what a part says; None for a tool's and for marks."""
    kind, text = part.get("type"), text_at(part, "text") or ""
    own = log.own(rest(part, *_OF_PART))
    if kind == "text":
        origin = {"origin": "harness"} if flag_at(part, "synthetic") else {}
        return {**text_part(text), **origin, **own}
    if kind == "reasoning":
        return {**reasoning_part(text), **own}
    if kind == "file":
        mime = text_at(part, "mime")
        modality = "image" if (mime or "").startswith("image/") else "document"
        own = log.own(rest(part, *_OF_PART, "mime", "url"))
        return {**media_part(modality, mime_type=mime, uri=text_at(part, "url")), **own}
    return None


def _usage(log: Session, message: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the usage; ``input`` is without what came from or went to the cache."""
    tokens, cost = object_at(message, "tokens"), number_at(message, "cost")
    cache = object_at(tokens, "cache")
    read, write = count_at(cache, "read"), count_at(cache, "write")
    given = count_at(tokens, "input")
    found = {
        "input_tokens": None if given is None else given + (read or 0) + (write or 0),
        "output_tokens": count_at(tokens, "output"),
        "cache_read_tokens": read,
        "cache_write_tokens": write,
        "reasoning_tokens": count_at(tokens, "reasoning"),
        "cost_usd": cost,
        **log.own(rest(tokens, "output", "cache", "reasoning")),
    }
    return {key: value for key, value in found.items() if value is not None} or None


def _tool(log: Session, part: Mapping[str, Any]) -> None:
    state = object_at(part, "state")
    time, metadata = object_at(state, "time"), object_at(state, "metadata")
    start, end = number_at(time, "start"), number_at(time, "end")
    call_id = text_at(part, "callID", "id")
    known = ("input", "output", "error", "metadata")
    log.request(
        text_at(part, "tool") or "unknown",
        call_id=call_id,
        arguments=state.get("input", UNKNOWN),
        started_at=time_at(time, "start"),
        duration_ms=end - start if start is not None and end is not None else None,
        **log.own({**rest(part, *_OF_PART, "callID", "tool", "state"), **rest(state, *known)}),
    )
    if "output" not in state and "error" not in state:
        return
    error, exit_code = text_at(state, "error"), integer_at(metadata, "exit")
    ok = {"completed": True, "success": True, "error": False}.get(str(state.get("status")))
    if exit_code:
        ok = False
    log.answer(
        call_id,
        content=state.get("output", UNKNOWN),
        ok=ok,
        error=None if error is None else {"type": "error", "message": error},
        exit_code=exit_code,
        **log.own({"metadata": metadata or None}),
    )

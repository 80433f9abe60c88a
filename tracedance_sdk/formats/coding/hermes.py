"""Sessions of the Hermes agent: one document with chat messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from tracedance_sdk.formats.coding.lenient import (
    list_at,
    object_at,
    objects_at,
    rest,
    text_at,
    time_at,
)
from tracedance_sdk.formats.coding.session import Session, plain_parts
from tracedance_sdk.formats.importing import ImportProblem
from tracedance_sdk.formats.places import Place
from tracedance_sdk.formats.transcript import reasoning_part
from tracedance_sdk.trace import UNKNOWN, Json, Trace

COLLECTOR: Final = "hermes"

_NO_FACTS: Final = (
    "session_id", "messages", "model", "session_start", "cwd", "tools", "system_prompt",
)  # fmt: skip
_REASONING: Final = ("reasoning_content", "reasoning")
_OF_MESSAGE: Final = (
    "role", "content", "tool_calls", "finish_reason", "timestamp", "tool_call_id", "tool_name",
    "name", *_REASONING,
)  # fmt: skip


def read_hermes_session(
    value: Json, place: Place, uri: str
) -> Trace | Iterable[Trace | ImportProblem]:
    """Return the trace of a session.

    Args:
        value: The document.
        place: Where it stands, for errors.
        uri: The file.

    Raises:
        InvalidTrace: It is no object, or has no list of messages.
    """
    session = place.expect(value, dict)
    messages = place.field(session, "messages", list)
    log = Session("hermes")
    model = text_at(session, "model")
    for message in messages:
        if not isinstance(message, dict) or not _message(log, message, model):
            log.keep(message)
    log.facts["session"] = rest(session, *_NO_FACTS) or None
    first = {key: session.get(key) for key in ("session_id", "session_start")}
    return log.finish(
        text_at(session, "session_id"),
        first,
        path=Path(uri),
        collector=COLLECTOR,
        system_prompt=text_at(session, "system_prompt"),
        tools=[*map(_tool, objects_at(session, "tools"))] or None,
        started_at=time_at(session, "session_start"),
        metadata={"cwd": text_at(session, "cwd")},
    )


def _tool(item: Mapping[str, Any]) -> dict[str, Any]:
    function = object_at(item, "function") or item
    found: dict[str, Any] = {"name": text_at(function, "name") or "unknown"}
    if (description := text_at(function, "description")) is not None:
        found["description"] = description
    if isinstance(function.get("parameters"), dict):
        found["parameters"] = function["parameters"]
    return found


def _message(log: Session, message: Mapping[str, Any], model: str | None) -> bool:
    """Add a message; return false for a role that is none."""
    role = text_at(message, "role")
    own = log.own(rest(message, *_OF_MESSAGE))
    at = time_at(message, "timestamp")
    parts = plain_parts(message.get("content"), client=log.client)
    if role == "user":
        log.hear(parts, started_at=at, **own)
    elif role in ("system", "developer"):
        log.say("system", parts, origin="harness", started_at=at, **own)
    elif role == "assistant":
        reasoning = text_at(message, *_REASONING)
        log.say(
            "assistant",
            [*([reasoning_part(reasoning)] if reasoning else []), *parts],
            origin="agent",
            model=model,
            finish_reason=text_at(message, "finish_reason"),
            started_at=at,
            **own,
        )
        for call in list_at(message, "tool_calls"):
            _call(log, call if isinstance(call, dict) else {"function": call})
    elif role == "tool":
        failed = message.get("finish_reason") == "error"
        log.answer(
            text_at(message, "tool_call_id"),
            name=text_at(message, "tool_name", "name"),
            content=message.get("content", UNKNOWN),
            ok=False if failed else None,
            **log.own(
                {**rest(message, *_OF_MESSAGE), "finish_reason": message.get("finish_reason")}
            ),
        )
    else:
        return False
    return True


def _call(log: Session, call: Mapping[str, Any]) -> None:
    function = object_at(call, "function")
    arguments = function.get("arguments", UNKNOWN)
    given = {"text" if isinstance(arguments, str) else "arguments": arguments}
    log.request(
        text_at(function, "name") or "unknown",
        call_id=text_at(call, "id", "call_id"),
        **given,
        **log.own(rest(call, "id", "type", "function")),
    )

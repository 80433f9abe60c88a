"""Codex's events: most tell again what items say; some tell what no item does."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from tracedance_sdk.formats.coding.codex_log import CodexLog
from tracedance_sdk.formats.coding.codex_outputs import read_ending
from tracedance_sdk.formats.coding.lenient import object_at, rest, text_at
from tracedance_sdk.formats.transcript import reasoning_part, text_part
from tracedance_sdk.trace import UNKNOWN, Json

Said = Collection[tuple[str | None, str]]
"""The texts of a session's items, each with the role that says it; None for reasoning."""

_SPOKEN: Final[dict[str, tuple[str | None, str]]] = {
    "user_message": ("user", "message"),
    "agent_message": ("assistant", "message"),
    "agent_reasoning": (None, "text"),
}
"""Events that tell a text, and who says it."""


def _of_command(event: Mapping[str, Any]) -> tuple[str, Json]:
    return "exec_command", {"command": event.get("command"), "workdir": event.get("cwd")}


def _of_mcp(event: Mapping[str, Any]) -> tuple[str, Json]:
    invocation = object_at(event, "invocation")
    server, tool = text_at(invocation, "server") or "", text_at(invocation, "tool") or "unknown"
    return f"mcp__{server}__{tool}", invocation.get("arguments", UNKNOWN)


def _of_patch(event: Mapping[str, Any]) -> tuple[str, Json]:
    return "apply_patch", {"changes": event.get("changes")}


def _of_search(event: Mapping[str, Any]) -> tuple[str, Json]:
    return "web_search", event.get("action", {"query": event.get("query")})


def _of_picture(event: Mapping[str, Any]) -> tuple[str, Json]:
    return "image_generation", {"prompt": event.get("revised_prompt")}


def _of_view(event: Mapping[str, Any]) -> tuple[str, Json]:
    return "view_image", {"path": event.get("path")}


def _of_dynamic(event: Mapping[str, Any]) -> tuple[str, Json]:
    return text_at(event, "tool") or "unknown", event.get("arguments", UNKNOWN)


def _of_agents(event: Mapping[str, Any]) -> tuple[str, Json]:
    name = _AGENTS[str(event.get("type"))]
    known = ("prompt", "receiver_thread_id", "model", "reasoning_effort")
    return name, {key: event[key] for key in known if key in event}


_AGENTS: Final = {
    "collab_agent_spawn_end": "spawn_agent",
    "collab_agent_interaction_end": "send_input",
    "collab_waiting_end": "wait",
    "collab_close_end": "close_agent",
    "collab_resume_end": "resume_agent",
}
_ENDS: Final[dict[str, Callable[[Mapping[str, Any]], tuple[str, Json]]]] = {
    "exec_command_end": _of_command,
    "mcp_tool_call_end": _of_mcp,
    "patch_apply_end": _of_patch,
    "web_search_end": _of_search,
    "image_generation_end": _of_picture,
    "view_image_tool_call": _of_view,
    "dynamic_tool_call_response": _of_dynamic,
    **dict.fromkeys(_AGENTS, _of_agents),
}
"""Events that tell of a call's end, and how to tell which call it was where no item asked."""


def read_event(log: CodexLog, record: Mapping[str, Any], said: Said, at: str | None) -> None:
    """Add an event to the session.

    What only repeats an item's words is no turn, and what an event tells of a call that an item
    asked for goes to that call. All events are kept as records, but for the words and the results
    that stand in the turns already.

    Args:
        log: The session.
        record: The record whose ``payload`` is the event.
        said: What the session's items say.
        at: When it was recorded.
    """
    event = object_at(record, "payload")
    kind = text_at(event, "type") or ""
    if kind in _SPOKEN:
        _words(log, record, event, said, at)
    elif kind in _ENDS:
        _ending(log, event, at)
    else:
        if kind == "token_count":
            log.count(object_at(event, "info"))
        elif kind == "turn_aborted":
            log.stop()
        log.keep(record)


def _words(
    log: CodexLog,
    record: Mapping[str, Any],
    event: Mapping[str, Any],
    said: Said,
    at: str | None,
) -> None:
    role, key = _SPOKEN[str(event["type"])]
    text = text_at(event, key) or ""
    beside = {k: v for k, v in rest(event, "type", key).items() if v not in (None, "", [], {})}
    if (role, text) in said:
        if beside:
            log.keep({**record, "payload": {"type": event["type"], **beside}})
    elif role == "user":
        log.heard()
        log.hear(text, started_at=at, **log.own(beside))
    else:
        part = text_part(text) if role else reasoning_part(text)
        log.open_turn(at)["content"].append({**part, **log.own(beside)})


def _ending(log: CodexLog, event: Mapping[str, Any], at: str | None) -> None:
    call_id = text_at(event, "call_id", "callId")
    ending = read_ending(event)
    own = rest(event, "type", "call_id", "result", "results", "formatted_output", "duration")
    for key in ("aggregated_output", "stdout"):
        if own.get(key) == ending.content:
            del own[key]
    call = log.expecting(call_id)
    if call is not None:
        log.ended(call, ending)
    else:
        name, arguments = _ENDS[str(event["type"])](event)
        by_user = event.get("source") == "user_shell"
        call = log.request_unasked(name, call_id=call_id, arguments=arguments, started_at=at)
        if event["type"] != "view_image_tool_call":
            log.ended(call, ending)
        own = rest(own, "arguments", "changes", "invocation")
        if by_user:
            own["by_user"] = True
    call["codex"] = {**call.get("codex", {}), "event": {"type": event["type"], **own}}

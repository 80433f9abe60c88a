"""Messages of pi's agent loop as turns; OpenClaw, which runs on it, writes the same."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, Final

from tracedance_sdk.formats.coding.lenient import (
    count_at,
    flag_at,
    integer_at,
    list_at,
    number_at,
    object_at,
    rest,
    text_at,
    time_at,
)
from tracedance_sdk.formats.coding.session import Session, plain_content, plain_parts, withheld
from tracedance_sdk.trace import UNKNOWN, Json

_EXIT: Final = re.compile(r"\(?Command exited with code (\d{1,9})\)?\s*\Z")
"""How the tools that run commands end the text of one that failed."""

_FAILED: Final = frozenset({"failed", "error"})
_STOPPED: Final = frozenset({"aborted", "error"})
"""How a message of the model's ends that was cut short: what it asks for then never runs."""

_OF_RESULT: Final = ("role", "toolCallId", "toolName", "content", "isError")
_SUMMARIES: Final = frozenset({"branchSummary", "compactionSummary"})
_HARNESS: Final = frozenset({"custom", "hookMessage"})


def read_pi_message(
    log: Session,
    message: Mapping[str, Any],
    *,
    stored_at: str | None = None,
    settings: Mapping[str, Json] | None = None,
    extra: Mapping[str, Any] | None = None,
) -> bool:
    """Add a message to the session.

    Args:
        log: The session.
        message: With a ``role``.
        stored_at: When it was written to the file.
        settings: What the model runs with at this place.
        extra: Further fields of the client's own for the turn.

    Returns:
        False for a role that is not known; nothing is added then.
    """
    role = text_at(message, "role")
    own = dict(extra or {})
    if stored_at is not None and role != "assistant":
        own["stored_at"] = stored_at
    if role == "assistant":
        _assistant(log, message, stored_at, settings, own)
    elif role == "toolResult":
        _result(log, message, own)
    elif role == "bashExecution":
        _user_command(log, message, stored_at, own)
    elif role == "system":
        parts = plain_parts(message.get("content"), client=log.client)
        own |= rest(message, "role", "content", "timestamp")
        log.say("system", parts, origin="harness", started_at=stored_at, **log.own(own))
    elif role == "user" or role in _HARNESS or role in _SUMMARIES:
        _heard(log, role, message, stored_at, own)
    else:
        return False
    return True


def settle(log: Session) -> None:
    """Mark the calls that never ran because the message that asked for them was cut short."""
    for turn in log.turns:
        if turn.get("finish_reason") not in _STOPPED:
            continue
        for call in turn["calls"]:
            call.setdefault("result", {"ok": None, "interrupted": True})


def _heard(
    log: Session,
    role: str,
    message: Mapping[str, Any],
    stored_at: str | None,
    own: dict[str, Any],
) -> None:
    parts = plain_parts(message.get("content"), client=log.client)
    own |= rest(message, "role", "content", "timestamp", "summary")
    flags: list[str] = []
    if role in _SUMMARIES:
        parts = plain_parts(message.get("summary"), client=log.client)
        flags = ["compaction"]
    elif role in _HARNESS:
        flags = ["isSynthetic"]
    if role != "user":
        own["role"] = role
    log.hear(
        parts,
        flags=flags,
        started_at=time_at(message, "timestamp") or stored_at,
        compaction=True if role == "compactionSummary" else None,
        **log.own(own),
    )


def _assistant(
    log: Session,
    message: Mapping[str, Any],
    stored_at: str | None,
    settings: Mapping[str, Json] | None,
    own: dict[str, Any],
) -> None:
    content = message.get("content")
    blocks = content if isinstance(content, list) else plain_parts(content, client=log.client)
    parts: list[dict[str, Any]] = []
    requests: list[dict[str, Any]] = []
    for block in blocks:
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "toolCall":
            requests.append(block)
        elif kind == "thinking":
            parts.append(_thinking(log, block))
        else:
            parts += plain_parts([block], client=log.client)
    own |= rest(
        message, "role", "content", "model", "stopReason", "timestamp", "usage"
    )  # provider, api, errorMessage, responseId, ...
    log.say(
        "assistant",
        parts,
        origin="harness" if text_at(message, "provider") == "openclaw" else "agent",
        model=text_at(message, "model"),
        finish_reason=text_at(message, "stopReason"),
        usage=_usage(log, message.get("usage")),
        settings=dict(settings) if settings else None,
        started_at=time_at(message, "timestamp") or stored_at,
        ended_at=stored_at,
        **log.own(own),
    )
    for block in requests:
        log.request(
            text_at(block, "name") or "unknown",
            call_id=text_at(block, "id"),
            arguments=block.get("arguments", UNKNOWN),
            raw_arguments=text_at(block, "partialJson"),
            **log.own(rest(block, "type", "id", "name", "arguments", "partialJson")),
        )


def _thinking(log: Session, block: Mapping[str, Any]) -> dict[str, Any]:
    own = rest(block, "type", "thinking", "thinkingSignature")
    part = withheld(text_at(block, "thinking") or "", encrypted=block.get("thinkingSignature"))
    return {**part, **log.own(own)}


def _usage(log: Session, value: Json) -> dict[str, Any] | None:
    """Return the usage; ``input`` is without what came from or went to the cache."""
    if not isinstance(value, dict):
        return None
    parts = [count_at(value, key) for key in ("input", "cacheRead", "cacheWrite")]
    known = [part for part in parts if part is not None]
    found = {
        "input_tokens": sum(known) if known and parts[0] is not None else None,
        "output_tokens": count_at(value, "output"),
        "cache_read_tokens": parts[1],
        "cache_write_tokens": parts[2],
        "cost_usd": number_at(object_at(value, "cost"), "total"),
        **log.own(rest(value, "output", "cacheRead", "cacheWrite")),
    }
    return {key: item for key, item in found.items() if item is not None}


def _result(log: Session, message: Mapping[str, Any], own: dict[str, Any]) -> None:
    content = plain_content(message.get("content", UNKNOWN))
    details = object_at(message, "details")
    exit_code = integer_at(details, "exitCode")
    if exit_code is None and isinstance(content, str) and (found := _EXIT.search(content[-80:])):
        exit_code = int(found.group(1))
    failed = flag_at(message, "isError")
    if text_at(details, "status") in _FAILED or exit_code:
        failed = True
    log.answer(
        text_at(message, "toolCallId"),
        name=text_at(message, "toolName"),
        content=content,
        ok=None if failed is None else not failed,
        exit_code=exit_code,
        **log.own({**own, **rest(message, *_OF_RESULT)}),
    )
    duration = number_at(details, "durationMs")
    call = log.answered
    if duration is not None and call is not None:
        call["duration_ms"] = duration


def _user_command(
    log: Session, message: Mapping[str, Any], stored_at: str | None, own: dict[str, Any]
) -> None:
    """Add a command that the user ran, whose output the model was shown."""
    log.say(
        "user",
        origin="human",
        started_at=time_at(message, "timestamp") or stored_at,
        **log.own({**own, "role": "bashExecution"}),
    )
    log.request("bash", arguments={"command": message.get("command")}, requested_by="user")
    exit_code = integer_at(message, "exitCode")
    log.answer(
        name="bash",
        content=message.get("output", UNKNOWN),
        ok=None if exit_code is None else exit_code == 0,
        exit_code=exit_code,
        interrupted=flag_at(message, "cancelled") or None,
        truncated=flag_at(message, "truncated") or None,
        **log.own(rest(message, "role", "command", "output", "exitCode", "timestamp")),
    )


def list_messages(value: Mapping[str, Any], key: str) -> Collection[dict[str, Any]]:
    """Return the messages in a field."""
    return [item for item in list_at(value, key) if isinstance(item, dict)]

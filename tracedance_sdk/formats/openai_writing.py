"""Turns as chat-completions messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracedance_sdk.formats.leftovers import restored
from tracedance_sdk.formats.openai_parts import content_from_parts, reasoning_field
from tracedance_sdk.formats.openai_tools import extra, json_text, written_arguments
from tracedance_sdk.trace import UNKNOWN, Call, Json, Result, Turn, Unknown


def write_messages(
    turns: Sequence[Turn], *, system_prompt: str | None = None, style: Json = None
) -> list[dict[str, Any]]:
    """Return the messages of turns, results after the calls that asked for them.

    Args:
        turns: Of one conversation, in order.
        system_prompt: Becomes the first message.
        style: What `read_messages` found out about the conversation as a whole.
    """
    habits = style if isinstance(style, dict) else {}
    with_name = habits.get("result_names") is True
    messages: list[dict[str, Any]] = []
    if system_prompt is not None:
        role = habits.get("system_role", "system")
        messages.append({"role": role, "content": system_prompt})
    moved: list[tuple[int, dict[str, Any]]] = []
    for turn in turns:
        calls = [call for call in turn.calls if call.requested_by == "agent"]
        if has_message(turn):
            messages.append(restored(plain_message(turn), extra(turn)))
        for call in calls:
            if call.result is None:
                continue
            kept = extra(call.result)
            message = restored(plain_answer(call, call.result, with_name=with_name), kept)
            if isinstance(kept, dict) and isinstance(kept.get("at"), int):
                moved.append((kept["at"], message))
            else:
                messages.append(message)
    for place, message in sorted(moved, key=lambda item: item[0]):
        messages.insert(place, message)
    return messages


def has_message(turn: Turn) -> bool:
    """Whether a turn is written as a message: one made up for results of others' calls is not."""
    return not turn.synthetic or any(
        call.requested_by == "agent" and not is_unrequested(call) for call in turn.calls
    )


def is_unrequested(call: Call) -> bool:
    """Whether a call is known from its result alone."""
    kept = extra(call)
    return isinstance(kept, dict) and kept.get("unrequested") is True


def plain_message(turn: Turn) -> dict[str, Any]:
    """Return a turn as the message any reader expects, without what was peculiar to its source."""
    message: dict[str, Any] = {"role": turn.role, "content": content_from_parts(turn.content)}
    if turn.name is not None:
        message["name"] = turn.name
    if turn.role != "assistant":
        return message
    reasoning = reasoning_field(turn.content)
    if reasoning is not None:
        message["reasoning_content"] = reasoning
    requests = [
        _request(call)
        for call in turn.calls
        if call.requested_by == "agent" and not is_unrequested(call)
    ]
    if requests:
        message["tool_calls"] = requests
    return message


def _request(call: Call) -> dict[str, Any]:
    function: dict[str, Any] = {"name": call.name}
    if call.arguments is not UNKNOWN or call.raw_arguments is not None:
        # An empty text would say that there were none.
        function["arguments"] = written_arguments(call.arguments, call.raw_arguments)
    return {"id": call.id, "type": "function", "function": function}


def plain_answer(call: Call, result: Result, *, with_name: bool) -> dict[str, Any]:
    """Return a result as a ``tool`` message; without ``content`` where nothing was seen of it."""
    message: dict[str, Any] = {"role": "tool", "tool_call_id": call.id}
    content = _answer_content(result)
    if content is not UNKNOWN:
        message["content"] = content
    if with_name:
        message["name"] = call.name
    return message


def _answer_content(result: Result) -> Json | Unknown:
    content = result.content
    if content is UNKNOWN:
        if result.error is not None:
            return f"{result.error.type}: {result.error.message}"
        return UNKNOWN
    if isinstance(content, str) or _is_part_list(content):
        return content
    return json_text(content)


def _is_part_list(content: Json) -> bool:
    return (
        isinstance(content, list)
        and bool(content)
        and all(isinstance(part, dict) and isinstance(part.get("type"), str) for part in content)
    )

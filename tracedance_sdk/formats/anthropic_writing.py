"""A context as the body of a request of Anthropic's Messages API."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from tracedance_sdk.errors import Unsendable, shown
from tracedance_sdk.formats.shown_context import (
    API,
    Shown,
    ShownCall,
    ShownTurn,
    check_tools,
    shown_turns,
    web_address,
    written_blocks,
)
from tracedance_sdk.trace import Media, ToolDefinition, Turn

MESSAGES: Final = API(
    "Anthropic's Messages API",
    call_id=re.compile(r"[A-Za-z0-9_-]{1,64}"),
    tool_name=re.compile(r"[A-Za-z0-9_-]{1,128}"),
)
_IMAGES: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_UNIONS: Final = ("oneOf", "anyOf", "allOf")


def anthropic_request(
    turns: Sequence[Turn],
    *,
    system_prompt: str | None = None,
    tools: Sequence[ToolDefinition] = (),
    opening: str | None = None,
) -> dict[str, Any]:
    """Return ``messages``, and ``system`` and ``tools`` where there are any, of a request.

    Messages of one role in a row become one. Results stand first in the user's message after the
    calls. What the system says at the start becomes ``system``; what it says later stands in the
    user's messages, as most models take it nowhere else.

    Args:
        turns: What the model saw; see `Trace.before`.
        system_prompt: Becomes the start of ``system``.
        tools: Their schemas are sent unchanged.
        opening: What the user is made to say first where the context begins with the assistant,
            which the API does not take; None refuses such contexts.

    Raises:
        Unsendable: The API cannot express the context.

    Example:
        >>> turn = Turn.model_validate(
        ...     {
        ...         "index": 0,
        ...         "role": "user",
        ...         "origin": "human",
        ...         "content": [{"type": "text", "text": "Hi"}],
        ...     }
        ... )
        >>> anthropic_request([turn], system_prompt="Be brief.")
        {'messages': [{'role': 'user', 'content': 'Hi'}], 'system': 'Be brief.'}
    """
    check_tools(tools, MESSAGES)
    found = shown_turns(turns, MESSAGES, system_prompt=system_prompt)
    start = next(place for place, turn in enumerate(found) if turn.role != "system")
    messages = _joined(found[start:])
    if messages[0]["role"] != "user" and opening:
        messages.insert(0, {"role": "user", "content": [{"type": "text", "text": opening}]})
    if messages[0]["role"] != "user":
        raise Unsendable(
            f"{MESSAGES.name} takes no context that begins with the assistant",
            kind="begins with the assistant",
        )
    if messages[-1]["role"] != "user":
        raise Unsendable(
            f"{MESSAGES.name} takes no context that ends with the assistant's words",
            kind="ends with the assistant",
        )
    request: dict[str, Any] = {"messages": [_plain(message) for message in messages]}
    if start:
        request["system"] = "\n\n".join(_text(turn) for turn in found[:start])
    if tools:
        request["tools"] = [_tool(tool) for tool in tools]
    return request


def _text(turn: ShownTurn) -> str:
    if len(turn.texts) < len(turn.parts):
        raise Unsendable(f"{MESSAGES.name} takes nothing but text from the system", kind="media")
    return "\n\n".join(turn.texts)


def _joined(turns: Sequence[ShownTurn]) -> list[dict[str, Any]]:
    """Return messages whose roles alternate, each with a list of blocks."""
    messages: list[dict[str, Any]] = []

    def add(role: str, blocks: list[dict[str, Any]]) -> None:
        if messages and messages[-1]["role"] == role:
            messages[-1]["content"] += blocks
        elif blocks:
            messages.append({"role": role, "content": blocks})

    for turn in turns:
        role = "assistant" if turn.role == "assistant" else "user"
        add(role, [*_blocks(turn.parts, role), *map(_request, turn.calls)])
        add("user", [_answer(call) for call in turn.calls])
    return messages


def _plain(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message of one text with the text as its content."""
    blocks = message["content"]
    if len(blocks) == 1 and blocks[0]["type"] == "text":
        return {**message, "content": blocks[0]["text"]}
    return message


def _blocks(parts: Sequence[Shown], role: str) -> list[dict[str, Any]]:
    return written_blocks(
        parts,
        MESSAGES,
        where=f"a message of the {role}",
        as_media=_media if role == "user" else lambda _: None,
    )


def _request(call: ShownCall) -> dict[str, Any]:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}


def _answer(call: ShownCall) -> dict[str, Any]:
    answer: dict[str, Any] = {"type": "tool_result", "tool_use_id": call.id}
    parts = [part for part in call.parts if isinstance(part, Media) or part.text.strip()]
    if parts:
        blocks = written_blocks(parts, MESSAGES, where="a tool's result", as_media=_media)
        answer["content"] = _plain({"content": blocks})["content"]
    if call.failed:
        answer["is_error"] = True
    return answer


def _media(part: Media) -> dict[str, Any] | None:
    kind = {"image": "image", "document": "document"}.get(part.modality)
    if kind is None:
        return None
    if isinstance(part.data, str):
        fitting = _IMAGES if kind == "image" else {"application/pdf"}
        if part.mime_type not in fitting:
            return None
        source = {"type": "base64", "media_type": part.mime_type, "data": part.data}
    else:
        source = {"type": "url", "url": web_address(part)}
    return {"type": kind, "source": source}


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    schema = tool.parameters
    if schema is None:
        schema = {"type": "object", "properties": {}}
    union = next((key for key in _UNIONS if key in schema), None)
    if schema.get("type") != "object" or union is not None:
        what = "no object" if union is None else f"{union!r} at the top"
        raise Unsendable(
            f"{MESSAGES.name} takes no tool whose schema is {what}: {shown(tool.name)}",
            kind="schema of a tool",
        )
    written: dict[str, Any] = {"name": tool.name, "input_schema": schema}
    if tool.description is not None:
        written["description"] = tool.description
    return written

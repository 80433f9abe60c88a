"""A context as the body of a chat-completions request.

`openai_writing` gives back the messages that were read, with all they held; this is what may be
sent to another model, and holds no more than that.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from tracedance_sdk.formats.shown_context import (
    API,
    Shown,
    ShownCall,
    ShownTurn,
    check_tools,
    data_url,
    shown_turns,
    web_address,
    written_blocks,
)
from tracedance_sdk.trace import Media, Text, ToolDefinition, Turn

CHAT: Final = API(
    "chat completions",
    # Some servers answer longer ids with an error.
    call_id=re.compile(r"[A-Za-z0-9_-]{1,40}"),
    tool_name=re.compile(r"[A-Za-z0-9_-]{1,64}"),
)
_SOUNDS: Final = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mp3": "mp3", "audio/mpeg": "mp3"}


def chat_request(
    turns: Sequence[Turn],
    *,
    system_prompt: str | None = None,
    tools: Sequence[ToolDefinition] = (),
) -> dict[str, Any]:
    """Return ``messages``, and ``tools`` where there are any, of a chat-completions request.

    Args:
        turns: What the model saw; see `Trace.before`.
        system_prompt: Becomes the first message.
        tools: Their schemas are sent unchanged.

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
        >>> chat_request([turn], system_prompt="Be brief.")["messages"]
        [{'role': 'system', 'content': 'Be brief.'}, {'role': 'user', 'content': 'Hi'}]
    """
    check_tools(tools, CHAT)
    messages: list[dict[str, Any]] = []
    for turn in shown_turns(turns, CHAT, system_prompt=system_prompt):
        messages.append(_message(turn))
        messages += [_answer(call) for call in turn.calls]
    request: dict[str, Any] = {"messages": messages}
    if tools:
        request["tools"] = [_tool(tool) for tool in tools]
    return request


def _message(turn: ShownTurn) -> dict[str, Any]:
    # Null is for an assistant alone.
    nothing = None if turn.role == "assistant" else ""
    content = _content(turn.parts, turn.role) if turn.parts else nothing
    message: dict[str, Any] = {"role": turn.role, "content": content}
    if turn.calls:
        message["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.text},
            }
            for call in turn.calls
        ]
    return message


def _answer(call: ShownCall) -> dict[str, Any]:
    content = _content(call.parts, "tool") if call.parts else ""
    return {"role": "tool", "tool_call_id": call.id, "content": content}


def _content(parts: Sequence[Shown], role: str) -> str | list[dict[str, Any]]:
    if len(parts) == 1 and isinstance(parts[0], Text):
        return parts[0].text
    where = "a tool's result" if role == "tool" else f"a message of the {role}"
    return written_blocks(
        parts, CHAT, where=where, as_media=_media if role == "user" else lambda _: None
    )


def _media(part: Media) -> dict[str, Any] | None:
    if part.modality == "image":
        url = data_url(part) or web_address(part)
        return None if url is None else {"type": "image_url", "image_url": {"url": url}}
    if part.modality == "audio" and isinstance(part.data, str):
        form = _SOUNDS.get(part.mime_type or "")
        sound = {"data": part.data, "format": form}
        return None if form is None else {"type": "input_audio", "input_audio": sound}
    url = data_url(part)
    if part.modality == "document" and url is not None and part.mime_type == "application/pdf":
        return {"type": "file", "file": {"filename": "document.pdf", "file_data": url}}
    return None


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    function: dict[str, Any] = {"name": tool.name}
    if tool.description is not None:
        function["description"] = tool.description
    if tool.parameters is not None:
        function["parameters"] = tool.parameters
    return {"type": "function", "function": function}

"""A context as the body of a request of OpenAI's Responses API."""

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

RESPONSES: Final = API(
    "the Responses API",
    call_id=re.compile(r"[A-Za-z0-9_-]{1,64}"),
    tool_name=re.compile(r"[A-Za-z0-9_-]{1,64}"),
)


def responses_request(
    turns: Sequence[Turn],
    *,
    system_prompt: str | None = None,
    tools: Sequence[ToolDefinition] = (),
) -> dict[str, Any]:
    """Return ``input``, and ``instructions`` and ``tools`` where there are any, of a request.

    Args:
        turns: What the model saw; see `Trace.before`.
        system_prompt: Becomes ``instructions``.
        tools: Their schemas are sent unchanged, and never made strict.

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
        >>> request = responses_request([turn], system_prompt="Be brief.")
        >>> request["instructions"], request["input"]
        ('Be brief.', [{'type': 'message', 'role': 'user', 'content': 'Hi'}])
    """
    check_tools(tools, RESPONSES)
    items: list[dict[str, Any]] = []
    for turn in shown_turns(turns, RESPONSES):
        items += _items(turn)
    request: dict[str, Any] = {"input": items}
    if system_prompt:
        request["instructions"] = system_prompt
    if tools:
        request["tools"] = [_tool(tool) for tool in tools]
    return request


def _items(turn: ShownTurn) -> list[dict[str, Any]]:
    # A list of the assistant's texts would need ids of messages that never were.
    said = [(part,) for part in turn.parts] if turn.role == "assistant" else [turn.parts]
    items: list[dict[str, Any]] = [
        # Some servers know a message by its type alone.
        {"type": "message", "role": turn.role, "content": _content(parts, turn.role)}
        for parts in said
        if parts
    ]
    items += [
        {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.text}
        for call in turn.calls
    ]
    items += [
        {"type": "function_call_output", "call_id": call.id, "output": _output(call)}
        for call in turn.calls
    ]
    return items


def _output(call: ShownCall) -> str | list[dict[str, Any]]:
    return _content(call.parts, "tool") if call.parts else ""


def _content(parts: Sequence[Shown], role: str) -> str | list[dict[str, Any]]:
    if len(parts) == 1 and isinstance(parts[0], Text):
        return parts[0].text
    return written_blocks(
        parts,
        RESPONSES,
        where="a tool's result" if role == "tool" else f"a message of the {role}",
        as_media=_media if role in ("user", "tool") else lambda _: None,
        text_type="input_text",
    )


def _media(part: Media) -> dict[str, Any] | None:
    url = data_url(part) or web_address(part)
    if part.modality == "image" and url is not None:
        return {"type": "input_image", "image_url": url, "detail": "auto"}
    if part.modality == "document" and part.mime_type == "application/pdf" and data_url(part):
        return {"type": "input_file", "filename": "document.pdf", "file_data": url}
    if part.modality == "document" and url is not None and not isinstance(part.data, str):
        return {"type": "input_file", "file_url": url}
    return None


def _tool(tool: ToolDefinition) -> dict[str, Any]:
    written: dict[str, Any] = {
        "type": "function",
        "name": tool.name,
        "parameters": tool.parameters,
        "strict": False,
    }
    if tool.description is not None:
        written["description"] = tool.description
    return written

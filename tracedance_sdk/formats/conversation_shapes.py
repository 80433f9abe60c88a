"""Find the messages in what a framework logged as a model's input or output."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from tracedance_sdk.formats.message_pieces import Message, Speaker
from tracedance_sdk.formats.message_shapes import read_message
from tracedance_sdk.formats.tool_shapes import read_tools
from tracedance_sdk.trace import Json

_LISTS: Final = ("messages", "contents", "input", "inputs", "chat_history", "history")
_WORDS: Final = ("prompt", "query", "question", "text", "completion", "response", "answer")
_SYSTEMS: Final = (
    "system", "system_instruction", "systemInstruction", "system_prompt", "instructions",
    "system_instructions",
)  # fmt: skip
_CONFIGS: Final = ("config", "generation_config", "kwargs", "settings")
_MOST_STEPS: Final = 12


class Talk(NamedTuple):
    """What was said in an input or an output.

    Attributes:
        messages: In order, without the leading system prompt.
        system: The leading system prompt, if it is plain text.
        tools: Fields of `ToolDefinition`.
    """

    messages: tuple[Message, ...]
    system: str | None = None
    tools: tuple[dict[str, Any], ...] = ()


def read_talk(value: Json, *, speaker: Speaker) -> Talk | None:
    """Read the messages out of an input or an output of any known shape.

    Lists of messages, requests and responses of the known providers, and LangChain's envelopes.

    Args:
        value: The parsed input or output.
        speaker: Who speaks where it does not say: ``user`` for inputs, ``assistant`` for outputs.

    Returns:
        None when no message is found.

    Example:
        >>> reply = {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hi"}]}}]}
        >>> read_talk(reply, speaker="assistant").messages[0].text
        'Hi'
        >>> read_talk({"model": "m", "contents": "Hello"}, speaker="user").messages[0].text
        'Hello'
    """
    items, system, tools = _items(value, speaker)
    found: list[Message] = []
    defined: list[Json] = []
    for item in items:
        definition = _definition(item)
        if definition is not None:
            defined.append(definition)
            continue
        message = read_message(item, speaker=speaker if isinstance(item, str) else None)
        if message is None:
            return None
        if message.pieces:
            found.append(message)
    told = _system_text(system)
    if told is None and found and found[0].speaker == "system":
        first = found.pop(0)
        told = first.text
    if not found and told is None:
        return None
    return Talk(tuple(found), told, tuple(read_tools([*tools, *defined])))


def _items(value: Json, speaker: Speaker) -> tuple[list[Json], Json, list[Json]]:
    """Return the messages that a container holds, its system prompt, and its tools."""
    system: Json = None
    tools: list[Json] = []
    for _ in range(_MOST_STEPS):
        if isinstance(value, str):
            return [value] if value else [], system, tools
        if isinstance(value, list):
            if len(value) == 1 and isinstance(value[0], list):
                value = value[0]
                continue
            if value and all(read_message(item) is None for item in value):
                return _as_reply(value, speaker), system, tools
            return value, system, tools
        if not isinstance(value, dict):
            break
        system = next((value[key] for key in _SYSTEMS if value.get(key)), system)
        tools += _tools_beside(value)
        if read_message(value) is not None and not _is_request(value):
            return [value], system, tools
        inner = _inner(value)
        if inner is None:
            break
        value = inner
    return [None], system, tools


def _is_request(value: dict[str, Any]) -> bool:
    return isinstance(value.get("messages"), list) or isinstance(value.get("contents"), list)


def _as_reply(items: list[Json], speaker: Speaker) -> list[Json]:
    """Return content blocks that stand without a message around them as one message."""
    is_content = all(
        isinstance(item, dict) and ("text" in item or isinstance(item.get("type"), str))
        for item in items
    )
    return [{"role": speaker, "content": items}] if is_content else [None]


def _inner(value: dict[str, Any]) -> Json:
    """Return what lies below the container that a value is; None when it is none that we know."""
    for key, below in (("candidates", "content"), ("choices", "message"), ("generations", None)):
        entries = value.get(key)
        if isinstance(entries, list) and entries:
            first = entries[0][0] if isinstance(entries[0], list) and entries[0] else entries[0]
            if not isinstance(first, dict):
                return None
            return first.get(below or "message") or first.get("delta") or first.get("text")
    if isinstance(value.get("output"), (list, dict)):
        return value["output"]
    keys = [*_LISTS, *_WORDS, "message", "output", "content"]
    found = next((value[key] for key in keys if isinstance(value.get(key), (list, dict))), None)
    if found is not None:
        return found if "role" not in value else None
    return next((value[key] for key in (*_LISTS, *_WORDS) if isinstance(value.get(key), str)), None)


def _tools_beside(value: dict[str, Any]) -> list[Json]:
    found = [value.get("tools"), value.get("functions")]
    found += [value[k].get("tools") for k in _CONFIGS if isinstance(value.get(k), dict)]
    return [tool for tools in found if isinstance(tools, list) for tool in tools]


def _definition(item: Json) -> Json:
    """Return a tool's definition that LangChain's tracers put among the messages, or None."""
    content = item.get("content") if isinstance(item, dict) else None
    if not isinstance(content, dict) or item.get("role") != "tool":
        return None
    function = content.get("function")
    if content.get("type") != "function" or not isinstance(function, dict):
        return None
    return content if "parameters" in function else None


def _system_text(value: Json) -> str | None:
    if isinstance(value, str):
        return value
    if not value:
        return None
    content = value.get("parts", value.get("content", value)) if isinstance(value, dict) else value
    message = read_message({"role": "system", "content": content})
    return "\n\n".join(p["text"] for p in message.parts if p["type"] == "text") if message else None

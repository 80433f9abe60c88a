"""Messages inside attributes: found in whatever holds them, then read as any other message is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

import orjson

from tracedance_sdk.formats import (
    Message,
    Piece,
    SeenCall,
    SeenResult,
    classify,
    read_message,
)
from tracedance_sdk.otel.dialects.decoding import REDACTED, decoded
from tracedance_sdk.otel.dialects.python_text import (
    is_object_text,
    openai_call,
    step_message,
    unquoted,
)
from tracedance_sdk.trace import Json

_LISTS: Final = (
    "messages", "contents", "generations", "choices", "candidates", "output", "input", "prompts",
)  # fmt: skip
_ITEMS: Final = ("function_call", "function_call_output", "reasoning", "custom_tool_call")
_MOST_NESTED: Final = 5
RECAP: Final = "adk-other-agent"
"""The rule that knows how such a message of ADK's begins."""
_STEPS: Final = ("tool-call", "tool-response")
_RENAMED: Final = {
    "server_tool_call": "arguments",
    "server_tool_call_response": "response",
    "function_call_name": "name",
}


_SEEN: Final[ContextVar[dict[bytes, Message | None] | None]] = ContextVar(
    "tracedance_seen_messages", default=None
)


@contextmanager
def each_message_once() -> Iterator[None]:
    """Read what is said again and again only once: every model call repeats what came before.

    Holds each message in memory as long as it lasts.
    """
    token = _SEEN.set({})
    try:
        yield
    finally:
        _SEEN.reset(token)


def messages_of(value: Json, *, speaker: str = "user", depth: int = 0) -> list[Message]:
    """Return the messages that a value holds, in order.

    Args:
        value: A list of messages, one, an object with a list of them, or text.
        speaker: Who speaks in messages that do not say.
        depth: How often the value was opened so far.
    """
    if isinstance(value, str):
        is_said = bool(value) and not is_object_text(value)
        found = _message({"role": speaker, "content": value}) if is_said else None
        return [] if found is None else [found]
    if depth > _MOST_NESTED:
        return []
    if isinstance(value, list):
        if _are_calls(value):
            value = [{"role": "assistant", "tool_calls": value}]
        return [m for item in value for m in messages_of(item, speaker=speaker, depth=depth + 1)]
    return _of_object(value, speaker, depth) if isinstance(value, dict) else []


def _are_calls(value: list[Json]) -> bool:
    """Whether an answer is nothing but the list of its requests in OpenAI's shape."""
    return bool(value) and all(
        isinstance(item, dict)
        and item.get("type") == "function"
        and isinstance(item.get("function"), dict)
        and "arguments" in item["function"]
        for item in value
    )


def _of_object(value: dict[str, Any], speaker: str, depth: int) -> list[Message]:
    if isinstance(value.get("message"), dict):
        return _of_choice(value, speaker, depth)
    if _is_message(value):
        found = _message(value) or _message({**value, "role": speaker})
        return [] if found is None else [found]
    for key in _LISTS:
        if isinstance(value.get(key), (list, dict, str)):
            return messages_of(value[key], speaker=speaker, depth=depth + 1)
    content = value.get("content")
    if isinstance(content, dict):
        # A candidate of Gemini's: the message is its content.
        return _with_reason(messages_of(content, speaker=speaker, depth=depth + 1), value)
    if isinstance(value.get("text"), str) or content is not None:
        found = _message({"content": value.get("text"), **value, "role": speaker})
        return [] if found is None else [found]
    return []


def system_text(value: Json) -> str | None:
    """Return the text of a system instruction in any provider's shape; None when there is none."""
    if isinstance(value, str):
        opened = decoded(value) if value.startswith(("[", "{")) else value
        if isinstance(opened, str):
            return value or None
        value = opened
    if isinstance(value, dict) and "parts" in value:
        value = value["parts"]
    found = _message({"role": "system", "content": value})
    texts = [part["text"] for part in found.parts if part["type"] == "text"] if found else []
    return "\n\n".join(texts) if texts else None


def _is_message(value: dict[str, Any]) -> bool:
    """Whether an object says by itself who speaks in it, or has what only messages have."""
    if isinstance(value.get("role"), str) or "parts" in value or value.get("type") in _ITEMS:
        return True
    return read_message(_reduced(value)) is not None


def _of_choice(value: dict[str, Any], speaker: str, depth: int) -> list[Message]:
    inner = dict(value["message"])
    for key in ("tool_calls", "function_call"):
        if key in value and key not in inner:
            inner[key] = value[key]
    text = value.get("text")
    if isinstance(text, str) and not {"content", "kwargs", "data"} & inner.keys():
        inner["content"] = text
    if not isinstance(inner.get("role"), str) and not _is_message(inner):
        inner["role"] = speaker
    return _with_reason(messages_of(inner, speaker=speaker, depth=depth + 1), value)


def _with_reason(found: list[Message], holder: dict[str, Any]) -> list[Message]:
    reason = holder.get("finish_reason") or holder.get("finishReason")
    if not isinstance(reason, str):
        return found
    return [m._replace(extra={"finish_reason": reason, **(m.extra or {})}) for m in found]


def _message(value: dict[str, Any]) -> Message | None:
    seen = _SEEN.get()
    if seen is None:
        return _read(value)
    try:
        key = orjson.dumps(value)
    except TypeError:
        return _read(value)
    if key not in seen:
        seen[key] = _read(value)
    return seen[key]


def _read(value: dict[str, Any]) -> Message | None:
    found = read_message(_reduced(value))
    if found is None:
        role = value.get("role")
        if not isinstance(role, str) or not role:
            return None
        # A role of somebody's own: words that the model was given.
        found = read_message(_reduced(value), speaker="user")
        if found is None or role.lower() in _STEPS:
            return None if found is None else step_message(role.lower(), found)
    pieces: list[Piece] = []
    for piece in found.pieces:
        if isinstance(piece, dict) and piece["type"] == "text":
            call = openai_call(piece["text"])
            if call is not None or piece["text"]:
                pieces.append(piece if call is None else call)
        elif isinstance(piece, SeenCall):
            pieces.append(piece._replace(name=unquoted(piece.name)))
        else:
            pieces.append(piece)
    if found.speaker == "tool" and not any(isinstance(piece, SeenResult) for piece in pieces):
        texts = [p["text"] for p in pieces if isinstance(p, dict) and p["type"] == "text"]
        pieces = [SeenResult(None, found.name, "\n".join(texts))]
    return found._replace(pieces=tuple(pieces))


def _reduced(value: dict[str, Any]) -> dict[str, Any]:
    """Return a message without nulls, whose parts are spelled as every reader knows them."""
    found = {key: item for key, item in value.items() if item is not None}
    kwargs = found.get("kwargs")
    if "lc" not in found and isinstance(kwargs, dict):
        found = {**found, "lc": 1, "id": found.get("id", [kwargs.get("type", "")])}
    if "function_call_name" in found:
        name, written = (
            found.pop("function_call_name"),
            found.pop("function_call_arguments_json", None),
        )
        found["function_call"] = {"name": name, "arguments": written}
    for key in ("content", "contents", "parts"):
        if isinstance(found.get(key), list):
            found[key] = [part for item in found[key] if (part := _part(item)) is not None]
    if found.get("role") == "tool" and "content" not in found:
        texts = [_text_of_part(part) for part in found.get("parts") or ()]
        if texts and None not in texts:
            found["content"] = "\n".join(text for text in texts if text)
            del found["parts"]
    if isinstance(found.get("tool_calls"), list):
        found["tool_calls"] = [_opened(call) for call in found["tool_calls"]]
    return found


def _text_of_part(part: Json) -> str | None:
    if isinstance(part, dict) and part.get("type") == "text":
        content = part.get("content", part.get("text"))
        return content if isinstance(content, str) else None
    return None


def _opened(call: Json) -> Json:
    inner = call.get("tool_call") if isinstance(call, dict) else None
    return inner if isinstance(inner, dict) else call


def _part(item: Json) -> Json:
    if isinstance(item, str):
        return item or None
    if not isinstance(item, dict):
        return item
    inner = item.get("message_content")
    item = inner if isinstance(inner, dict) else item
    part = {
        _RENAMED.get(key, key): value
        for key, value in item.items()
        if value is not None or key in ("response", "result", "arguments")
    }
    # What a foreign message has under our key means nothing to us.
    part.pop("tracedance", None)
    is_silent = part.keys() <= {"type"} and part.get("type") in ("text", "reasoning", None)
    return None if is_silent else part


def is_recap(message: Message) -> bool:
    """Whether a message tells a model, in the user's role, what another agent did.

    The parts behind its first one are headed by the agents' names, which no rule can know.
    """
    parts = message.parts
    first = parts[0]["text"] if parts and parts[0]["type"] == "text" else ""
    return len(parts) > 1 and classify(first, role="user").rule == RECAP


def is_redacted(message: Message) -> bool:
    """Whether all that a message says stands for content that was switched off."""
    parts = message.parts
    texts = [part["text"] for part in parts if part["type"] == "text"]
    return bool(texts) and len(texts) == len(message.pieces) and REDACTED.issuperset(texts)

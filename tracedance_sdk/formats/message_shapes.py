"""Read a message of any known shape: who speaks, and what parts, calls and results it holds.

The shapes are those of OpenAI (chat and Responses), Anthropic, Gemini, Bedrock, Vercel, LangChain,
Pydantic AI, Inspect and the conventions of OpenTelemetry. They mix in practice: a chat message
may hold Anthropic's blocks, a LangChain message OpenAI's calls.
"""

from __future__ import annotations

from typing import Any, Final

from tracedance_sdk.formats.chat_messages import plain_chat_message
from tracedance_sdk.formats.message_pieces import Message, Piece, SeenCall, SeenResult, Speaker
from tracedance_sdk.formats.piece_shapes import read_call, read_pieces
from tracedance_sdk.formats.response_items import plain_response_item
from tracedance_sdk.formats.transcript import reasoning_part, text_part
from tracedance_sdk.trace import Json

_SPEAKERS: Final[dict[str, Speaker]] = {
    "system": "system", "developer": "system", "systemmessage": "system",
    "user": "user", "human": "user", "humanmessage": "user", "humanmessagechunk": "user",
    "assistant": "assistant", "ai": "assistant", "model": "assistant", "agent": "assistant",
    "aimessage": "assistant", "aimessagechunk": "assistant",
    "tool": "tool", "function": "tool", "toolmessage": "tool", "functionmessage": "tool",
}  # fmt: skip
_CALL_KEYS: Final = ("tool_calls", "toolCalls", "invalid_tool_calls")
_CONTENT_KEYS: Final = ("content", "parts", "contents")
_REASONING_KEYS: Final = ("reasoning_content", "reasoning", "thinking")


def read_message(value: Any, *, speaker: Speaker | None = None) -> Message | None:
    """Read one message of any known shape.

    Args:
        value: The parsed message; one that has been read already is returned as it is.
        speaker: Who speaks where the message does not say.

    Returns:
        The message; None when the value is none.

    Example:
        >>> message = read_message({"role": "model", "parts": [{"text": "Hi"}]})
        >>> message.speaker, message.text
        ('assistant', 'Hi')
        >>> block = {"type": "tool_use", "id": "t1", "name": "look", "input": {"at": "sky"}}
        >>> read_message({"role": "assistant", "content": [block]}).calls[0].arguments
        {'at': 'sky'}
        >>> read_message({"colour": "red"}) is None
        True
    """
    if isinstance(value, Message):
        return value
    if isinstance(value, str):
        return Message(speaker, (text_part(value),)) if speaker is not None else None
    if not isinstance(value, dict):
        return None
    quick = plain_chat_message(value) or plain_response_item(value)
    return quick or read_object(value, speaker=speaker)


def read_object(value: dict[str, Any], *, speaker: Speaker | None = None) -> Message | None:
    """Read one message of any shape that is an object; see `read_message`."""
    fields = _unwrapped(value)
    found = _speaker(fields) or _item_speaker(fields) or speaker
    if found is None or not _says_something(fields):
        return None
    return _read(fields, found)


def speaker_of(role: str) -> Speaker | None:
    """Return who a role or a LangChain type names; None for any other word."""
    return _SPEAKERS.get(role.lower())


def _unwrapped(value: dict[str, Any]) -> dict[str, Any]:
    """Return a LangChain message out of its constructor's or its dumped form."""
    inner = value.get("kwargs")
    if value.get("lc") is not None and isinstance(inner, dict):
        name = value.get("id")
        last = name[-1] if isinstance(name, list) and name else ""
        return {"type": str(last), **inner}
    inner = value.get("data")
    if isinstance(inner, dict) and isinstance(value.get("type"), str) and "content" in inner:
        return {**inner, "type": value["type"]}
    return value


def _speaker(fields: dict[str, Any]) -> Speaker | None:
    for key in ("role", "type"):
        word = fields.get(key)
        if isinstance(word, str) and word.lower() in _SPEAKERS:
            return _SPEAKERS[word.lower()]
    kind = fields.get("kind")
    if isinstance(fields.get("parts"), list) and kind in ("request", "response"):
        return "assistant" if kind == "response" else "user"
    return None


def _item_speaker(fields: dict[str, Any]) -> Speaker | None:
    """Return who speaks in an item of OpenAI's Responses, which has a type and no role."""
    kind = fields.get("type")
    if not isinstance(kind, str) or "role" in fields:
        return None
    if kind.endswith("_call_output") or kind == "mcp_approval_response":
        return "tool"
    is_item = kind.endswith("_call") or kind in ("reasoning", "mcp_list_tools", "compaction")
    return "assistant" if is_item else None


def _says_something(fields: dict[str, Any]) -> bool:
    keys = (*_CONTENT_KEYS, *_CALL_KEYS, *_REASONING_KEYS, "function_call", "refusal", "audio")
    return any(key in fields for key in keys) or _item_speaker(fields) is not None


def _read(fields: dict[str, Any], speaker: Speaker) -> Message:
    if _item_speaker(fields) is not None:
        return Message(speaker, tuple(read_pieces([fields])), id=_text(fields, "id"))
    if speaker == "tool":
        return _read_answer(fields)
    taken = {"role", "type", "kind", "name", "id"}
    pieces = _beside(fields, speaker, taken)
    for key in _CONTENT_KEYS:
        if key in fields:
            pieces += read_pieces(fields[key])
            taken.add(key)
            break
    if isinstance(fields.get("refusal"), str):
        pieces.append({**text_part(fields["refusal"]), "refusal": True})
        taken.add("refusal")
    pieces += _requested(fields, pieces, taken)
    if pieces and all(isinstance(piece, SeenResult) for piece in pieces):
        speaker = "tool"
    extra = {k: v for k, v in fields.items() if k not in taken and v not in (None, [], {})}
    return Message(
        speaker, tuple(pieces), _text(fields, "name"), _text(fields, "id"), extra or None
    )


def _beside(fields: dict[str, Any], speaker: Speaker, taken: set[str]) -> list[Piece]:
    """Return the reasoning and the sound that stand beside an assistant's content."""
    found: list[Piece] = []
    if speaker != "assistant":
        return found
    for key in _REASONING_KEYS:
        if isinstance(fields.get(key), str):
            taken.add(key)
            if fields[key]:
                found.append(reasoning_part(fields[key]))
            break
    if isinstance(fields.get("audio"), dict):
        found += read_pieces([{"type": "audio", **fields["audio"]}])
        taken.add("audio")
    return found


def _requested(fields: dict[str, Any], pieces: list[Piece], taken: set[str]) -> list[Piece]:
    """Return the calls that stand beside the content; those that stand in it, too, only once."""
    lists: list[list[Json]] = []
    for key in _CALL_KEYS:
        if isinstance(fields.get(key), list):
            taken.add(key)
            lists.append(fields[key])
    if isinstance(fields.get("function_call"), dict):
        taken.add("function_call")
        lists.append([fields["function_call"]])
    kept = fields.get("additional_kwargs")
    if not any(lists) and isinstance(kept, dict) and isinstance(kept.get("tool_calls"), list):
        lists.append(kept["tool_calls"])
    inside: set[str | None] = {
        piece.id for piece in pieces if isinstance(piece, SeenCall) and piece.id
    }
    found: list[Piece] = []
    for entries in lists:
        read = [call for entry in entries if (call := read_call(entry)) is not None]
        found += [call for call in read if call.id is None or call.id not in inside]
        inside |= {call.id for call in read}
    return found


def _read_answer(fields: dict[str, Any]) -> Message:
    """Read a message in the tool's role: one result, or a list of blocks with results."""
    content = next((fields[key] for key in _CONTENT_KEYS if key in fields), None)
    pieces = read_pieces(content) if isinstance(content, list) else []
    if not any(isinstance(piece, SeenResult) for piece in pieces):
        item = {k: v for k, v in fields.items() if k not in ("role", "id", "kind")}
        return Message("tool", tuple(read_pieces([{**item, "type": "tool_result"}])))
    taken = {"role", "type", "kind", "id", "name", *_CONTENT_KEYS}
    extra = {k: v for k, v in fields.items() if k not in taken and v not in (None, [], {})}
    return Message("tool", tuple(pieces), None, _text(fields, "id"), extra or None)


def _text(fields: dict[str, Any], key: str) -> str | None:
    value = fields.get(key)
    return value if isinstance(value, str) and value else None

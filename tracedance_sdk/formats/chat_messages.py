"""Read the messages that most conversations are made of: those of OpenAI's chat, at their plainest.

`message_shapes` reads any message. Nearly all that models' clients send have one of four shapes,
and a message that has one is read here, to the same result, in a fraction of the time.
"""

from __future__ import annotations

from typing import Any, Final

from tracedance_sdk.formats.message_pieces import Message, Piece, SeenCall, SeenResult, Speaker
from tracedance_sdk.formats.transcript import text_part

_SPEAKERS: Final[dict[Any, Speaker]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}
_ANSWER: Final = {"role", "content", "tool_call_id"}
_STATEMENT: Final = {"role", "content", "name", "tool_calls"}
_WORDS: Final = (str, type(None))
_NONE: Final[list[Any]] = []
_CALL: Final = {"id", "type", "function"}
_FUNCTION: Final = {"name", "arguments"}


def plain_chat_message(value: dict[Any, Any]) -> Message | None:
    """Return a message with text, calls of functions, or one result; None for any other.

    Example:
        >>> plain_chat_message({"role": "user", "content": "Hi"}).text
        'Hi'
        >>> plain_chat_message({"role": "user", "content": [{"type": "text", "text": "Hi"}]})
    """
    role = value.get("role")
    speaker = _SPEAKERS.get(role) if type(role) is str else None
    if speaker is None:
        return None
    read = _answer if speaker == "tool" else _statement
    return read(speaker, {key: item for key, item in value.items() if item is not None})


def _answer(_: Speaker, given: dict[Any, Any]) -> Message | None:
    call_id, text = given.get("tool_call_id"), given.get("content")
    if len(given) != len(_ANSWER) or not (type(call_id) is type(text) is str and call_id):
        return None
    return Message("tool", (SeenResult(call_id, None, text),))


def _statement(speaker: Speaker, given: dict[Any, Any]) -> Message | None:
    text, name, asked = given.get("content"), given.get("name"), given.get("tool_calls", _NONE)
    if not (text or asked) or not all(type(word) in _WORDS for word in (text, name)):
        return None
    if not given.keys() <= _STATEMENT and any(
        given[key] != [] for key in given.keys() - _STATEMENT
    ):
        return None
    if type(asked) is not list or (asked and speaker != "assistant"):
        return None
    pieces: list[Piece] = [text_part(text)] if text else []
    for entry in asked:
        call = _call(entry)
        if call is None:
            return None
        pieces.append(call)
    return Message(speaker, tuple(pieces), name or None)


def _call(entry: Any) -> SeenCall | None:
    if type(entry) is not dict or entry.keys() != _CALL or entry["type"] != "function":
        return None
    function, call_id = entry["function"], entry["id"]
    if type(function) is not dict or function.keys() != _FUNCTION:
        return None
    name, text = function["name"], function["arguments"]
    if not (type(call_id) is type(name) is type(text) is str and call_id and name):
        return None
    return SeenCall(name, call_id, text=text)

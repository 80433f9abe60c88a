"""Turns as messages: the conventions' JSON, and our own facts in an object beside it.

A message of ours holds, under the key ``tracedance``, everything of the turn that a conventional
message has no field for (its index, origin, model, usage, times, unknown fields). A request in it
that was never executed holds the same of its call, since no span does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from tracedance_sdk.otel.json_texts import json_text
from tracedance_sdk.otel.names import OURS
from tracedance_sdk.otel.parts import is_call, is_response, part_json, read_part
from tracedance_sdk.trace import (
    Call,
    Json,
    ToolDefinition,
    Turn,
    plain,
)

_SAID_ELSEWHERE: Final = ("role", "content", "calls", "name", "finish_reason")
_IN_PARTS: Final = ("content", "calls")
_SAID_IN_REQUEST: Final = ("id", "name", "arguments")
_SAID_IN_DEFINITION: Final = {"name": str, "description": str, "parameters": dict}


class Message(NamedTuple):
    """A message of ours, read back.

    Attributes:
        turn_index: Of the turn.
        turn: The turn's document, without calls.
        requests: Documents of its calls in the order requested; one with an ``index`` was never
            executed and stands at this place among the trace's calls.
    """

    turn_index: int
    turn: dict[str, Any]
    requests: list[dict[str, Any]]


def message_json(turn: Turn, *, placed: bool) -> dict[str, Json]:
    """Return a turn as a message.

    Args:
        turn: Any turn. Its calls become ``tool_call`` parts, except executed ones that nobody
            requested.
        placed: The turn is complete: a call without result was never executed, and its index is
            final. False while the run goes on.
    """
    parts = [
        *(part_json(plain(part)) for part in turn.content),
        *(
            _request_json(plain(call), is_asked=call.result is None, placed=placed)
            for call in turn.calls
            if call.result is None or _asked(call)
        ),
    ]
    return _message(plain(turn, without=_IN_PARTS), parts)


def message_of(document: Mapping[str, Any]) -> dict[str, Json]:
    """Return a turn of a run that goes on as a message: the same as `message_json` would.

    Args:
        document: Of the turn, as `plain` writes it, with its content and calls. Nobody has
            carried out the calls yet.
    """
    parts = [
        *map(part_json, document["content"]),
        *(_request_json(call, is_asked=True, placed=False) for call in document["calls"]),
    ]
    return _message(document, parts)


def _message(document: Mapping[str, Any], parts: list[dict[str, Json]]) -> dict[str, Json]:
    message: dict[str, Json] = {"role": document["role"], "parts": parts}
    for key in ("name", "finish_reason"):
        if key in document:
            message[key] = document[key]
    message[OURS] = {k: v for k, v in document.items() if k not in _SAID_ELSEWHERE}
    return message


def messages_text(turns: Iterable[Turn], *, placed: bool) -> str:
    """Return turns as the JSON of a list of messages.

    Args:
        turns: Any turns.
        placed: See `message_json`.
    """
    return json_text([message_json(turn, placed=placed) for turn in turns])


def own_message(message: Json) -> Message | None:
    """Read a message that `message_json` wrote; None for any other."""
    ours = message.get(OURS) if isinstance(message, dict) else None
    if not isinstance(ours, dict) or type(ours.get("index")) is not int:
        return None
    turn: dict[str, Any] = {"role": message.get("role"), **ours}
    for key in ("name", "finish_reason"):
        if key in message:
            turn[key] = message[key]
    parts = [part for part in message.get("parts") or () if isinstance(part, dict)]
    content = [read_part(part) for part in parts if not is_call(part) and not is_response(part)]
    turn["content"] = [part for part in content if part is not None]
    return Message(ours["index"], turn, [_read_request(part) for part in parts if is_call(part)])


def tool_definitions(tools: Iterable[ToolDefinition]) -> list[Json]:
    """Return tool definitions as the conventions' JSON."""
    found: list[Json] = []
    for tool in tools:
        document = plain(tool)
        rest = {k: v for k, v in document.items() if k not in _SAID_IN_DEFINITION}
        known = {k: v for k, v in document.items() if k in _SAID_IN_DEFINITION}
        found.append({"type": "function", **known, **({OURS: rest} if rest else {})})
    return found


def read_definitions(definitions: Json, *, ours: bool) -> list[dict[str, Any]]:
    """Return the documents of tool definitions; entries that name no tool are left out.

    Args:
        definitions: As the conventions have them, or as OpenAI does.
        ours: Whether we wrote them, so that our own facts in them count.
    """
    found: list[dict[str, Any]] = []
    for item in definitions if isinstance(definitions, list) else ():
        if not isinstance(item, dict):
            continue
        body = item["function"] if isinstance(item.get("function"), dict) else item
        if not isinstance(body.get("name"), str):
            continue
        known = {
            k: body[k] for k, kind in _SAID_IN_DEFINITION.items() if isinstance(body.get(k), kind)
        }
        beside = item.get(OURS) if ours else None
        found.append(known | (beside if isinstance(beside, dict) else {}))
    return found


def instructions_text(instructions: Json) -> str | None:
    """Return the text of system instructions, parts joined by empty lines; None when none."""
    if isinstance(instructions, str):
        return instructions
    parts = instructions if isinstance(instructions, list) else [instructions]
    texts = [
        part["content"]
        for part in parts
        if isinstance(part, dict) and isinstance(part.get("content"), str)
    ]
    return "\n\n".join(texts) if texts else None


def _asked(call: Call) -> bool:
    """Whether a message, not the program, asked for the call."""
    return call.bound_by != "synthetic" and call.requested_by != "tool"


def _request_json(call: dict[str, Json], *, is_asked: bool, placed: bool) -> dict[str, Json]:
    part: dict[str, Json] = {"type": "tool_call"}
    part.update((key, call[key]) for key in _SAID_IN_REQUEST if key in call)
    if is_asked:
        rest = {k: v for k, v in call.items() if k not in _SAID_IN_REQUEST}
        if not placed:
            del rest["index"]
        if rest:
            part[OURS] = rest
    return part


def _read_request(part: dict[str, Any]) -> dict[str, Any]:
    ours = part.get(OURS)
    found = {k: v for k, v in part.items() if k in _SAID_IN_REQUEST}
    return found | (ours if isinstance(ours, dict) else {})

"""The course of a conversation, worked out from model calls that each repeat what came before."""

from __future__ import annotations

import hashlib
from typing import Any, Final

from tracedance_sdk.otel.asked import (
    Asked,
    Said,
    answer,
    open_call,
    open_request,
    read_arguments,
)
from tracedance_sdk.otel.messages import json_text
from tracedance_sdk.otel.names import OURS
from tracedance_sdk.otel.parts import is_call, is_response, read_part
from tracedance_sdk.otel.values import Values
from tracedance_sdk.trace import UNKNOWN, Json

_ORIGINS: Final = {"assistant": "agent", "system": "harness", "user": "human"}
_ROLES: Final = {"assistant": "assistant", "model": "assistant", "ai": "assistant"} | {
    "system": "system",
    "developer": "system",
}
_ARGUMENT_KEYS: Final = ("arguments", "server_tool_call")
_RESPONSE_KEYS: Final = ("response", "result", "server_tool_call_response")

_Likeness = tuple[str, str, tuple[str, ...]]


class Conversation:
    """Turns in order, each taken once however often it is repeated.

    Args:
        seed: Makes ids for calls that have none: equal seeds, equal ids.
        values: Resolves large values.

    Attributes:
        said: The turns so far.
        system_prompt: A system message that opened the conversation.
        rewritten: How many messages did not continue what was heard before.
        recovered: Calls whose result only a message brought.
        unclaimed: Results in messages that belong to no call.
    """

    def __init__(self, seed: str, values: Values) -> None:
        self.said: list[Said] = []
        self.system_prompt: str | None = None
        self.rewritten = 0
        self.recovered: list[Asked] = []
        self.unclaimed = 0
        self._seed = seed
        self._values = values
        self._heard: list[_Likeness] = []
        self._silent: Said | None = None
        self._executed = 0

    def hear(self, messages: Json) -> None:
        """Take the messages a model was given, those not heard before."""
        place = 0
        for message in _messages(messages):
            like = _likeness(message)
            try:
                place = self._heard.index(like, place) + 1
                continue
            except ValueError:
                self.rewritten += place < len(self._heard)
            self._heard.append(like)
            place = len(self._heard)
            self._take(message)

    def reply(self, messages: Json, facts: dict[str, Any]) -> None:
        """Take what a model said.

        Args:
            messages: Its messages; of several choices the first counts.
            facts: Fields of the turn that stand beside the message.
        """
        said = Said({"role": "assistant", "origin": "agent", **facts})
        self.said.append(said)
        choices = _messages(messages)[:1]
        self._silent = None if choices else said
        for message in choices:
            self._heard.append(_likeness(message))
            self._fill(said, message)

    def conclude(self, messages: Json) -> None:
        """Take what the run as a whole said, if no model call said it before."""
        for message in _messages(messages)[-1:]:
            if _likeness(message) in self._heard:
                return
            if self._silent is None:
                self.reply([message], {})
            else:
                self._fill(self._silent, message)

    def execute(self, call: dict[str, Any]) -> None:
        """Take a call that was executed; it answers a request, or nobody asked for it."""
        order, self._executed = self._executed, self._executed + 1
        nested = call.get("requested_by") == "tool"
        asked = None if nested else open_request(self.said, call)
        if asked is None:
            asked = Asked({"id": self._new_id(f"executed {order}"), **_present(call)})
            if not nested:
                asked.call["bound_by"] = "synthetic"
            self._open().calls.append(asked)
        else:
            asked.call.update(_present({**call, "id": None}))
        asked.order = order

    def documents(self) -> list[dict[str, Any]]:
        """Return the turns' documents."""
        found: list[dict[str, Any]] = []
        calls = 0
        for said in self.said:
            found.append(said.document(len(found), calls))
            calls += len(said.calls)
        return found

    def _take(self, message: dict[str, Any]) -> None:
        role = _ROLES.get(str(message.get("role")), "user")
        for part in _parts(message):
            if is_response(part):
                self._answer(part)
        content = self._content(message)
        if role == "system" and not self.said and self.system_prompt is None:
            texts = [part["text"] for part in content if part["type"] == "text"]
            if len(texts) == len(content):
                self.system_prompt = "\n\n".join(texts)
                return
        if role == "assistant" and self._silent is not None:
            said, self._silent = self._silent, None
            self._fill(said, message)
        elif content or any(is_call(part) for part in _parts(message)):
            said = Said({"role": role, "origin": _ORIGINS[role]})
            self.said.append(said)
            self._fill(said, message)

    def _fill(self, said: Said, message: dict[str, Any]) -> None:
        said.turn["content"] = self._content(message)
        for key in ("name", "finish_reason"):
            if isinstance(message.get(key), str):
                said.turn.setdefault(key, message[key])
        for part in _parts(message):
            if is_call(part):
                self._ask(said, part)
            elif is_response(part) and said.turn["role"] == "assistant":
                self._answer(part)

    def _ask(self, said: Said, part: dict[str, Any]) -> None:
        given = part.get("id")
        arguments = next((part[key] for key in _ARGUMENT_KEYS if key in part), UNKNOWN)
        call = {
            "id": given
            if isinstance(given, str) and given
            else self._new_id(f"asked {len(said.calls)}"),
            "name": str(part.get("name") or ""),
            **read_arguments(self._values.resolved(arguments)),
        }
        said.calls.append(Asked(call, invented=call["id"] != given))

    def _answer(self, part: dict[str, Any]) -> None:
        asked = open_call(self.said, part.get("id"))
        content = next((part[key] for key in _RESPONSE_KEYS if key in part), None)
        if asked is None:
            self.unclaimed += 1
        elif answer(asked, self._values.resolved(content)):
            self.recovered.append(asked)

    def _content(self, message: dict[str, Any]) -> list[dict[str, Any]]:
        parts = [part for part in _parts(message) if not is_call(part) and not is_response(part)]
        read = (read_part(part) for part in parts)
        return [self._values.resolved_part(part) for part in read if part is not None]

    def _open(self) -> Said:
        if not self.said or self.said[-1].turn["role"] != "assistant":
            synthetic = {"role": "assistant", "origin": "agent", "synthetic": True}
            self.said.append(Said(synthetic))
        return self.said[-1]

    def _new_id(self, what: str) -> str:
        text = f"{self._seed} {len(self.said)} {what}"
        return f"call_{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def _present(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _messages(messages: Json) -> list[dict[str, Any]]:
    if isinstance(messages, str) and messages:
        return [{"role": "user", "parts": [{"type": "text", "content": messages}]}]
    listed = [messages] if isinstance(messages, dict) else messages
    return [m for m in listed if isinstance(m, dict)] if isinstance(listed, list) else []


def _parts(message: dict[str, Any]) -> list[dict[str, Any]]:
    parts = message.get("parts")
    if parts is None:
        parts = message.get("content")
    if isinstance(parts, str):
        parts = [{"type": "text", "content": parts}]
    if not isinstance(parts, list):
        return []
    # What a foreign message has under our key means nothing to us.
    return [{k: v for k, v in p.items() if k != OURS} for p in parts if isinstance(p, dict)]


def _likeness(message: dict[str, Any]) -> _Likeness:
    """Return what a message has in common with its repetition in a later request.

    Reasoning, ids of messages and the form of arguments differ between the two.
    """
    role = _ROLES.get(str(message.get("role")), "user")
    texts: list[str] = []
    tools: list[str] = []
    for part in _parts(message):
        if is_call(part):
            tools.append(str(part.get("name")))
        elif is_response(part):
            content = next((part[key] for key in _RESPONSE_KEYS if key in part), None)
            tools.append(str(part.get("id") or json_text(content)))
        elif part.get("type") == "text":
            texts.append(str(part.get("content")).strip())
        elif part.get("type") != "reasoning":
            texts.append(json_text(part))
    return role, "\n".join(texts), tuple(tools)

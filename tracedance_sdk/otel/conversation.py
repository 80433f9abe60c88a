"""The course of a conversation, worked out from model calls that each repeat what came before."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, Final

from tracedance_sdk.formats import Message, SeenCall, SeenResult
from tracedance_sdk.otel.asked import Asked, Requests, Said, answer, read_arguments
from tracedance_sdk.otel.dialects.spoken import is_redacted
from tracedance_sdk.otel.messages import json_text
from tracedance_sdk.otel.values import Values
from tracedance_sdk.trace import UNKNOWN, Json

_TURNS: Final = {
    "assistant": ("assistant", "agent"),
    "system": ("system", "harness"),
    "user": ("user", "human"),
    "tool": ("user", "environment"),
}
_SHORT: Final = 64

Unit = tuple[str, str]
"""What a piece of a message has in common with its repetition: reasoning, ids and the form of
arguments differ between the two."""


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
        redacted: Messages whose words were switched off.
    """

    def __init__(self, seed: str, values: Values) -> None:
        self.said: list[Said] = []
        self.system_prompt: str | None = None
        self.rewritten = 0
        self.recovered: list[Asked] = []
        self.unclaimed = 0
        self.redacted = 0
        self._seed = seed
        self._values = values
        self._requests = Requests()
        self._heard = 0
        self._places: dict[Unit, list[int]] = {}
        self._silent: Said | None = None
        self._executed = 0

    def hear(self, messages: Sequence[Message]) -> None:
        """Take the messages a model was given, those not heard before."""
        place = 0
        for message in messages:
            new: list[Any] = []
            units: list[Unit] = []
            for piece in message.pieces:
                unit = _unit(message, piece)
                found = None if unit is None else self._next(unit, place)
                if found is not None:
                    place = found + 1
                    continue
                new.append(piece)
                if unit is not None:
                    units.append(unit)
            if units:
                self.rewritten += place < self._heard
                self._remember(units)
                place = self._heard
                self._take(message._replace(pieces=tuple(new)))

    def reply(self, messages: Sequence[Message], facts: dict[str, Any]) -> Said:
        """Take what a model said.

        Args:
            messages: Its messages; of several choices the first counts.
            facts: Fields of the turn that stand beside the message.
        """
        said = self._open_turn({"role": "assistant", "origin": "agent", **facts})
        choices = messages[:1]
        self._silent = None if choices else said
        for message in choices:
            self._remember([u for p in message.pieces if (u := _unit(message, p)) is not None])
            self._fill(said, message)
        return said

    def conclude(self, messages: Sequence[Message], facts: dict[str, Any]) -> None:
        """Take the words of a run as a whole, of which no model call told.

        Args:
            messages: What it said, in order.
            facts: Fields of its turn, where it is one.
        """
        new = [m for m in messages if not self._knows(m)]
        for message in new:
            if self._silent is not None:
                said, self._silent = self._silent, None
                self._fill(said, message)
                said.turn.update({k: v for k, v in facts.items() if k not in said.turn})
            else:
                self.reply([message], facts)

    def execute(self, call: dict[str, Any]) -> Asked:
        """Take a call that was executed; it answers a request, or nobody asked for it."""
        order, self._executed = self._executed, self._executed + 1
        nested = call.get("requested_by") == "tool"
        asked = None if nested else self._requests.executed(call)
        if asked is None:
            asked = Asked({"id": self._new_id(f"executed {order}"), **_present(call)}, order=order)
            if not nested:
                asked.call["bound_by"] = "synthetic"
            self._requests.add(self._open(), asked)
        else:
            given = asked.call.get("arguments", UNKNOWN)
            asked.call.update(_present({**call, "id": None}))
            if given is not UNKNOWN and _is_positional(call.get("arguments")):
                # The same by place instead of by name, as decorators record it.
                asked.call["arguments"] = given
                asked.call["otel"]["executed_with"] = call["arguments"]
        asked.order = order
        return asked

    def documents(self) -> list[dict[str, Any]]:
        """Return the turns' documents."""
        found: list[dict[str, Any]] = []
        calls = 0
        for said in self.said:
            found.append(said.document(len(found), calls))
            calls += len(said.calls)
        return found

    def _next(self, unit: Unit, place: int) -> int | None:
        places = self._places.get(unit)
        at = 0 if places is None else bisect_left(places, place)
        return None if places is None or at == len(places) else places[at]

    def _remember(self, units: Sequence[Unit]) -> None:
        for unit in units:
            self._places.setdefault(unit, []).append(self._heard)
            self._heard += 1

    def _knows(self, message: Message) -> bool:
        units = [u for piece in message.pieces if (u := _unit(message, piece)) is not None]
        return all(unit in self._places for unit in units)

    def _take(self, message: Message) -> None:
        if message.speaker != "assistant":
            for result in message.results:
                self._answer(result)
        parts = self._content(message)
        if message.speaker == "system" and not self.said and self.system_prompt is None:
            texts = [part["text"] for part in parts if part["type"] == "text"]
            if texts and len(texts) == len(parts):
                self.system_prompt = "\n\n".join(texts)
                return
        if message.speaker == "assistant" and self._silent is not None:
            said, self._silent = self._silent, None
            self._fill(said, message)
        elif parts or message.calls or (message.speaker == "assistant" and message.results):
            role, origin = _TURNS[message.speaker]
            self._fill(self._open_turn({"role": role, "origin": origin}), message)

    def _fill(self, said: Said, message: Message) -> None:
        said.turn["content"] = [*said.turn.get("content", ()), *self._content(message)]
        if message.name:
            said.turn.setdefault("name", message.name)
        reason = (message.extra or {}).get("finish_reason")
        if isinstance(reason, str) and reason:
            said.turn["finish_reason"] = reason
        for piece in message.pieces:
            if isinstance(piece, SeenCall):
                self._ask(said, piece)
            elif isinstance(piece, SeenResult) and message.speaker == "assistant":
                self._answer(piece)

    def _ask(self, said: Said, seen: SeenCall) -> None:
        call_id = seen.id or self._new_id(f"asked {len(said.calls)}")
        arguments = seen.text if seen.text is not None else seen.arguments
        call = {
            "id": call_id,
            "name": seen.name,
            **read_arguments(self._values.resolved(arguments)),
            **({"otel": seen.extra} if seen.extra else {}),
        }
        self._requests.add(said, Asked(call, invented=seen.id is None))

    def _answer(self, seen: SeenResult) -> None:
        asked = self._requests.answered(seen.call_id, seen.name)
        if asked is None:
            self.unclaimed += 1
            return
        result: dict[str, Json] = {"ok": seen.ok}
        if seen.content is not UNKNOWN:
            result["content"] = self._values.resolved(seen.content)
        if seen.error is not None:
            result["error"] = seen.error
        if answer(asked, result):
            self.recovered.append(asked)

    def _content(self, message: Message) -> list[dict[str, Any]]:
        if is_redacted(message):
            self.redacted += 1
            return []
        return [self._values.resolved_part(part) for part in message.parts]

    def _open(self) -> Said:
        if not self.said or self.said[-1].turn["role"] != "assistant":
            self._open_turn({"role": "assistant", "origin": "agent", "synthetic": True})
        return self.said[-1]

    def _open_turn(self, turn: dict[str, Any]) -> Said:
        said = Said(turn)
        self.said.append(said)
        self._requests.opened(said)
        return said

    def _new_id(self, what: str) -> str:
        text = f"{self._seed} {len(self.said)} {what}"
        return f"call_{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def _is_positional(arguments: Json) -> bool:
    return isinstance(arguments, dict) and arguments.keys() == {"args", "kwargs"}


def _present(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _unit(message: Message, piece: Any) -> Unit | None:
    if isinstance(piece, SeenCall):
        return "call", piece.name
    if isinstance(piece, SeenResult):
        return "result", piece.call_id or _brief(json_text(_plain(piece.content)))
    if piece["type"] == "reasoning":
        return None
    if piece["type"] == "text":
        return message.speaker, _brief(piece["text"].strip())
    return message.speaker, _brief(json_text(piece))


def _plain(value: Json) -> Json:
    return None if value is UNKNOWN else value


def _brief(text: str) -> str:
    """Return short text, or the digest of a longer one, so that long histories stay small."""
    if len(text) <= _SHORT:
        return text
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()

"""The course of a conversation, worked out from model calls that each repeat what came before."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Final

from tracedance_sdk.formats import Heard, Message, SeenCall, SeenResult
from tracedance_sdk.otel.asked import Asked, Requests, Said, answer, read_arguments
from tracedance_sdk.otel.dialects.spoken import RECAP, is_recap, is_redacted
from tracedance_sdk.otel.values import Values
from tracedance_sdk.trace import UNKNOWN, Json

_TURNS: Final = {
    "assistant": ("assistant", "agent"),
    "system": ("system", "harness"),
    "user": ("user", "human"),
    "tool": ("user", "environment"),
}


class Conversation:
    """Turns in order, each taken once however often it is repeated.

    Args:
        seed: Makes ids for calls that have none: equal seeds, equal ids.
        values: Resolves large values.

    Attributes:
        said: The turns so far.
        system_prompt: A system message that opened the conversation.
        recovered: Calls whose result only a message brought.
        unclaimed: Results in messages that belong to no call.
        redacted: Messages whose words were switched off.
    """

    def __init__(self, seed: str, values: Values) -> None:
        self.said: list[Said] = []
        self.system_prompt: str | None = None
        self.recovered: list[Asked] = []
        self.unclaimed = 0
        self.redacted = 0
        self._seed = seed
        self._values = values
        self._requests = Requests()
        self._heard = Heard()
        self._silent: Said | None = None
        self._executed = 0

    @property
    def rewritten(self) -> int:
        """How many messages did not continue what was heard before."""
        return self._heard.rewritten

    def look_back(self) -> None:
        """Let calls without an id answer requests of any turn: all is told before they are."""
        self._requests.looks_back = True

    def unexecuted(self) -> list[Asked]:
        """Return the requests that nothing is known to have executed."""
        return [asked for said in self.said for asked in said.calls if asked.order is None]

    def hear(self, messages: Sequence[Message]) -> None:
        """Take the messages a model was given, those not heard before."""
        for message in self._heard.new_in(messages):
            self._take(message)

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
            self._heard.remember(message)
            self._fill(said, message)
        return said

    def conclude(self, messages: Sequence[Message], facts: dict[str, Any]) -> None:
        """Take the words of a run as a whole, of which no model call told.

        Args:
            messages: What it said, in order.
            facts: Fields of its turn, where it is one.
        """
        new = [m for m in messages if not self._heard.knows(m)]
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
            # Under the name that the model was told, where the tool itself has another.
            asked.call.update(_present({**call, "id": None, "name": None}))
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

    def _take(self, message: Message) -> None:
        if message.speaker != "assistant":
            for result in message.results:
                self._answer(result)
        parts = self._content(message)
        if message.speaker == "tool" and parts and self._brings(parts):
            return
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
            turn = {"role": role, "origin": origin}
            if origin == "human" and is_recap(message):
                turn |= {"origin": "harness", "origin_rule": RECAP}
            self._fill(self._open_turn(turn), message)

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
        self._answer_with(asked, result)

    def _answer_with(self, asked: Asked, result: dict[str, Json]) -> None:
        if answer(asked, result):
            self.recovered.append(asked)

    def _brings(self, parts: list[dict[str, Any]]) -> bool:
        """Take words of the environment as a call's result, where only one can be meant."""
        asked = self._requests.only_open()
        if asked is None or any(part["type"] != "text" for part in parts):
            return False
        self._answer_with(asked, {"ok": None, "content": "\n".join(p["text"] for p in parts)})
        return True

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

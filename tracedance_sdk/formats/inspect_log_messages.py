"""The messages of an Inspect sample as turns and calls."""

from __future__ import annotations

from typing import Any, Final

from tracedance_sdk.errors import shown
from tracedance_sdk.formats.inspect_log_events import Events, call_fields, turn_fields
from tracedance_sdk.formats.message_pieces import SeenCall, ask
from tracedance_sdk.formats.piece_shapes import read_call, read_pieces, result_content
from tracedance_sdk.formats.places import Misfit, expect, field, optional
from tracedance_sdk.formats.transcript import Transcript
from tracedance_sdk.trace import Json, Origin, Role

KEPT: Final = "inspect"
"""The field of turns, calls and results under which Inspect's own further fields stand."""

_TURN: Final = frozenset({"id", "role", "content", "tool_calls", "model", "source"})
_RESULT: Final = frozenset({"role", "content", "tool_call_id", "function", "error", "id"})
_SOURCES: Final[dict[str, Origin]] = {"input": "human", "operator": "human", "generate": "agent"}
_NOTHING: Final[tuple[Json, ...]] = (None, [], {})


def tell_messages(log: Transcript, messages: list[Json], events: Events) -> str | None:
    """Add a sample's messages to a transcript.

    Args:
        log: Where they are told.
        messages: Of the sample, attachments resolved.
        events: What is known beside them.

    Returns:
        The system prompt: the first message, where it is the system's plain text.

    Raises:
        Misfit: A message that is none.
    """
    teller = _Teller(log, messages, events)
    for index, message in enumerate(messages):
        try:
            teller.tell(index, expect(message, dict))
        except Misfit as misfit:
            raise misfit.below(index) from None
    return teller.system_prompt


class _Teller:
    def __init__(self, log: Transcript, messages: list[Json], events: Events) -> None:
        self._log = log
        self._events = events
        self._marks_input = any(
            isinstance(item, dict) and item.get("source") == "input" for item in messages
        )
        self.system_prompt: str | None = None

    def tell(self, index: int, message: dict[str, Any]) -> None:
        role = field(message, "role", str)
        if role == "tool":
            self._answer(message)
        elif role == "assistant":
            self._reply(message)
        elif role == "user":
            self._say(message, "user", self._author(message))
        elif role != "system":
            raise Misfit(f"role {shown(role)} is none of system, user, assistant, tool", "role")
        elif index == 0 and isinstance(message.get("content"), str) and message["content"]:
            self.system_prompt = message["content"]
        else:
            self._say(message, "system", "harness")

    def _author(self, message: dict[str, Any]) -> Origin:
        """Return who wrote a user's message: a solver, where others are marked as the input."""
        source = message.get("source")
        if isinstance(source, str) and source in _SOURCES:
            return _SOURCES[source]
        return "harness" if self._marks_input else "human"

    def _say(self, message: dict[str, Any], role: Role, origin: Origin, **fields: Any) -> None:
        pieces = read_pieces(message.get("content"))
        parts = [piece for piece in pieces if isinstance(piece, dict)]
        self._log.say(role, parts, origin=origin, **fields, **_kept(message, _TURN))
        for piece in pieces:
            if isinstance(piece, SeenCall):
                self._hosted(piece)

    def _hosted(self, call: SeenCall) -> None:
        """Add a call that the model's provider carried out, its result beside it."""
        extra = dict(call.extra or {})
        result, error = extra.pop("result", None), extra.pop("error", None)
        ask(self._log, call._replace(extra=extra or None), keep_as=KEPT)
        told = _error({"type": "error", "message": error}) if isinstance(error, str) else None
        self._log.answer(call.id, content=result, ok=told is None, error=told)

    def _reply(self, message: dict[str, Any]) -> None:
        event = self._events.of_message(message)
        known = {} if event is None else turn_fields(event)
        beside = known.pop("event", None)
        if isinstance(message.get("model"), str):
            known["model"] = message["model"]
        self._say(message, "assistant", "agent", **known)
        if beside:
            turn = self._log.turns[-1]
            turn[KEPT] = {**turn.get(KEPT, {}), **beside}
        calls = optional(message, "tool_calls", list) or ()
        for index, entry in enumerate(calls):
            call = read_call(entry)
            if call is None:
                raise Misfit(f"expected a call, got {shown(entry)}", "tool_calls", index)
            self._ask(call)

    def _ask(self, call: SeenCall) -> None:
        extra = dict(call.extra or {})
        event = self._events.of_call(call.id)
        known = {} if event is None else call_fields(event)
        beside = known.pop("event", None)
        extra.update({"event": beside} if beside else {})
        ask(self._log, call._replace(extra=extra or None), keep_as=KEPT, **known)

    def _answer(self, message: dict[str, Any]) -> None:
        told = optional(message, "error", dict)
        self._log.answer(
            optional(message, "tool_call_id", str),
            name=optional(message, "function", str),
            content=result_content(message.get("content")),
            ok=told is None,
            error=None if told is None else _error(told),
            **_kept(message, _RESULT),
        )


def _error(told: dict[str, Any]) -> dict[str, Any]:
    kind, message = told.get("type") or "error", told.get("message")
    return {**told, "type": str(kind), "message": "" if message is None else str(message)}


def _kept(message: dict[str, Any], said: frozenset[str]) -> dict[str, Any]:
    rest = {k: v for k, v in message.items() if k not in said and v not in _NOTHING}
    if isinstance(message.get("id"), str):
        rest["id"] = message["id"]
    return {KEPT: rest} if rest else {}

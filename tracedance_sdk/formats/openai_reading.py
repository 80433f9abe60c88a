"""Chat-completions messages as turns: who speaks, and which result answers which call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from tracedance_sdk.formats.leftovers import leftover
from tracedance_sdk.formats.openai_parts import parts_from_content
from tracedance_sdk.formats.openai_tools import KEPT, RequestedCall, requests_from_message
from tracedance_sdk.formats.openai_writing import plain_answer, plain_message
from tracedance_sdk.formats.places import Place, shown
from tracedance_sdk.trace import (
    UNKNOWN,
    Call,
    Json,
    Note,
    Origin,
    Part,
    Reasoning,
    Result,
    Role,
    Turn,
    note,
)

_ROLES: dict[str, tuple[Role, Origin]] = {
    "system": ("system", "harness"),
    "developer": ("system", "harness"),
    "user": ("user", "human"),
    "assistant": ("assistant", "agent"),
}


class Conversation(NamedTuple):
    """What a list of messages says.

    Attributes:
        system_prompt: The leading system message, where it is plain text.
        turns: Every other message, results inside the calls they answer.
        style: What `write_messages` needs to write the same messages; None when nothing.
        notes: What was found missing while reading.
    """

    system_prompt: str | None
    turns: tuple[Turn, ...]
    style: dict[str, Json] | None
    notes: tuple[Note, ...]


def read_messages(messages: Json, *, where: str = "messages", path: str = "$") -> Conversation:
    """Read chat-completions messages.

    Args:
        messages: The parsed list.
        where: What it is, for messages of errors.
        path: Where in that document the list stands.

    Raises:
        InvalidTrace: No list, or a message that breaks the format, as ``what @ $[3].role``.
    """
    place = Place(where, path)
    entries = place.expect(messages, list)
    reader = _Reader()
    for index, entry in enumerate(entries):
        reader.read(index, entry, place.at(index))
    return reader.finish()


class _Pending:
    """A call being read, until its answer has come or the messages end."""

    __slots__ = ("answer", "at", "bound_by", "request", "requested")

    def __init__(self, request: RequestedCall, *, requested: bool = True) -> None:
        self.request = request
        self.requested = requested
        self.answer: dict[str, Any] | None = None
        self.at: int | None = None
        self.bound_by: Literal["id", "order", "synthetic"] | None = None


class _Draft:
    """A turn being read; `message` is None for a turn that only results speak of."""

    __slots__ = ("answered", "calls", "message", "parts", "role")

    def __init__(self, role: str, message: dict[str, Any] | None, parts: list[Part]) -> None:
        self.role = role
        self.message = message
        self.parts = parts
        self.calls: list[_Pending] = []
        self.answered = -1
        """Position of the last call answered in order, directly after this turn."""


class _Reader:
    def __init__(self) -> None:
        self._drafts: list[_Draft] = []
        self._open: dict[str, list[tuple[_Draft, _Pending]]] = {}
        self._count = 0
        self._orphans = 0
        self._system_prompt: str | None = None
        self._style: dict[str, Json] = {}

    def read(self, index: int, entry: Json, place: Place) -> None:
        message = place.expect(entry, dict)
        role = place.field(message, "role", str)
        if role in ("tool", "function"):
            self._answer(index, message, place)
        elif role not in _ROLES:
            known = "system, developer, user, assistant, tool, function"
            raise place.at("role").invalid(f"unknown role {shown(role)}; known are {known}")
        elif index == 0 and role in ("system", "developer") and _is_plain(message):
            self._system_prompt = message["content"]
            if role != "system":
                self._style["system_role"] = role
        else:
            self._open_turn(role, message, place)

    def _open_turn(self, role: str, message: dict[str, Any], place: Place) -> None:
        place.optional(message, "name", str)
        parts = parts_from_content(message.get("content"), place.at("content"))
        draft = _Draft(role, message, parts)
        self._drafts.append(draft)
        if role != "assistant":
            return
        for key in ("reasoning_content", "reasoning"):
            if isinstance(message.get(key), str) and message[key]:
                parts.insert(0, Reasoning(text=message[key]))
                break
        if not parts and isinstance(message.get("refusal"), str):
            parts += parts_from_content([{"type": "refusal", **message}], place)
        for request in requests_from_message(message, place):
            self._expect(draft, _Pending(request))

    def _expect(self, draft: _Draft, pending: _Pending) -> None:
        if not pending.request.id:
            pending.request = pending.request._replace(id=f"call_{self._count}")
        self._count += 1
        draft.calls.append(pending)
        if pending.requested:
            self._open.setdefault(pending.request.id, []).append((draft, pending))

    def _answer(self, index: int, message: dict[str, Any], place: Place) -> None:
        call_id = place.optional(message, "tool_call_id", str)
        name = place.optional(message, "name", str)
        found = self._asked(call_id) if call_id else self._asked_last(name)
        if found is None:
            found = self._orphan(call_id, name)
        draft, pending = found
        pending.answer = message
        position = draft.calls.index(pending)
        if draft is self._drafts[-1] and position > draft.answered:
            draft.answered = position
        else:
            pending.at = index

    def _asked(self, call_id: str) -> tuple[_Draft, _Pending] | None:
        """Return the first unanswered call of this id in the latest turn that holds one."""
        waiting = self._open.get(call_id)
        if not waiting:
            return None
        latest = waiting[-1][0]
        place = next(i for i, (draft, _) in enumerate(waiting) if draft is latest)
        draft, pending = waiting.pop(place)
        pending.bound_by = "id"
        return draft, pending

    def _asked_last(self, name: str | None) -> tuple[_Draft, _Pending] | None:
        """Return the first unanswered call, of this name if given, of the last turn with calls."""
        draft = next((item for item in reversed(self._drafts) if item.calls), None)
        if draft is None:
            return None
        for pending in draft.calls:
            if pending.answer is None and name in (None, pending.request.name):
                self._open[pending.request.id].remove((draft, pending))
                pending.bound_by = "order"
                return draft, pending
        return None

    def _orphan(self, call_id: str | None, name: str | None) -> tuple[_Draft, _Pending]:
        last = self._drafts[-1] if self._drafts else None
        if last is None or last.message is not None:
            last = _Draft("assistant", None, [])
            self._drafts.append(last)
        request = RequestedCall(call_id or "", name or "unknown", UNKNOWN, None)
        pending = _Pending(request, requested=False)
        pending.bound_by = "synthetic"
        self._expect(last, pending)
        self._orphans += 1
        return last, pending

    def finish(self) -> Conversation:
        answers = [
            (pending.answer.get("name"), pending.request.name)
            for draft in self._drafts
            for pending in draft.calls
            if pending.answer is not None
        ]
        if answers and all(given == name for given, name in answers):
            self._style["result_names"] = True
        notes = (note("request_missing", count=self._orphans),) if self._orphans else ()
        turns = tuple(self._turns())
        return Conversation(self._system_prompt, turns, self._style or None, notes)

    def _turns(self) -> Iterator[Turn]:
        first = 0
        for index, draft in enumerate(self._drafts):
            yield self._turn(index, draft, first)
            first += len(draft.calls)

    def _turn(self, index: int, draft: _Draft, first: int) -> Turn:
        role, origin = _ROLES[draft.role]
        with_name = "result_names" in self._style
        turn = Turn(
            index=index,
            role=role,
            origin=origin,
            content=tuple(draft.parts),
            calls=tuple(
                _call(first + position, pending, with_name=with_name)
                for position, pending in enumerate(draft.calls)
            ),
            name=draft.message.get("name") if draft.message else None,
            synthetic=draft.message is None,
        )
        if draft.message is None:
            return turn
        kept = leftover(plain_message(turn), draft.message)
        return turn.model_copy(update={KEPT: kept}) if kept else turn


def _call(index: int, pending: _Pending, *, with_name: bool) -> Call:
    request = pending.request
    call = Call(
        index=index,
        id=request.id,
        name=request.name,
        arguments=request.arguments,
        raw_arguments=request.raw_arguments,
        bound_by=pending.bound_by,
    )
    update: dict[str, Any] = {}
    if pending.answer is not None:
        update["result"] = _result(call, pending, with_name=with_name)
    if not pending.requested:
        update[KEPT] = {"unrequested": True}
    return call.model_copy(update=update) if update else call


def _result(call: Call, pending: _Pending, *, with_name: bool) -> Result:
    answer = pending.answer or {}
    result = Result(content=answer.get("content", UNKNOWN))
    kept = leftover(plain_answer(call, result, with_name=with_name), answer)
    if pending.at is not None:
        kept = {**(kept or {}), "at": pending.at}
    return result.model_copy(update={KEPT: kept}) if kept else result


def _is_plain(message: dict[str, Any]) -> bool:
    return message.keys() == {"role", "content"} and isinstance(message["content"], str)

"""Chat-completions messages as turns: who speaks, and which result answers which call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple

from pydantic import TypeAdapter

from tracedance_sdk.errors import shown
from tracedance_sdk.formats.leftovers import leftover, restored
from tracedance_sdk.formats.openai_parts import parts_from_content
from tracedance_sdk.formats.openai_tools import KEPT, RequestedCall, requests_from_message
from tracedance_sdk.formats.openai_writing import plain_answer, plain_message
from tracedance_sdk.formats.places import Misfit, Place, expect, field, optional
from tracedance_sdk.formats.turn_origins import attribute_turns
from tracedance_sdk.trace import (
    UNKNOWN,
    Call,
    Json,
    Note,
    Origin,
    Reasoning,
    Result,
    Role,
    Text,
    Turn,
    note,
)

_ROLES: Final[dict[str, tuple[Role, Origin]]] = {
    "system": ("system", "harness"),
    "developer": ("system", "harness"),
    "user": ("user", "human"),
    "assistant": ("assistant", "agent"),
}
_WITH_CALLS: Final = {"content", "tool_calls"}
_TURNS: Final = TypeAdapter(tuple[Turn, ...])


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


class ReadMessages(NamedTuple):
    """A `Conversation` whose turns are the fields of `Turn`, not yet checked."""

    system_prompt: str | None
    turns: list[dict[str, Any]]
    style: dict[str, Json] | None
    notes: tuple[Note, ...]


ResultMark = Callable[[Json], Mapping[str, Json]]
"""Reads more of `Result` (``ok``, ``error``) out of a result's content, by a source's habits."""


def read_messages(
    messages: Json,
    *,
    where: str = "messages",
    path: str = "$",
    mark: ResultMark | None = None,
    agent: str | None = None,
) -> Conversation:
    """Read chat-completions messages.

    Args:
        messages: The parsed list.
        where: What it is, for messages of errors.
        path: Where in that document the list stands.
        mark: What the source's results say beyond the format; None leaves success unknown.
        agent: Name of the client, for the rules on who wrote a user's message; without it those
            for any client are tried.

    Raises:
        InvalidTrace: No list, or a message that breaks the format, as ``what @ $[3].role``.
    """
    found = fields_of_turns(messages, Place(where, path), mark=mark, agent=agent)
    return Conversation(
        found.system_prompt, _TURNS.validate_python(found.turns), found.style, found.notes
    )


def fields_of_turns(
    messages: Json,
    place: Place,
    *,
    mark: ResultMark | None = None,
    agent: str | None = None,
    is_subagent: bool = False,
) -> ReadMessages:
    """Read messages as `read_messages` does, for a caller that checks the whole trace at once."""
    entries = place.expect(messages, list)
    reader = _Reader(mark)
    index = 0
    try:
        for index, entry in enumerate(entries):
            reader.read(index, entry)
    except Misfit as misfit:
        raise place.located(misfit.below(index)) from None
    found = reader.finish()
    for turn, content in attribute_turns(found.turns, agent=agent, is_subagent=is_subagent):
        # In parts, it would be written as parts: what it was is kept beside it.
        whole = plain_message(Turn.model_validate({**turn, "content": content}))
        original = restored(whole, turn.pop(KEPT, None))
        kept = leftover(plain_message(Turn.model_validate(turn)), original)
        if kept:
            turn[KEPT] = kept
    return found


class _Pending:
    """A call being read, until its answer has come or the messages end.

    Attributes:
        fields: Of the `Call`.
        turn: Index of its turn.
        position: Among the calls of its turn.
        answer: The message that answers it.
        at: Where that message stands, unless it follows its turn in the order of the calls.
    """

    __slots__ = ("answer", "at", "fields", "position", "turn")

    def __init__(self, fields: dict[str, Any], turn: int, position: int) -> None:
        self.fields = fields
        self.turn = turn
        self.position = position
        self.answer: dict[str, Any] | None = None
        self.at: int | None = None


class _Reader:
    def __init__(self, mark: ResultMark | None) -> None:
        self._mark = mark
        self._turns: list[dict[str, Any]] = []
        self._calls: list[_Pending] = []
        """Of the latest turn that has any."""
        self._open: dict[str, list[_Pending]] = {}
        self._answered: list[_Pending] = []
        self._in_order = -1
        """Position of the last call answered in order, directly after the last turn."""
        self._count = 0
        self._orphans = 0
        self._system_prompt: str | None = None
        self._style: dict[str, Json] = {}

    def read(self, index: int, entry: Json) -> None:
        message = entry if type(entry) is dict else expect(entry, dict)
        role = message.get("role")
        if type(role) is not str:
            role = field(message, "role", str)
        known = _ROLES.get(role)
        if known is not None and index and len(message) == 2 and role != "developer":
            content = message.get("content")
            if type(content) is str and content:
                self._add_turn(known, [{"type": "text", "text": content}])
                return
        if known is None:
            if role not in ("tool", "function"):
                names = ", ".join([*_ROLES, "tool", "function"])
                raise Misfit(f"role {shown(role)} is none of {names}", "role")
            self._answer(index, message)
        elif index == 0 and known[0] == "system" and _is_plain(message):
            self._system_prompt = message["content"]
            if role != "system":
                self._style["system_role"] = role
        else:
            self._open_turn(message, known)

    def _add_turn(self, who: tuple[Role, Origin], parts: list[Any]) -> dict[str, Any]:
        turn = {"index": len(self._turns), "role": who[0], "origin": who[1], "content": parts}
        self._turns.append(turn)
        self._in_order = -1
        return turn

    def _open_turn(self, message: dict[str, Any], who: tuple[Role, Origin]) -> None:
        content = message.get("content")
        is_text = isinstance(content, str) and content != ""
        parts: list[Any] = [{"type": "text", "text": content}] if is_text else []
        if not is_text and content is not None:
            parts = parts_from_content(content)
        name = optional(message, "name", str) if "name" in message else None
        requests: list[RequestedCall] = []
        if who[0] == "assistant":
            has_side_fields = len(message) != 3 or not message.keys() >= _WITH_CALLS
            if has_side_fields:
                _read_side_fields(message, parts)
            requests = requests_from_message(message)
        turn = self._add_turn(who, parts)
        if requests:
            self._expect(turn, requests)
        if not _is_common(message, requests, is_text=is_text):
            turn["name"] = name
            kept = leftover(plain_message(Turn.model_validate(turn)), message)
            if kept:
                turn[KEPT] = kept

    def _expect(self, turn: dict[str, Any], requests: list[RequestedCall]) -> None:
        """Give a turn the calls it asks for, which now wait for their answers."""
        number = turn["index"]
        self._calls = []
        for position, request in enumerate(requests):
            pending = self._pend(request, number, position)
            self._calls.append(pending)
            self._open.setdefault(pending.fields["id"], []).append(pending)
        turn["calls"] = [pending.fields for pending in self._calls]

    def _pend(self, request: RequestedCall, turn: int, position: int) -> _Pending:
        fields: dict[str, Any] = {
            "index": self._count,
            "id": request.id or f"call_{self._count}",
            "name": request.name,
            "arguments": request.arguments,
        }
        if request.raw_arguments is not None:
            fields["raw_arguments"] = request.raw_arguments
        self._count += 1
        return _Pending(fields, turn, position)

    def _answer(self, index: int, message: dict[str, Any]) -> None:
        call_id = message.get("tool_call_id")
        if type(call_id) is not str:
            call_id = optional(message, "tool_call_id", str)
        name = optional(message, "name", str) if "name" in message else None
        pending = self._asked(call_id) if call_id else self._asked_last(name)
        if pending is None:
            pending = self._orphan(call_id, name)
        pending.answer = message
        self._answered.append(pending)
        if pending.turn == len(self._turns) - 1 and pending.position > self._in_order:
            self._in_order = pending.position
        else:
            pending.at = index

    def _asked(self, call_id: str) -> _Pending | None:
        """Return the first unanswered call of this id in the latest turn that holds one."""
        waiting = self._open.get(call_id)
        if not waiting:
            return None
        place = len(waiting) - 1
        while place and waiting[place - 1].turn == waiting[-1].turn:
            place -= 1
        return _bound(waiting.pop(place), "id")

    def _asked_last(self, name: str | None) -> _Pending | None:
        """Return the first unanswered call, of this name if given, of the last turn with calls."""
        for pending in self._calls:
            if pending.answer is None and name in (None, pending.fields["name"]):
                self._open[pending.fields["id"]].remove(pending)
                return _bound(pending, "order")
        return None

    def _orphan(self, call_id: str | None, name: str | None) -> _Pending:
        """Return a call that is known from its result alone, in a turn made up for such."""
        last = self._turns[-1] if self._turns else None
        if last is None or "synthetic" not in last:
            last = self._add_turn(_ROLES["assistant"], [])
            last["calls"] = []
            last["synthetic"] = True
            self._calls = []
        request = RequestedCall(call_id or "", name or "unknown", UNKNOWN)
        pending = self._pend(request, last["index"], len(self._calls))
        pending.fields[KEPT] = {"unrequested": True}
        self._calls.append(pending)
        last["calls"].append(pending.fields)
        self._orphans += 1
        return _bound(pending, "synthetic")

    def finish(self) -> ReadMessages:
        with_name = bool(self._answered) and all(
            pending.answer.get("name") == pending.fields["name"]
            for pending in self._answered
            if pending.answer is not None
        )
        if with_name:
            self._style["result_names"] = True
        for pending in self._answered:
            if pending.answer is not None:
                pending.fields["result"] = self._result(pending, pending.answer, with_name)
        notes = (note("request_missing", count=self._orphans),) if self._orphans else ()
        return ReadMessages(self._system_prompt, self._turns, self._style or None, notes)

    def _result(self, pending: _Pending, answer: dict[str, Any], with_name: bool) -> dict[str, Any]:
        content = answer.get("content", UNKNOWN)
        fields: dict[str, Any] = {"content": content}
        if self._mark is not None:
            fields.update(self._mark(content))
        kept = None
        is_common = (
            len(answer) == (4 if with_name else 3)
            and isinstance(content, str)
            and answer["role"] == "tool"
            and answer.get("tool_call_id") == pending.fields["id"]
        )
        if not is_common:
            result = Result(content=content)
            plain = plain_answer(Call.model_validate(pending.fields), result, with_name=with_name)
            kept = leftover(plain, answer)
        if pending.at is not None:
            kept = {**(kept or {}), "at": pending.at}
        if kept:
            fields[KEPT] = kept
        return fields


def _bound(pending: _Pending, how: Literal["id", "order", "synthetic"]) -> _Pending:
    pending.fields["bound_by"] = how
    return pending


def _read_side_fields(message: dict[str, Any], parts: list[Any]) -> None:
    """Take reasoning and refusals that stand beside the content."""
    for key in ("reasoning_content", "reasoning"):
        if isinstance(message.get(key), str) and message[key]:
            parts.insert(0, Reasoning(text=message[key]))
            break
    refusal = message.get("refusal")
    if not parts and isinstance(refusal, str) and refusal:
        parts.append(Text.model_validate({"text": refusal, "refusal": True}))


def _is_common(message: dict[str, Any], requests: list[RequestedCall], *, is_text: bool) -> bool:
    """Whether writing the turn gives this very message."""
    content = message.get("content", "")
    if not is_text and not (requests and content is None):
        return False
    if message["role"] == "developer":
        return False
    if len(message) == 2:
        return not requests
    return (
        len(message) == 3
        and bool(message.get("tool_calls"))
        and all(request.is_common for request in requests)
    )


def _is_plain(message: dict[str, Any]) -> bool:
    return message.keys() == {"role", "content"} and isinstance(message["content"], str)

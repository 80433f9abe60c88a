"""Chat-completions messages as turns: who speaks, and which result answers which call."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal, NamedTuple

from pydantic import TypeAdapter

from tracedance_sdk.errors import shown
from tracedance_sdk.formats.leftovers import leftover
from tracedance_sdk.formats.openai_parts import parts_from_content
from tracedance_sdk.formats.openai_tools import KEPT, RequestedCall, requests_from_message
from tracedance_sdk.formats.openai_writing import plain_answer, plain_message
from tracedance_sdk.formats.places import Place
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


ResultMark = Callable[[Json], Mapping[str, Json]]
"""Reads more of `Result` (``ok``, ``error``) out of a result's content, by a source's habits."""


def read_messages(
    messages: Json, *, where: str = "messages", path: str = "$", mark: ResultMark | None = None
) -> Conversation:
    """Read chat-completions messages.

    Args:
        messages: The parsed list.
        where: What it is, for messages of errors.
        path: Where in that document the list stands.
        mark: What the source's results say beyond the format; None leaves success unknown.

    Raises:
        InvalidTrace: No list, or a message that breaks the format, as ``what @ $[3].role``.
    """
    place = Place(where, path)
    entries = place.expect(messages, list)
    reader = _Reader(mark)
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

    def __init__(
        self, role: str, message: dict[str, Any] | None, parts: list[Part | dict[str, str]]
    ) -> None:
        self.role = role
        self.message = message
        self.parts = parts
        self.calls: list[_Pending] = []
        self.answered = -1
        """Position of the last call answered in order, directly after this turn."""


class _Reader:
    def __init__(self, mark: ResultMark | None) -> None:
        self._mark = mark
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
            known = ", ".join([*_ROLES, "tool", "function"])
            raise place.at("role").invalid(f"role {shown(role)} is none of {known}")
        elif index == 0 and role in ("system", "developer") and _is_plain(message):
            self._system_prompt = message["content"]
            if role != "system":
                self._style["system_role"] = role
        else:
            self._open_turn(role, message, place)

    def _open_turn(self, role: str, message: dict[str, Any], place: Place) -> None:
        content = message.get("content")
        parts: list[Part | dict[str, str]] = []
        if isinstance(content, str) and content:
            parts.append({"type": "text", "text": content})
        else:
            parts.extend(parts_from_content(content, place))
        place.optional(message, "name", str)
        draft = _Draft(role, message, parts)
        self._drafts.append(draft)
        if role == "assistant":
            _read_side_fields(message, parts)
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
        request = RequestedCall(call_id or "", name or "unknown", UNKNOWN)
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
        turns = _TURNS.validate_python(list(self._turns()))
        return Conversation(self._system_prompt, turns, self._style or None, notes)

    def _turns(self) -> Iterator[dict[str, Any]]:
        first = 0
        for index, draft in enumerate(self._drafts):
            yield self._turn(index, draft, first)
            first += len(draft.calls)

    def _turn(self, index: int, draft: _Draft, first: int) -> dict[str, Any]:
        role, origin = _ROLES[draft.role]
        fields: dict[str, Any] = {
            "index": index,
            "role": role,
            "origin": origin,
            "content": draft.parts,
        }
        if draft.calls:
            fields["calls"] = [
                self._call(first + position, pending)
                for position, pending in enumerate(draft.calls)
            ]
        if draft.message is None:
            fields["synthetic"] = True
        elif not _is_common(draft, draft.message):
            fields["name"] = draft.message.get("name")
            kept = leftover(plain_message(Turn.model_validate(fields)), draft.message)
            if kept:
                fields[KEPT] = kept
        return fields

    def _call(self, index: int, pending: _Pending) -> dict[str, Any]:
        request = pending.request
        fields: dict[str, Any] = {
            "index": index,
            "id": request.id,
            "name": request.name,
            "arguments": request.arguments,
            "raw_arguments": request.raw_arguments,
            "bound_by": pending.bound_by,
        }
        if not pending.requested:
            fields[KEPT] = {"unrequested": True}
        if pending.answer is not None:
            fields["result"] = self._result(fields, pending, pending.answer)
        return fields

    def _result(
        self, call: dict[str, Any], pending: _Pending, answer: dict[str, Any]
    ) -> dict[str, Any]:
        content = answer.get("content", UNKNOWN)
        fields: dict[str, Any] = {"content": content}
        kept = None
        if not self._is_common_answer(answer, pending.request):
            with_name = "result_names" in self._style
            result = Result(content=content)
            plain = plain_answer(Call.model_validate(call), result, with_name=with_name)
            kept = leftover(plain, answer)
        if pending.at is not None:
            kept = {**(kept or {}), "at": pending.at}
        if kept:
            fields[KEPT] = kept
        if self._mark is not None:
            fields.update(self._mark(content))
        return fields

    def _is_common_answer(self, answer: dict[str, Any], request: RequestedCall) -> bool:
        """Whether writing the result gives this very message."""
        return (
            len(answer) == (4 if "result_names" in self._style else 3)
            and answer["role"] == "tool"
            and answer.get("tool_call_id") == request.id
            and isinstance(answer.get("content"), str)
        )


def _read_side_fields(message: dict[str, Any], parts: list[Part | dict[str, str]]) -> None:
    """Take reasoning and refusals that stand beside the content."""
    for key in ("reasoning_content", "reasoning"):
        if isinstance(message.get(key), str) and message[key]:
            parts.insert(0, Reasoning(text=message[key]))
            break
    refusal = message.get("refusal")
    if not parts and isinstance(refusal, str) and refusal:
        parts.append(Text.model_validate({"text": refusal, "refusal": True}))


def _is_common(draft: _Draft, message: dict[str, Any]) -> bool:
    """Whether writing the turn gives this very message."""
    content = message.get("content", "")
    if not (isinstance(content, str) and content) and not (draft.calls and content is None):
        return False
    if message["role"] == "developer":
        return False
    if len(message) == 2:
        return not draft.calls
    return (
        len(message) == 3
        and bool(message.get("tool_calls"))
        and all(pending.request.is_common for pending in draft.calls)
    )


def _is_plain(message: dict[str, Any]) -> bool:
    return message.keys() == {"role", "content"} and isinstance(message["content"], str)

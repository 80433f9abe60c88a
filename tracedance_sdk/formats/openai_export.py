"""A trace as a document with chat-completions messages, and what stands beside them of ours.

Messages say nothing of a trace's fidelity, nor of who wrote a turn. Both stand in one field,
`MARK`, that other programs pass over, so that what is read again passes for no better trace than it
was. Its id is another: a copy that lacks something must never take the original's place in a store.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple

from pydantic import Field, ValidationError

from tracedance_sdk.errors import InvalidTrace
from tracedance_sdk.formats.openai_chat import messages_from_trace, tools_from_trace
from tracedance_sdk.formats.openai_writing import has_message
from tracedance_sdk.trace import Json, Note, Origin, Record, Trace, Turn, assess

MARK: Final = "tracedance"
"""The field of a document that holds what its messages do not say."""

_FORMAT: Final = "tracedance.chat"
_WRITERS: Final = {"system": "harness", "user": "human", "assistant": "agent"}
_FOUND_AGAIN: Final = frozenset(
    {"initial_state_unknown", "final_state_unknown", "tools_missing", "clock_backwards"}
)
"""Kinds of notes that follow from what a conversation has no place for."""


class TurnMark(Record):
    """What a message does not say of its turn; None and false where it needs no saying."""

    origin: Origin | None = None
    synthetic: bool = False


class _Mark(Record):
    format: Literal["tracedance.chat"]
    version: Literal[1]
    notes: tuple[Note, ...] = ()
    turns: dict[str, TurnMark] = Field(default_factory=dict)


class ChatMark(NamedTuple):
    """What a document says beside its messages.

    Attributes:
        notes: What the trace that was written lacked.
        turns: By the place of the turn's message in the list.
    """

    notes: tuple[Note, ...]
    turns: dict[str, TurnMark]


def chat_document(trace: Trace) -> dict[str, Any]:
    """Return a trace as one conversation: ``id``, ``messages``, ``tools`` if any, and `MARK`.

    Example:
        >>> list(chat_document(Trace(id="run-1")))
        ['id', 'messages', 'tracedance']
    """
    messages = messages_from_trace(trace)
    document: dict[str, Any] = {"id": trace.id, "messages": messages}
    tools = tools_from_trace(trace)
    if tools:
        document["tools"] = tools
    mark: dict[str, Any] = {"format": _FORMAT, "version": 1}
    # Places are of our turns, which are others where calls are left out.
    notes = [
        {"kind": item.kind, "count": item.count}
        for item in trace.fidelity.notes
        if item.kind not in _FOUND_AGAIN
    ]
    if notes:
        mark["notes"] = notes
    spoken = _spoken(messages, has_prompt=trace.system_prompt is not None)
    told = [turn for turn in trace.turns if has_message(turn)]
    turns = {
        str(place): said
        for place, turn in zip(spoken, told, strict=True)
        if (said := _unsaid(turn))
    }
    if turns:
        mark["turns"] = turns
    return {**document, MARK: mark}


def read_mark(value: Json, *, where: str) -> ChatMark | None:
    """Read what `chat_document` wrote under `MARK`; None when it is something else.

    Raises:
        InvalidTrace: It is ours and has been damaged, or is of another version.
    """
    if not isinstance(value, dict) or value.get("format") != _FORMAT:
        return None
    try:
        found = _Mark.model_validate(value)
    except ValidationError as error:
        place = ".".join(str(step) for step in error.errors()[0]["loc"])
        what = f"not what tracedance export writes @ $.{MARK}.{place}"
        raise InvalidTrace(f"{where}: {what}") from None
    return ChatMark(found.notes, found.turns)


def marked(trace: Trace, mark: ChatMark, *, messages: Sequence[Json]) -> Trace:
    """Return a trace that was read from messages with what its document says beside them.

    Args:
        trace: As the messages tell it.
        mark: Of the same document.
        messages: The same ones.
    """
    spoken = _spoken(messages, has_prompt=trace.system_prompt is not None)
    turns = [turn for turn in trace.turns if not turn.synthetic]
    changed = {
        turn.index: _as_marked(turn, mark.turns[str(place)])
        for place, turn in zip(spoken, turns, strict=False)
        if str(place) in mark.turns
    }
    same = trace.model_copy(
        update={"turns": tuple(changed.get(turn.index, turn) for turn in trace.turns)}
    )
    known = {item.kind for item in trace.fidelity.notes}
    added = (item for item in mark.notes if item.kind not in known)
    return assess(same, notes=(*trace.fidelity.notes, *added))


def _spoken(messages: Sequence[Any], *, has_prompt: bool) -> list[int]:
    """Return the places of messages that are turns of their own."""
    places = [
        place
        for place, message in enumerate(messages)
        if message.get("role") not in ("tool", "function")
    ]
    return places[1:] if has_prompt else places


def _unsaid(turn: Turn) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if turn.origin != _WRITERS[turn.role]:
        found["origin"] = turn.origin
    if turn.synthetic:
        found["synthetic"] = True
    return found


def _as_marked(turn: Turn, said: TurnMark) -> Turn:
    update: dict[str, Any] = {"synthetic": True} if said.synthetic else {}
    if said.origin is not None:
        update["origin"] = said.origin
    return turn.model_copy(update=update)

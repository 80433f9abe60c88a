"""Build the turns of one trace while going through a log of another system.

What every reader of sessions and logs needs stands here once: which call an answer belongs to,
what to do with an answer nobody asked for, how the turns and calls are numbered, and which defects
were met on the way.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

from tracedance_sdk.errors import InvalidJSON
from tracedance_sdk.formats.turn_origins import agent_name, attribute_turns
from tracedance_sdk.trace import (
    KINDS,
    UNKNOWN,
    Json,
    Note,
    Origin,
    Role,
    Trace,
    Unknown,
    assess,
    build,
    note,
    parse_json,
    parse_short,
)

_MOST_PLACES: Final = 5


def text_part(text: str) -> dict[str, Any]:
    """Return words as a part of a turn."""
    return {"type": "text", "text": text}


def reasoning_part(text: str, **extra: Json) -> dict[str, Any]:
    """Return what a model wrote for itself as a part of a turn."""
    return {"type": "reasoning", "text": text, **extra}


def media_part(
    modality: str = "other",
    *,
    mime_type: str | None = None,
    uri: str | None = None,
    data: Json = UNKNOWN,
    **extra: Json,
) -> dict[str, Any]:
    """Return an image, a document or whatever is no text as a part of a turn; see `Media`."""
    part: dict[str, Any] = {"type": "media", "modality": modality, **extra}
    if mime_type is not None:
        part["mime_type"] = mime_type
    if uri is not None:
        part["uri"] = uri
    if data is not UNKNOWN:
        part["data"] = data
    return part


class Transcript:
    """The turns of one trace, in the order in which a reader comes upon what was said and done.

    Args:
        knows_origins: Whoever fills it knows who wrote what; else the rules on origins are applied
            to what is said to be a human's, see `attribute`.

    Example:
        >>> log = Transcript()
        >>> turn = log.say("user", "What is 2 + 2?", origin="human")
        >>> turn = log.say("assistant", origin="agent", model="m-1")
        >>> call = log.request("add", call_id="c1", text='{"a": 2, "b": 2}')
        >>> result = log.answer("c1", content="4", ok=True)
        >>> trace = log.trace("run-1", where="an example")
        >>> [(call.name, call.arguments, call.result.content) for call in trace.calls]
        [('add', {'a': 2, 'b': 2}, '4')]
    """

    def __init__(self, *, knows_origins: bool = False) -> None:
        self.knows_origins = knows_origins
        self.turns: list[dict[str, Any]] = []
        """The turns so far, as fields of `Turn`; those of their calls under ``calls``."""
        self.answered: dict[str, Any] | None = None
        """The call that the last answer was added to; None at the start."""
        self._waiting: defaultdict[str, list[tuple[int, deque[dict[str, Any]]]]]
        self._waiting = defaultdict(list)
        """Calls by id, those of one turn together; some may have their results already."""
        self._latest: list[dict[str, Any]] = []
        """The calls of the last turn that has any."""
        self._answered = 0
        """How many of them, from the first, have their results."""
        self._count = 0
        self._notes: dict[str, tuple[int, list[str]]] = {}

    @property
    def last(self) -> dict[str, Any] | None:
        """The last turn; None at the start."""
        return self.turns[-1] if self.turns else None

    def say(
        self,
        role: Role,
        content: str | Iterable[Mapping[str, Any]] | None = None,
        *,
        origin: Origin,
        **fields: Any,
    ) -> dict[str, Any]:
        """Add a turn.

        Args:
            role: Who speaks to whom, in the model's terms.
            content: Text, or parts as `text_part` and its kin make them; empty text is no part.
            origin: Who really wrote it.
            **fields: Further fields of `Turn`, and fields of one's own; None is left out.

        Returns:
            The turn's fields, which may be amended until `trace` is called.
        """
        parts: list[Any]
        if content is None or isinstance(content, str):
            parts = [text_part(content)] if content else []
        else:
            parts = list(content)
        turn = {"role": role, "origin": origin, "content": parts, "calls": [], **_given(fields)}
        self.turns.append(turn)
        return turn

    def request(
        self,
        name: str,
        *,
        call_id: str | None = None,
        arguments: Json = UNKNOWN,
        text: str | None = None,
        requested_by: Literal["agent", "user", "tool"] = "agent",
        **fields: Any,
    ) -> dict[str, Any]:
        """Add a call to the last turn.

        Where the last turn is not of whoever asks, a synthetic turn of the agent's is opened.

        Args:
            name: The tool's name.
            call_id: The source's id of the call; it may repeat.
            arguments: As the source has them, parsed.
            text: The arguments as the model wrote them, where the source has only the text; what
                is not JSON is kept as ``raw_arguments``, and the arguments are then unknown.
            requested_by: As in `Call`.
            **fields: Further fields of `Call`, and fields of one's own; None is left out.

        Returns:
            The call's fields, which may be amended until `trace` is called.
        """
        last = self.last
        asking = "user" if requested_by == "user" else "assistant"
        if last is None or last["role"] != asking:
            last = self.say("assistant", origin="agent", synthetic=True)
        call: dict[str, Any] = {"id": call_id or f"call_{self._count}", "name": name}
        if text is not None:
            arguments, raw = read_arguments(text)
            if raw is not None:
                call["raw_arguments"] = raw
        if arguments is not UNKNOWN:
            call["arguments"] = arguments
        if requested_by != "agent":
            call["requested_by"] = requested_by
        call.update(_given(fields))
        self._count += 1
        if not last["calls"]:
            self._latest = last["calls"]
            self._answered = 0
        last["calls"].append(call)
        groups = self._waiting[call["id"]]
        if not groups or groups[-1][0] != len(self.turns):
            groups.append((len(self.turns), deque()))
        groups[-1][1].append(call)
        return call

    def answer(
        self,
        call_id: str | None = None,
        *,
        name: str | None = None,
        content: Json = UNKNOWN,
        ok: bool | None = None,
        error: Mapping[str, Any] | None = None,
        **fields: Any,
    ) -> dict[str, Any]:
        """Add a result to the call that it answers.

        It is the first unanswered call of this id in the latest turn that has one; without an id,
        or with one that nobody asked for and a name, the first unanswered call of the last turn
        that has calls (of this name, if given). An answer to no call opens one in a synthetic
        turn, and the trace says so.

        Args:
            call_id: The id that the source gives.
            name: The tool's name, where the answer has it.
            content: What came back.
            ok: True or False only where the source says so.
            error: ``{"type", "message"}``.
            **fields: Further fields of `Result`, and fields of one's own; None is left out.

        Returns:
            The result's fields, which may be amended until `trace` is called.
        """
        call = self._first_waiting(call_id) if call_id else None
        if call is not None:
            call.setdefault("bound_by", "id")
        elif name is not None or not call_id:
            call = self._asked_in_order(name)
        if call is None:
            call = self._unasked(call_id, name)
        result: dict[str, Any] = {"ok": ok, **_given(fields)}
        if content is not UNKNOWN:
            result["content"] = content
        if error is not None:
            result["error"] = dict(error)
        call["result"] = result
        self.answered = call
        return result

    def is_waiting(self, call_id: str) -> bool:
        """Whether a call of this id has no answer yet."""
        return self._first_waiting(call_id) is not None

    def _first_waiting(self, call_id: str) -> dict[str, Any] | None:
        """Return the first call without a result of the latest turn with one of this id."""
        groups = self._waiting.get(call_id)
        while groups:
            calls = groups[-1][1]
            while calls and "result" in calls[0]:
                calls.popleft()
            if calls:
                return calls[0]
            groups.pop()
        return None

    def _asked_in_order(self, name: str | None) -> dict[str, Any] | None:
        calls = self._latest
        while self._answered < len(calls) and "result" in calls[self._answered]:
            self._answered += 1
        for place in range(self._answered, len(calls)):
            call = calls[place]
            if "result" not in call and name in (None, call["name"]):
                call.setdefault("bound_by", "order")
                return call
        return None

    def _unasked(self, call_id: str | None, name: str | None) -> dict[str, Any]:
        last = self.last
        if last is None or not last.get("synthetic"):
            last = self.say("assistant", origin="agent", synthetic=True)
        call = self.request(name or "unknown", call_id=call_id, bound_by="synthetic")
        place = f"turns[{len(self.turns) - 1}].calls[{len(last['calls']) - 1}]"
        self.note("request_missing", place)
        return call

    def place(self, call: Mapping[str, Any]) -> str:
        """Return where a call of the last turns stands, as ``turns[3].calls[0]``."""
        for index in range(len(self.turns) - 1, -1, -1):
            for position, other in enumerate(self.turns[index]["calls"]):
                if other is call:
                    return f"turns[{index}].calls[{position}]"
        return ""

    def note(self, kind: str, place: str | None = None, *, count: int = 1) -> None:
        """Note a defect of the source that only its reader can know; see `KINDS`.

        Raises:
            KeyError: No such kind.
        """
        if kind not in KINDS:
            raise KeyError(f"{kind!r} is not a kind of fidelity note")
        known, places = self._notes.get(kind, (0, []))
        if place and len(places) < _MOST_PLACES:
            places.append(place)
        self._notes[kind] = (known + count, places)

    def notes(self) -> list[Note]:
        """Return the defects noted so far."""
        return [note(kind, found, count=count) for kind, (count, found) in self._notes.items()]

    def trace(self, trace_id: str, *, where: str, **fields: Any) -> Trace:
        """Return the trace, its turns and calls numbered and its fidelity assessed.

        Args:
            trace_id: See `imported_trace_id`.
            where: What the source is, for errors.
            **fields: Further fields of `Trace`; None is left out.

        Raises:
            InvalidTrace: A field is of the wrong type.
        """
        number = 0
        for index, turn in enumerate(self.turns):
            turn["index"] = index
            for call in turn["calls"]:
                call["index"] = number
                number += 1
        if not self.knows_origins:
            attribute_turns(
                self.turns,
                agent=agent_name(fields.get("agent")),
                is_subagent=fields.get("parent") is not None,
            )
        document = {"id": trace_id, "turns": self.turns, **_given(fields)}
        return assess(build(document, where), notes=self.notes())


def read_arguments(text: str) -> tuple[Json | Unknown, str | None]:
    """Return arguments from the text that a model wrote, and the text where it says more.

    Returns:
        The value and None; or `UNKNOWN` and the text, where it is not JSON. Text of no characters
        means no arguments.
    """
    if not text.strip():
        return {}, text
    value, is_compact = parse_short(text)
    if value is not UNKNOWN:
        return value, None if is_compact else text
    try:
        return parse_json(text, where="arguments"), text
    except InvalidJSON:
        return UNKNOWN, text


def _given(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value is not None}

"""Tell records by a mapping: the messages, calls and results in them as one transcript."""

from __future__ import annotations

from typing import Any, Final

from tracedance_sdk.errors import shown
from tracedance_sdk.formats.mapping_paths import follow, is_absent, written_path
from tracedance_sdk.formats.mapping_schema import KINDS, Mapping, Section
from tracedance_sdk.formats.mapping_slots import Slot, is_number
from tracedance_sdk.formats.message_pieces import Message, Piece, tell
from tracedance_sdk.formats.message_shapes import read_message, speaker_of
from tracedance_sdk.formats.piece_shapes import read_pieces
from tracedance_sdk.formats.places import Misfit
from tracedance_sdk.formats.transcript import Transcript, reasoning_part, text_part
from tracedance_sdk.trace import UNKNOWN, Json, Unknown

KEPT: Final = "record"
"""The field of turns, calls and results under which fields that no slot names stand."""


class Teller:
    """Adds records to a transcript.

    Args:
        mapping: What stands where.
        model: The model of the agent's messages that name none.
    """

    def __init__(self, mapping: Mapping, *, model: str | None) -> None:
        self.log = Transcript()
        self._mapping = mapping
        self._model = model
        levels = ("run", "message", "call", "result")
        self._used = {level: mapping.used_paths(level) for level in levels}

    def run(self, record: Json) -> None:
        """Add all messages of a record that is a run, or its calls where it has no messages.

        Raises:
            Misfit: A message, call or result breaks what the mapping says.
        """
        section = self._mapping.messages
        if section is None:
            self._run_of_calls(record)
            return
        _must_be_there(record, section, "messages")
        for index, item in enumerate(_entries(record, section, "messages")):
            try:
                self.message(item)
            except Misfit as misfit:
                steps = (step for step in section.at or () if step is not None)
                raise misfit.below(*steps, index) from None

    def _run_of_calls(self, record: Json) -> None:
        section = self._mapping.calls
        if section is not None:
            _must_be_there(record, section, "calls")
        self._calls(record)
        if section is not None and section.at is None and not self.log.turns:
            raise Misfit("a run without messages and without a call: nothing at calls.name")

    def event(self, record: Json) -> None:
        """Add a record that is a message, a call or a result.

        Raises:
            Misfit: It is none of them, or breaks what the mapping says.
        """
        slot = self._mapping.kind
        kind = UNKNOWN if slot is None else slot.value(record)
        if kind not in KINDS:
            raise Misfit(
                f"kind {_shown(kind)} is none of {', '.join(KINDS)}; map it under kind.map"
            )
        if kind == "message":
            self.message(record)
        elif kind == "call":
            self._calls(record)
        elif kind == "result":
            self._results(record)

    def message(self, record: Json) -> None:
        """Add a message, with the calls and results in it.

        Raises:
            Misfit: It breaks what the mapping says.
        """
        section = self._mapping.messages
        slots = {} if section is None else section.slots
        if "role" not in slots:
            self._known(record, slots)
            return
        role = slots["role"].value(record)
        speaker = speaker_of(role) if isinstance(role, str) else None
        if speaker is None:
            words = "system, user, assistant, tool"
            raise Misfit(f"role {_shown(role)} is none of {words}; map it under messages.role.map")
        if speaker == "tool":
            self._results(record)
            return
        pieces = [*_reasoning(slots, record), *_pieces(slots, record)]
        name = _text(slots, "name", record)
        tell(self.log, Message(speaker, tuple(pieces), name), keep_as=KEPT, **self._turn(record))
        if self._stands_inside(self._mapping.calls):
            self._calls(record)
        if self._stands_inside(self._mapping.results):
            self._results(record)

    def _stands_inside(self, section: Section | None) -> bool:
        """Whether what a section describes may stand in a message: events are one or the other."""
        return section is not None and (section.at is not None or self._mapping.record != "event")

    def _known(self, record: Json, slots: dict[str, Slot]) -> None:
        message = read_message(record)
        if message is None:
            raise Misfit(
                f"no message of a known shape: {shown(record)}; name its role under messages"
            )
        model = _text(slots, "model", record)
        is_agent = message.speaker == "assistant"
        time = slots["time"].time(record) if "time" in slots else None
        named = (model or self._model) if is_agent else None
        tell(self.log, message, keep_as=KEPT, model=named, started_at=time)

    def _turn(self, record: Json) -> dict[str, Any]:
        section = self._mapping.messages
        slots = {} if section is None else section.slots
        is_agent = slots["role"].value(record) is not UNKNOWN and self._is_agent(slots, record)
        counts = {
            key: value
            for key in ("input_tokens", "output_tokens", "cost_usd")
            if key in slots and is_number(value := slots[key].value(record))
        }
        return {
            "model": _text(slots, "model", record) or (self._model if is_agent else None),
            "started_at": slots["time"].time(record) if "time" in slots else None,
            "ended_at": slots["ended_at"].time(record) if "ended_at" in slots else None,
            "finish_reason": _text(slots, "finish_reason", record),
            "usage": counts or None,
            KEPT: self.rest(record, "message") or None,
        }

    def _is_agent(self, slots: dict[str, Slot], record: Json) -> bool:
        role = slots["role"].value(record)
        return isinstance(role, str) and speaker_of(role) == "assistant"

    def rest(self, record: Json, level: str) -> dict[str, Json]:
        """Return the fields of a record that the mapping does not speak of."""
        if not self._mapping.keep or not isinstance(record, dict):
            return {}
        left = {key: value for key, value in record.items() if value is not None}
        for steps in self._used[level]:
            _take_out(left, steps)
        return left

    def _kept(self, item: Json, section: Section, level: str) -> dict[str, Any]:
        """Return the same of a call or a result, unless it stands in a message that keeps it."""
        is_own = section.at is not None or self._mapping.record == "event"
        rest = self.rest(item, level) if is_own else {}
        return {KEPT: rest} if rest else {}

    def _calls(self, record: Json) -> None:
        section = self._mapping.calls
        if section is None:
            return
        for item in _entries(record, section, "calls"):
            self._call(item, section)

    def _call(self, item: Json, section: Section) -> None:
        slots, is_record = section.slots, section.at is None
        name = _text(slots, "name", item)
        if name is None:
            if is_record and self._mapping.record != "event":
                return
            raise Misfit("a call without a name: see calls.name")
        arguments = _value(slots, "arguments", item)
        text = arguments if isinstance(arguments, str) else None
        call = self.log.request(
            name,
            call_id=_text(slots, "id", item),
            arguments=UNKNOWN if text is not None else arguments,
            text=text,
            started_at=slots["time"].time(item) if "time" in slots else None,
            duration_ms=slots["duration"].milliseconds(item) if "duration" in slots else None,
            **self._kept(item, section, "call"),
        )
        if _has_result(slots, item):
            self.log.answer(
                call["id"], content=_value(slots, "result", item), **_ending(slots, item)
            )

    def _results(self, record: Json) -> None:
        section = self._mapping.results
        if section is None:
            raise Misfit("a result, and the mapping has no section 'results'")
        for item in _entries(record, section, "results"):
            content, ending = _value(section.slots, "content", item), _ending(section.slots, item)
            if content is UNKNOWN and not ending and section.at is None:
                continue
            self.log.answer(
                _text(section.slots, "call_id", item),
                name=_text(section.slots, "name", item),
                content=content,
                **ending,
                **self._kept(item, section, "result"),
            )


def _take_out(record: dict[str, Json], steps: tuple[str, ...]) -> None:
    """Take a value out of a record, and what is empty then; the objects in it are copied."""
    holder, above = record, []
    for step in steps[:-1]:
        inner = holder.get(step)
        if not isinstance(inner, dict):
            return
        above.append((holder, step))
        holder[step] = dict(inner)
        holder = holder[step]
    holder.pop(steps[-1], None)
    for outer, step in reversed(above):
        if not outer[step]:
            del outer[step]


def _must_be_there(record: Json, section: Section, key: str) -> None:
    """Refuse a record in which nothing stands where the mapping says that a list does.

    Raises:
        Misfit: So it is.
    """
    if section.at is not None and is_absent(record, section.at):
        path = written_path(section.at)
        raise Misfit(f"nothing at {path!r}, where the mapping has {key}.at")


def _entries(record: Json, section: Section, key: str) -> list[Json]:
    """Return what a section's slots are read from: the record, or the items at its place."""
    if section.at is None:
        return [record]
    found = follow(record, section.at)
    if found is UNKNOWN or found is None:
        return []
    if isinstance(found, dict):
        return [found]
    if not isinstance(found, list):
        raise Misfit(f"expected a list of {key}, got {shown(found)}")
    return found


def _pieces(slots: dict[str, Slot], record: Json) -> list[Piece]:
    value = _value(slots, "text", record)
    if value is UNKNOWN or value is None:
        return []
    if isinstance(value, (str, dict, list)):
        return read_pieces(value)
    return [text_part(str(value))]


def _reasoning(slots: dict[str, Slot], record: Json) -> list[Piece]:
    text = _text(slots, "reasoning", record)
    return [reasoning_part(text)] if text else []


def _value(slots: dict[str, Slot], key: str, record: Json) -> Json | Unknown:
    return slots[key].value(record) if key in slots else UNKNOWN


def _text(slots: dict[str, Slot], key: str, record: Json) -> str | None:
    """Return a value as text: numbers are spelled out, anything else is none."""
    value = _value(slots, key, record)
    if isinstance(value, str):
        return value or None
    return str(value) if is_number(value) else None


def _has_result(slots: dict[str, Slot], item: Json) -> bool:
    return _value(slots, "result", item) is not UNKNOWN or bool(_ending(slots, item))


def _ending(slots: dict[str, Slot], item: Json) -> dict[str, Any]:
    """Return how a call ended, as fields of `Result`."""
    found: dict[str, Any] = {}
    ok, error = _value(slots, "ok", item), _value(slots, "error", item)
    if isinstance(ok, bool):
        found["ok"] = ok
    if error not in (UNKNOWN, None, "", False):
        found["ok"] = False
        found["error"] = error_of(error)
    code = _value(slots, "exit_code", item)
    if isinstance(code, int) and not isinstance(code, bool):
        found["exit_code"] = code
        found.setdefault("ok", code == 0)
    return found


def error_of(error: Json) -> dict[str, str]:
    """Return an error as a record has it, as the fields of `ErrorInfo`."""
    if isinstance(error, dict):
        kind = error.get("type", error.get("code", error.get("name", "error")))
        message = error.get("message", error.get("msg", ""))
        return {"type": str(kind), "message": str(message)}
    return {"type": "error", "message": "" if error is True else str(error)}


def _shown(value: Json | Unknown) -> str:
    return "nothing" if value is UNKNOWN else shown(value)

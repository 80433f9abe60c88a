"""What a mapping may say: sections and the slots in them."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from tracedance_sdk.errors import UnsupportedVersion, shown
from tracedance_sdk.formats.mapping_paths import Steps, parse_path
from tracedance_sdk.formats.mapping_slots import Slot, known_only, read_slot
from tracedance_sdk.formats.places import Misfit, expect, optional
from tracedance_sdk.trace import Json

FORMAT: Final = "tracedance.mapping"
VERSION: Final = 1

RUN: Final = (
    "id", "session", "group", "task", "agent", "agent_version", "system_prompt", "tools", "model",
    "started_at", "ended_at", "success", "reward", "ended", "error", "initial_state",
    "final_state", "reference",
)  # fmt: skip
MESSAGE: Final = (
    "role", "text", "reasoning", "name", "model", "time", "ended_at", "finish_reason",
    "input_tokens", "output_tokens", "cost_usd",
)  # fmt: skip
CALL: Final = (
    "id", "name", "arguments", "time", "duration", "result", "ok", "error", "exit_code",
)  # fmt: skip
RESULT: Final = ("call_id", "name", "content", "ok", "error", "exit_code")

_SECTIONS: Final = {"messages": MESSAGE, "calls": CALL, "results": RESULT}
_TOP: Final = (
    "format", "version", "name", "records", "record", "session", "kind", "run", "metadata", "keep",
    *_SECTIONS,
)  # fmt: skip
KINDS: Final = ("message", "call", "result", "skip")


class Section(NamedTuple):
    """Slots of messages, calls or results.

    Attributes:
        at: Where the list of them stands; None for the record itself.
        slots: By name.
    """

    at: Steps | None
    slots: dict[str, Slot]


class Mapping(NamedTuple):
    """A mapping that was read.

    Attributes:
        name: Of the collector.
        records: Where in a document the list of records stands; None for the document itself.
        record: What one record is: ``run``, ``message`` or ``event``.
        session: What the records of one run have in common.
        kind: What an event is.
        run: Slots of the trace.
        metadata: Slots of its metadata.
        messages: Slots of messages.
        calls: Slots of calls, if it maps any.
        results: Slots of results, if it maps any.
        keep: Whether fields that no slot names are kept.
    """

    name: str
    records: Steps | None
    record: str
    session: Slot | None
    kind: Slot | None
    run: dict[str, Slot]
    metadata: dict[str, Slot]
    messages: Section | None
    calls: Section | None
    results: Section | None
    keep: bool

    def used_paths(self, level: str) -> tuple[tuple[str, ...], ...]:
        """Return the paths whose whole value slots take, at one level of the records.

        Args:
            level: ``run``, ``message``, ``call`` or ``result``.
        """
        sections = {"message": self.messages, "call": self.calls, "result": self.results}
        within = [name for name, item in sections.items() if item is not None and item.at is None]
        lists = [item.at for item in sections.values() if item is not None and item.at]
        of_run = [*self.run.values(), *self.metadata.values(), self.session, self.kind]
        slots = list(of_run) if level == "run" or (self.record != "run" and level in within) else []
        for name, section in sections.items():
            is_there = name == level or (level == "message" and name in within)
            if is_there and section is not None:
                slots += section.slots.values()
        paths = [steps for slot in slots if slot is not None for steps in slot.paths]
        if level in ("run", "message"):
            paths += lists
        named = {tuple(step for step in steps if isinstance(step, str)) for steps in paths}
        return tuple(sorted(steps for steps in named if steps and steps in paths))


def read_mapping(value: Json) -> Mapping:
    """Read a parsed mapping.

    Raises:
        Misfit: It breaks the format.
        UnsupportedVersion: It is of a newer version.
    """
    fields = expect(value, dict)
    known_only(fields, _TOP)
    if fields.get("format") != FORMAT:
        raise Misfit(f"expected {FORMAT!r}, got {shown(fields.get('format'))}", "format")
    if fields.get("version") != VERSION:
        raise UnsupportedVersion(f"mapping of version {shown(fields.get('version'))}: known is 1")
    record = fields.get("record", "run")
    if record not in ("run", "message", "event"):
        raise Misfit(f"record {shown(record)} is none of run, message, event", "record")
    found = Mapping(
        name=optional(fields, "name", str) or "mapping",
        records=_path(fields, "records"),
        record=record,
        session=_slot(fields, "session"),
        kind=_slot(fields, "kind"),
        run=_slots(fields, "run", RUN),
        metadata=_slots(fields, "metadata", None),
        messages=_section(fields, "messages"),
        calls=_section(fields, "calls"),
        results=_section(fields, "results"),
        keep=fields.get("keep", True) is not False,
    )
    _check(found)
    return found


def _check(mapping: Mapping) -> None:
    if mapping.record != "run" and mapping.session is None:
        what = f"field required: which records are one run, as each is one {mapping.record}"
        raise Misfit(what, "session")
    if mapping.record == "event" and mapping.kind is None:
        raise Misfit("field required: what an event is", "kind")
    if mapping.messages is None and mapping.calls is None:
        raise Misfit("field required", "messages")
    if mapping.record == "run" and mapping.messages is not None and mapping.messages.at is None:
        raise Misfit("field required: where in a run its messages stand", "messages", "at")
    if mapping.calls is not None and "name" not in mapping.calls.slots:
        raise Misfit("field required", "calls", "name")


def _path(fields: dict[str, Any], key: str) -> Steps | None:
    text = optional(fields, key, str)
    try:
        return None if text is None else parse_path(text)
    except Misfit as misfit:
        raise misfit.below(key) from None


def _slot(fields: dict[str, Any], key: str) -> Slot | None:
    if fields.get(key) is None:
        return None
    try:
        return read_slot(fields[key])
    except Misfit as misfit:
        raise misfit.below(key) from None


def _slots(fields: dict[str, Any], key: str, known: tuple[str, ...] | None) -> dict[str, Slot]:
    section = optional(fields, key, dict) or {}
    try:
        if known is not None:
            known_only(section, known)
        return {name: slot for name in section if (slot := _slot(section, name)) is not None}
    except Misfit as misfit:
        raise misfit.below(key) from None


def _section(fields: dict[str, Any], key: str) -> Section | None:
    section = optional(fields, key, dict)
    if section is None:
        return None
    try:
        known_only(section, ("at", *_SECTIONS[key]))
        at = _path(section, "at")
    except Misfit as misfit:
        raise misfit.below(key) from None
    rest = {name: value for name, value in section.items() if name != "at"}
    return Section(at, _slots({key: rest}, key, _SECTIONS[key]))

"""What a trace lacks, and what it is therefore fit for."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

import orjson

from tracedance_sdk.trace.markers import UNKNOWN, Json, blob_digest, is_masked
from tracedance_sdk.trace.model import (
    Call,
    Fidelity,
    Fitness,
    Media,
    Note,
    Reasoning,
    Text,
    ToolDefinition,
    Trace,
    Turn,
)

KINDS: Final[dict[str, str]] = {
    "result_missing": "a call whose result was never recorded",
    "request_missing": "a result whose request was never recorded",
    "result_recovered": "a result taken from the next model call instead of from the tool",
    "result_truncated": "a result cut at the source",
    "result_interrupted": "a call that never came to its end",
    "value_masked": "a value with a secret masked",
    "value_elsewhere": "a value kept outside the trace and not at hand",
    "arguments_unparsable": "arguments that are not JSON",
    "arguments_unknown": "a call whose arguments were not recorded",
    "duplicate_call_id": "a call id used before in the same trace",
    "boundary_guessed": "turns whose borders the source does not give",
    "clock_backwards": "a time earlier than the one before it",
    "initial_state_unknown": "the environment before the run was not seen",
    "final_state_unknown": "the environment after the run was not seen",
    "tools_inferred": "tool definitions derived from the calls",
    "tools_missing": "calls of a tool without a definition",
    "record_lost": "a record the source should hold and does not",
    "record_altered": "a record that is not what was written, or was put in",
    "hashes_unchecked": "a journal under a key, read without it: edits would go unnoticed",
    "content_off": "content switched off at the source",
    "sub_agents_apart": "a sub-agent, whose work is in a trace of its own",
}
"""Every kind of note, with its meaning."""

APART: Final = "sub_agents_apart"
"""The kind of note that counts the sub-agents whose work is not in the trace."""

ELSEWHERE: Final = "value_elsewhere"
"""The kind of note that counts the values kept outside the trace."""

INCOMPLETE: Final = ("record_lost", "record_altered")
"""Kinds of notes after which nothing that is not in the trace can be ruled out."""

_MOST_PLACES: Final = 5
_OF_TOOLS: Final = frozenset({"tools_inferred", "tools_missing"})
_OF_THE_TRACE: Final = _OF_TOOLS | {"initial_state_unknown", "final_state_unknown"}
"""Kinds that a look at the trace decides: a note of one that it does not find is out of date."""


def note(kind: str, places: Iterable[str] = (), *, count: int | None = None) -> Note:
    """Build a note; the count is the number of places unless given.

    Raises:
        KeyError: The kind is not one of `KINDS`.
    """
    if kind not in KINDS:
        raise KeyError(f"{kind!r} is not a kind of fidelity note")
    found = list(places)
    return Note(
        kind=kind,
        count=len(found) if count is None else count,
        places=tuple(found[:_MOST_PLACES]),
    )


def assess(trace: Trace, *, notes: Iterable[Note] = ()) -> Trace:
    """Return the trace with its fidelity worked out.

    Args:
        trace: The trace; an earlier fidelity is replaced.
        notes: What only the reader of the source can know (recovered, cut, guessed, ...). Those
            of one kind become one. What the trace itself tells, such as that a state is unknown,
            counts as the trace has it now.
    """
    findings = _Findings()
    findings.look_at(trace)
    places, notes = findings.places, list(notes)
    if ELSEWHERE in places:
        # What has no place in a call is left out of the trace, and only its reader knows of it.
        told = (place for item in notes if item.kind == ELSEWHERE for place in item.places)
        beside = [place for place in dict.fromkeys(told) if not _is_of_call(place)]
        places[ELSEWHERE] = [*beside, *places[ELSEWHERE]]
    found: list[Any] = [_note(kind, where) for kind, where in places.items()]
    found += _joined(item for item in notes if item.kind not in places.keys() | _OF_THE_TRACE)
    found.sort(key=lambda item: item["kind"])
    fit_for = findings.fit_for(trace, {item["kind"] for item in found})
    fidelity = Fidelity.model_validate({"notes": found, "fit_for": fit_for})
    return trace.model_copy(update={"fidelity": fidelity})


def without_calls(item: Note) -> Note:
    """Return a note of what is missing without those places in calls that a look finds again.

    A note that names no place stays as it is.
    """
    if not item.places:
        return item
    kept = tuple(place for place in item.places if not _is_of_call(place))
    return Note(kind=item.kind, count=len(kept), places=kept)


def _is_of_call(place: str) -> bool:
    return ".calls[" in place


def with_tools(trace: Trace, tools: Iterable[ToolDefinition]) -> Trace:
    """Return the trace with other tool definitions, its fidelity as `assess` would have it.

    Only what is said of definitions depends on them; all else stays as it was assessed.
    """
    changed = trace.model_copy(update={"tools": tuple(tools)})
    before = trace.fidelity
    if not before.notes and not before.fit_for:
        return assess(changed)
    defined = {tool.name for tool in changed.tools}
    missing: list[_Spot] = [
        (turn.index, position)
        for turn in trace.turns
        if turn.calls
        for position, call in enumerate(turn.calls)
        if call.name not in defined
    ]
    found: list[Any] = [item for item in before.notes if item.kind not in _OF_TOOLS]
    if missing:
        found.append(Note.model_validate(_note("tools_missing", missing)))
    if any(tool.origin == "inferred" for tool in changed.tools):
        found.append(note("tools_inferred", ["tools"]))
    found.sort(key=lambda item: item.kind)
    fidelity = Fidelity(notes=tuple(found), fit_for=before.fit_for)
    return changed.model_copy(update={"fidelity": fidelity})


def _joined(notes: Iterable[Note]) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for item in notes:
        known = found.get(item.kind)
        if known is None:
            found[item.kind] = {"kind": item.kind, "count": item.count, "places": item.places}
        else:
            known["places"] = (*known["places"], *item.places)[:_MOST_PLACES]
            known["count"] += item.count
    return list(found.values())


_Spot = str | tuple[int, int]
"""A place, or index of a turn and position of a call in it: most are only counted."""


def _note(kind: str, spots: list[_Spot]) -> dict[str, Any]:
    places = [
        spot if isinstance(spot, str) else f"turns[{spot[0]}].calls[{spot[1]}]"
        for spot in spots[:_MOST_PLACES]
    ]
    return {"kind": kind, "count": len(spots), "places": places}


class _Findings:
    """What one walk through a trace finds.

    Attributes:
        places: Kinds of notes with where they apply.
    """

    def __init__(self) -> None:
        self.places: dict[str, list[_Spot]] = {}
        self._decided: int | None = None
        """The last turn in which the model spoke."""
        self._opened = self._answered = False

    def look_at(self, trace: Trace) -> None:
        """Walk through a trace."""
        if trace.system_prompt is not None and is_masked(trace.system_prompt):
            self._add("value_masked", "system_prompt")
        if any(tool.origin == "inferred" for tool in trace.tools):
            self.places["tools_inferred"] = ["tools"]
        defined = {tool.name for tool in trace.tools}
        seen: set[str] = set()
        latest = trace.started_at
        for turn in trace.turns:
            latest = self._look_at_time(turn, latest)
            if turn.content and any(_shows_mask(part) for part in turn.content):
                self._add("value_masked", f"turns[{turn.index}]")
            if turn.calls:
                self._look_at_calls(turn, seen, defined)
            if turn.role == "user":
                self._opened = True
            elif turn.role == "assistant" and not turn.synthetic:
                self._decided = turn.index
        self._look_at_state("initial_state", trace.initial_state)
        self._look_at_state("final_state", trace.final_state)

    def _look_at_state(self, name: str, state: Json) -> None:
        if state is UNKNOWN:
            self._add(f"{name}_unknown", name)
        elif _has_mask(state):
            self._add("value_masked", name)

    def _look_at_time(self, turn: Turn, latest: datetime | None) -> datetime | None:
        """Return when the latest turn so far began."""
        started = turn.started_at
        if started is None:
            return latest
        if latest is not None and started < latest:
            self._add("clock_backwards", f"turns[{turn.index}]")
        return started

    def _look_at_calls(self, turn: Turn, seen: set[str], defined: set[str]) -> None:
        for position, call in enumerate(turn.calls):
            spot = (turn.index, position)
            self._look_at_call(call, spot)
            if call.id in seen:
                self._add("duplicate_call_id", spot)
            seen.add(call.id)
            if call.name not in defined:
                self._add("tools_missing", spot)

    def _add(self, kind: str, spot: _Spot) -> None:
        """Note a kind at a place, once, however much of the place it is."""
        spots = self.places.setdefault(kind, [])
        if not spots or spots[-1] != spot:
            spots.append(spot)

    def _look_at_call(self, call: Call, spot: tuple[int, int]) -> None:
        if call.arguments is not UNKNOWN:
            self._look_at_value(call.arguments, spot)
        else:
            unparsable = call.raw_arguments is not None
            self._add("arguments_unparsable" if unparsable else "arguments_unknown", spot)
        result = call.result
        if result is None:
            self._add("result_missing", spot)
            return
        if call.requested_by == "agent":
            self._answered = True
        if result.interrupted:
            self._add("result_interrupted", spot)
        if result.truncated:
            self._add("result_truncated", spot)
        self._look_at_value(result.content, spot)
        if result.error is not None and is_masked(result.error.message):
            self._add("value_masked", spot)

    def _look_at_value(self, value: Json, spot: tuple[int, int]) -> None:
        if _has_mask(value):
            self._add("value_masked", spot)
        if isinstance(value, dict) and "$blob" in value and blob_digest(value) is not None:
            self._add(ELSEWHERE, spot)

    def fit_for(self, trace: Trace, kinds: set[str]) -> tuple[Fitness, ...]:
        """Return what a trace with these kinds of notes is fit for."""
        fit: list[Fitness] = ["reading"] if trace.turns else []
        # A recorder sees every call, so that a run without turns did nothing; elsewhere the turns
        # may just not have been written down.
        is_told = bool(trace.turns) or trace.source is None
        if is_told and not kinds & {"arguments_unknown", "content_off", *INCOMPLETE}:
            fit.append("grading")
        if trace.final_state is not UNKNOWN:
            fit.append("state_grading")
        lacking = any(kind in kinds and self._is_before_last_decision(kind) for kind in _CONTEXT)
        if self._decided is not None and not lacking and "content_off" not in kinds:
            fit.append("next_turn")
            lacking = bool(kinds & {"arguments_unknown", *_CONTEXT})
            if self._opened and self._answered and not lacking:
                fit.append("rebuilt_test")
        return tuple(fit)

    def _is_before_last_decision(self, kind: str) -> bool:
        """Whether what the model saw lacks something; what came after its last turn it never saw.

        Only the reader knows of places that are not found here; those count as before.
        """
        spots = self.places.get(kind)
        if spots is None or self._decided is None:
            return True
        return any(isinstance(spot, str) or spot[0] < self._decided for spot in spots)


_CONTEXT: Final = ("result_missing", "result_truncated", ELSEWHERE)
"""Kinds of notes after which a model would be shown less than the recorded one saw."""


def _shows_mask(part: Text | Reasoning | Media) -> bool:
    return _has_mask(part.data) if isinstance(part, Media) else is_masked(part.text)


def _has_mask(value: Json) -> bool:
    if isinstance(value, str):
        return is_masked(value)
    return isinstance(value, (dict, list)) and _holds_mask(value)


def _holds_mask(value: dict[str, Json] | list[Json]) -> bool:
    try:
        if b"[MASKED:" not in orjson.dumps(value):
            return False
    except (TypeError, ValueError):
        # Not JSON, which is found when it is written.
        pass
    pending: list[Json] = [value]
    while pending:
        item = pending.pop()
        for inner in item.values() if isinstance(item, dict) else item:
            if isinstance(inner, str):
                if "[MASKED:" in inner and is_masked(inner):
                    return True
            elif isinstance(inner, (dict, list)):
                pending.append(inner)
    return False

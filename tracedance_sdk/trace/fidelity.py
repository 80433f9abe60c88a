"""What a trace lacks, and what it is therefore fit for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tracedance_sdk.trace.markers import UNKNOWN, Json, blob_digest, is_masked
from tracedance_sdk.trace.model import Call, Fidelity, Fitness, Note, Trace

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
}
"""Every kind of note, with its meaning."""

INCOMPLETE: Final = ("record_lost", "record_altered")
"""Kinds of notes after which nothing that is not in the trace can be ruled out."""

_MOST_PLACES: Final = 5


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
            of one kind become one.
    """
    places = _trace_findings(trace)
    _add_call_findings(trace, places)
    found = [_note(kind, where) for kind, where in places.items()]
    found += _joined(item for item in notes if item.kind not in places)
    found.sort(key=lambda item: item.kind)
    fidelity = Fidelity(notes=tuple(found), fit_for=_fit_for(trace, {item.kind for item in found}))
    return trace.model_copy(update={"fidelity": fidelity})


def _joined(notes: Iterable[Note]) -> list[Note]:
    found: dict[str, Note] = {}
    for item in notes:
        known = found.get(item.kind)
        if known is None:
            found[item.kind] = item
        else:
            places = (*known.places, *item.places)[:_MOST_PLACES]
            count = known.count + item.count
            found[item.kind] = Note(kind=item.kind, count=count, places=places)
    return list(found.values())


_Spot = str | tuple[int, int]
"""A place, or index of a turn and position of a call in it: most are only counted."""


def _note(kind: str, spots: list[_Spot]) -> Note:
    places = [
        spot if isinstance(spot, str) else f"turns[{spot[0]}].calls[{spot[1]}]"
        for spot in spots[:_MOST_PLACES]
    ]
    return note(kind, places, count=len(spots))


def _trace_findings(trace: Trace) -> dict[str, list[_Spot]]:
    """Return what is found without looking at calls: kinds with their places."""
    found: dict[str, list[_Spot]] = {}
    if trace.initial_state is UNKNOWN:
        found["initial_state_unknown"] = ["initial_state"]
    if trace.final_state is UNKNOWN:
        found["final_state_unknown"] = ["final_state"]
    if any(tool.origin == "inferred" for tool in trace.tools):
        found["tools_inferred"] = ["tools"]
    latest = trace.started_at
    for turn in trace.turns:
        started = turn.started_at
        if started is None:
            continue
        if latest is not None and started < latest:
            found.setdefault("clock_backwards", []).append(f"turns[{turn.index}]")
        latest = started
    return found


def _add_call_findings(trace: Trace, found: dict[str, list[_Spot]]) -> None:
    defined = {tool.name for tool in trace.tools}
    seen: set[str] = set()
    for turn in trace.turns:
        for position, call in enumerate(turn.calls):
            kinds = _call_findings(call)
            if call.id in seen:
                kinds.append("duplicate_call_id")
            seen.add(call.id)
            if call.name not in defined:
                kinds.append("tools_missing")
            for kind in kinds:
                if kind not in found:
                    found[kind] = []
                found[kind].append((turn.index, position))


def _call_findings(call: Call) -> list[str]:
    kinds: list[str] = []
    arguments, result = call.arguments, call.result
    if arguments is not UNKNOWN:
        _add_value_findings(arguments, kinds)
    else:
        unparsable = call.raw_arguments is not None
        kinds.append("arguments_unparsable" if unparsable else "arguments_unknown")
    if result is None:
        kinds.append("result_missing")
        return kinds
    if result.interrupted:
        kinds.append("result_interrupted")
    if result.truncated:
        kinds.append("result_truncated")
    _add_value_findings(result.content, kinds)
    return kinds


def _add_value_findings(value: Json, kinds: list[str]) -> None:
    if isinstance(value, str):
        if is_masked(value):
            kinds.append("value_masked")
    elif isinstance(value, (dict, list)):
        if _holds_mask(value):
            kinds.append("value_masked")
        if isinstance(value, dict) and blob_digest(value) is not None:
            kinds.append("value_elsewhere")


def _holds_mask(value: dict[str, Json] | list[Json]) -> bool:
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


def _fit_for(trace: Trace, kinds: set[str]) -> tuple[Fitness, ...]:
    fit: list[Fitness] = ["reading"] if trace.turns else []
    if not kinds & {"arguments_unknown", "content_off", *INCOMPLETE}:
        fit.append("grading")
    if trace.final_state is not UNKNOWN:
        fit.append("state_grading")
    asked = opened = answered = False
    for turn in trace.turns:
        if turn.role == "user":
            opened = True
        elif turn.role == "assistant" and not turn.synthetic:
            asked = True
        for call in () if answered else turn.calls:
            answered = answered or (call.requested_by == "agent" and call.result is not None)
    whole = not kinds & {"result_missing", "result_truncated", "value_elsewhere", "content_off"}
    if asked and whole:
        fit.append("next_turn")
    if asked and whole and opened and answered:
        fit.append("rebuilt_test")
    return tuple(fit)

"""What a trace lacks, and what it is therefore fit for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
    "content_off": "content switched off at the source",
}
"""Every kind of note, with its meaning."""

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
        notes: What only the reader of the source can know (recovered, cut, guessed, ...).
    """
    places: dict[str, list[str]] = {}
    for kind, place in _findings(trace):
        places.setdefault(kind, []).append(place)
    given = list(notes)
    found = [note(kind, where) for kind, where in places.items()]
    found += [item for item in given if item.kind not in places]
    fidelity = Fidelity(
        notes=tuple(sorted(found, key=lambda item: item.kind)),
        fit_for=_fit_for(trace, {item.kind for item in found}),
    )
    return trace.model_copy(update={"fidelity": fidelity})


def _findings(trace: Trace) -> Iterator[tuple[str, str]]:
    if trace.initial_state is UNKNOWN:
        yield "initial_state_unknown", "initial_state"
    if trace.final_state is UNKNOWN:
        yield "final_state_unknown", "final_state"
    if any(tool.origin == "inferred" for tool in trace.tools):
        yield "tools_inferred", "tools"
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
                yield kind, f"turns[{turn.index}].calls[{position}]"
    yield from _clock_findings(trace)


def _call_findings(call: Call) -> list[str]:
    kinds: list[str] = []
    if call.arguments is UNKNOWN:
        unparsable = call.raw_arguments is not None
        kinds.append("arguments_unparsable" if unparsable else "arguments_unknown")
    else:
        kinds += _value_findings(call.arguments)
    result = call.result
    if result is None:
        return [*kinds, "result_missing"]
    if result.interrupted:
        kinds.append("result_interrupted")
    if result.truncated:
        kinds.append("result_truncated")
    return kinds + _value_findings(result.content)


def _value_findings(value: Json) -> list[str]:
    kinds = ["value_masked"] if _holds_mask(value) else []
    if isinstance(value, dict) and blob_digest(value) is not None:
        kinds.append("value_elsewhere")
    return kinds


def _holds_mask(value: Json) -> bool:
    if isinstance(value, str):
        return is_masked(value)
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            if "[MASKED:" in item and is_masked(item):
                return True
        elif isinstance(item, dict):
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)
    return False


def _clock_findings(trace: Trace) -> Iterator[tuple[str, str]]:
    latest = trace.started_at
    for turn in trace.turns:
        if turn.started_at is None:
            continue
        if latest is not None and turn.started_at < latest:
            yield "clock_backwards", f"turns[{turn.index}]"
        latest = turn.started_at


def _fit_for(trace: Trace, kinds: set[str]) -> tuple[Fitness, ...]:
    fit: list[Fitness] = ["reading"] if trace.turns else []
    if not kinds & {"arguments_unknown", "content_off", "record_lost"}:
        fit.append("grading")
    if trace.final_state is not UNKNOWN:
        fit.append("state_grading")
    asked = any(turn.role == "assistant" and not turn.synthetic for turn in trace.turns)
    whole = not kinds & {"result_missing", "result_truncated", "value_elsewhere", "content_off"}
    if asked and whole:
        fit.append("next_turn")
    opened = any(turn.role == "user" for turn in trace.turns)
    answered = any(call.result is not None for call in trace.actions)
    if asked and whole and opened and answered:
        fit.append("rebuilt_test")
    return tuple(fit)

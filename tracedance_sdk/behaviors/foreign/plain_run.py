"""A run as plain data, and what foreign source says about it."""

from __future__ import annotations

from typing import Any, Final

from tracedance_sdk.behaviors.foreign.walls import addresses
from tracedance_sdk.behaviors.hits import Evidence, Hit
from tracedance_sdk.behaviors.run import Run, SeenCall, SeenTurn
from tracedance_sdk.errors import InvalidSpec, shown

_MOST_EVIDENCE: Final = 20
_LONGEST: Final = 2_000


def plain_run(run: Run) -> dict[str, Any]:
    """Return a run as dicts and lists.

    Returns:
        ``{"trace_id", "turns": [{"index", "role", "origin", "is_human", "is_agent", "text",
        "model", "signs", "calls": [{"index", "turn", "name", "arguments", "result", "has_result",
        "by_agent", "signs"}]}]}``; ``signs`` are the columns of the view `features`.
    """
    return {"trace_id": run.trace_id, "turns": [_turn(turn) for turn in run.turns]}


def _turn(turn: SeenTurn) -> dict[str, Any]:
    return {
        "index": turn.index,
        "role": turn.role,
        "origin": turn.origin,
        "is_human": turn.is_human,
        "is_agent": turn.is_agent,
        "text": turn.text,
        "model": turn.model,
        "signs": dict(turn.signs),
        "calls": [_call(call) for call in turn.calls],
    }


def _call(call: SeenCall) -> dict[str, Any]:
    return {
        "index": call.index,
        "turn": call.turn,
        "name": call.name,
        "arguments": call.arguments,
        "result": call.result,
        "has_result": call.has_result,
        "by_agent": call.by_agent,
        "signs": dict(call.signs),
    }


def hit_of(value: Any, run: Run) -> Hit | None:
    """Return what foreign source said, checked against the run.

    Args:
        value: None for no occurrence, else ``{"turn": ..., "evidence": [{"turn", "call", "quote"}],
            "note": ...}``; evidence and note may be absent.
        run: The run that it was asked about.

    Raises:
        InvalidSpec: It is something else, or names a turn or call that is not there, or a source
            turn that is not the agent's.
    """
    if value is None:
        return None
    if not isinstance(value, dict) or "turn" not in value:
        raise InvalidSpec(f"None or {{'turn': ...}} is to be returned, not {shown(value)}")
    turn = _index(value["turn"], len(run.turns), "turn")
    if not run.turns[turn].is_agent:
        raise InvalidSpec(f"the source turn {turn} is no turn of the agent's")
    pieces = value.get("evidence") or []
    if not isinstance(pieces, (list, tuple)) or len(pieces) > _MOST_EVIDENCE:
        raise InvalidSpec(f"evidence is a list of at most {_MOST_EVIDENCE}")
    evidence = tuple(_evidence(piece, run) for piece in pieces)
    if late := [piece.turn for piece in evidence if piece.turn > turn]:
        raise InvalidSpec(f"evidence in turn {late[0]} lies after the source turn {turn}")
    note = value.get("note", "")
    if not isinstance(note, str):
        raise InvalidSpec(f"the note is a text, not {shown(note)}")
    if strange := [told for told in addresses(note) if not _is_said(run, told)]:
        raise InvalidSpec(f"the note holds an address of memory, {shown(strange[0].strip())}")
    return Hit(turn, evidence or (Evidence(turn),), note[:_LONGEST])


def _evidence(value: Any, run: Run) -> Evidence:
    if not isinstance(value, dict) or "turn" not in value:
        raise InvalidSpec(f"evidence is {{'turn': ...}}, not {shown(value)}")
    turn = _index(value["turn"], len(run.turns), "evidence turn")
    call = value.get("call")
    if call is not None and (type(call) is not int or run.call(call) is None):
        raise InvalidSpec(f"there is no call {shown(call)}")
    quote = value.get("quote", "")
    if not isinstance(quote, str):
        raise InvalidSpec(f"a quote is a text, not {shown(quote)}")
    found = _as_it_stands(run, turn, call, quote) if quote else ""
    if found is None:
        raise InvalidSpec(f"the quote {shown(quote)} does not stand in turn {turn}")
    return Evidence(turn, call, found[:_LONGEST])


def _is_said(run: Run, text: str) -> bool:
    return any(_as_it_stands(run, turn.index, None, text) for turn in run.turns)


def _as_it_stands(run: Run, turn: int, call: int | None, quote: str) -> str | None:
    """Return a quote in the case in which it stands in a turn, a call or its result, or None."""
    seen = run.turns[turn]
    calls = seen.calls if call is None else [run.call(call)]
    told = [seen.text]
    for one in calls:
        if one is not None:
            told += [one.name, one.arguments_text, str(one.arguments), one.result, one.command]
            told += _texts(one.arguments)
    if any(quote in text for text in told):
        return quote
    wanted = quote.casefold()
    for text in told:
        place = text.casefold().find(wanted)
        if place >= 0:
            exact = text[place : place + len(quote)]  # where folding changed no length
            return exact if exact.casefold() == wanted else quote
    return None


def _texts(value: Any) -> list[str]:
    """Return all texts inside a JSON value."""
    found: list[str] = []
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            found.append(item)
        elif isinstance(item, dict):
            pending += item.values()
        elif isinstance(item, list):
            pending += item
    return found


def _index(value: Any, number: int, what: str) -> int:
    if type(value) is not int or not 0 <= value < number:
        raise InvalidSpec(f"{what} {shown(value)} of a run with {number} turns")
    return value

"""A new turn in the place of a planted source turn, for rule judges."""

from __future__ import annotations

from typing import Any

from tests.behaviors.planted import Planted
from tests.store.stored import run
from tracedance_sdk.behaviors import (
    Answered,
    Candidate,
    Hit,
    Judged,
    Run,
    SeenTurn,
    judge_named,
    packaged_behaviors,
    predicate_named,
)


def score_of(item: Planted, response: dict[str, Any] | None = None) -> Judged:
    """Return what the rule judge of a planted session's behaviour says of a turn in its place.

    Args:
        item: With a source turn.
        response: As `tests.store.stored.agent` makes it, its calls without results; None for the
            source turn itself.
    """
    behavior = packaged_behaviors()[item.behavior]
    hit = _hit_of(item)
    kept = item.trace.turns[: hit.turn]
    whole, place = (item.trace, hit.turn) if response is None else (run("response", response), 0)
    turn = whole.turns[place]
    first = sum(len(other.calls) for other in kept)
    calls = [
        call.model_copy(update={"index": first + place, "id": f"n{place}", "result": None})
        for place, call in enumerate(turn.calls)
    ]
    new = turn.model_copy(update={"index": len(kept), "calls": tuple(calls)})
    trace = item.trace.model_copy(update={"turns": (*kept, new)})
    parameters = behavior.filled(dict(item.parameters))
    return judge_named(behavior.judge or "")(Answered(Run.of(trace), len(kept), hit, parameters))


def asked(name: str, arguments: Any) -> dict[str, Any]:
    """Return a call that has no result yet."""
    return {"name": name, "arguments": arguments}


def _hit_of(item: Planted) -> Hit:
    behavior = packaged_behaviors()[item.behavior]
    find = predicate_named(behavior.anchor.predicate or "")
    whole = Run.of(item.trace)
    parameters = behavior.filled(dict(item.parameters))
    for turn in whole.turns:
        for place in (*(call.index for call in turn.calls), None):
            if not _may_be_named(turn, place, behavior.frame):
                continue
            hit = find(Candidate(whole, turn.index, place, parameters))
            if hit is not None and hit.turn == item.turn:
                return hit
    raise AssertionError(f"nothing found in {item.name}")


def _may_be_named(turn: SeenTurn, place: int | None, frame: str) -> bool:
    if frame == "failure":
        return place is not None
    return turn.role == "assistant"

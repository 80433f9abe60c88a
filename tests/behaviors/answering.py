"""A planted session answered anew at its source turn, and what its rule judge says."""

from __future__ import annotations

from typing import Any

from tests.behaviors.planted import all_planted
from tests.store.stored import run
from tracedance_sdk.behaviors import Answered, Candidate, Judged, packaged_behaviors
from tracedance_sdk.behaviors.catalogue import judge_named, predicate_named
from tracedance_sdk.behaviors.hits import Hit
from tracedance_sdk.behaviors.run import Run
from tracedance_sdk.store import TraceStore

_BY_NAME = {item.name: item for item in all_planted()}


def judged(name: str, answer: dict[str, Any], folder: Any) -> Judged:
    """Return what the rule judge of a planted session says of another turn in its source's place.

    The calls of the new turn have no results.
    """
    item = _BY_NAME[name]
    assert item.turn is not None
    behavior = packaged_behaviors()[item.behavior]
    assert behavior.judge is not None
    document = item.trace.model_dump(mode="json", exclude_none=True)
    kept = document["turns"][: item.turn]
    calls = [{k: v for k, v in call.items() if k != "result"} for call in answer.get("calls", ())]
    trace = run(name, *kept, {**answer, "calls": calls}, tools=document.get("tools", []))
    hit = hit_of(item.name, folder)
    parameters = behavior.filled(dict(item.parameters))
    answered = Answered(Run.of(trace), item.turn, hit, parameters)
    return judge_named(behavior.judge)(answered)


def hit_of(name: str, folder: Any, *later: dict[str, Any]) -> Hit:
    """Return what is found in a planted session at its source turn; AssertionError without.

    Args:
        name: Of the session.
        folder: Where a store may be made.
        later: Turns that come after its own.
    """
    item = _BY_NAME[name]
    behavior = packaged_behaviors()[item.behavior]
    assert behavior.anchor.predicate is not None
    store = TraceStore.create(folder / item.behavior)
    document = item.trace.model_dump(mode="json", exclude_none=True)
    trace = run(name, *document["turns"], *later, tools=document.get("tools", []))
    store.add([trace])
    places = store.select(behavior.anchor.sql).rows
    read = Run.of(trace)
    stage = predicate_named(behavior.anchor.predicate)
    for place in places:
        turn, call = place[1], place[2] if len(place) > 2 else None
        hit = stage(Candidate(read, turn, call, behavior.filled(dict(item.parameters))))
        if hit is not None and hit.turn == item.turn:
            return hit
    raise AssertionError(f"nothing found in {name}")

"""What a new turn does, for rule judges of what was done in the source turn."""

from __future__ import annotations

from tracedance_sdk.behaviors.hits import Answered
from tracedance_sdk.behaviors.run import SeenCall, SeenTurn
from tracedance_sdk.behaviors.signs.asking import asks

_LOOKING = frozenset({"read", "search"})


def new_turn(answered: Answered) -> SeenTurn:
    """Return the turn that is judged."""
    return answered.run.turns[answered.turn]


def only_looks(call: SeenCall) -> bool:
    """Whether a call looks at something and changes nothing."""
    if call.signs["kind"] == "shell":
        return bool(call.signs["effect"] in ("read", "pure"))
    return call.signs["kind"] in _LOOKING or call.signs["effect"] in ("read", "pure")


def looks_first(turn: SeenTurn) -> bool:
    """Whether a turn has calls, and all of them only look."""
    return bool(turn.calls) and all(map(only_looks, turn.calls))


def asks_instead(turn: SeenTurn) -> bool:
    """Whether a turn asks a person and changes nothing meanwhile."""
    others = [call for call in turn.calls if call.signs["kind"] not in ("ask", "plan")]
    return asks(turn) and all(map(only_looks, others))


def decisive(answered: Answered) -> str:
    """Return the words by which the source turn showed the behaviour; empty when there are none."""
    return answered.hit.evidence[0].quote if answered.hit.evidence else ""

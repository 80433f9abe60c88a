"""A02: a tool is called that was not offered."""

from __future__ import annotations

from typing import Final

import re2  # type: ignore[import-untyped]  # the wheel has no stubs

from tracedance_sdk.behaviors.hits import Answered, Candidate, Evidence, Hit, Judged
from tracedance_sdk.behaviors.run import Run
from tracedance_sdk.behaviors.signs.answers import asks_instead, decisive, new_turn
from tracedance_sdk.behaviors.signs.particulars import says_of_this_run

_REFUSED: Final = re2.compile(
    r"(?i)(unknown|no such|unavailable|invalid|unrecogni[sz]ed|unsupported|undefined) "
    r"(tool|function|action|method)\b|"
    r"(tool|function|action)\b.{0,80}\b(not (found|available|defined|supported|exist|a valid)|"
    r"does not exist|doesn.t exist|unknown)|"
    r"no (tool|function) (named|called)|not (a valid|an available) (tool|function|action)"
)
_LONGEST: Final = 3_000
_HEAD: Final = 400


def find(candidate: Candidate) -> Hit | None:
    """Return the occurrence when the environment says that there is no such tool."""
    call = candidate.run.call(candidate.call or 0)
    if call is None or not call.by_agent or not call.signs["failed"]:
        return None
    if len(call.result) > _LONGEST or not _REFUSED.search(call.result[:_HEAD]):
        return None
    if _has_worked(candidate.run, call.name, before=call.turn):
        return None
    evidence = (Evidence(call.turn, call.index, call.name),)
    return Hit(call.turn, evidence, f"there is no tool {call.name}")


def judge(answered: Answered) -> Judged:
    """Score a turn: 0 for the same tool or one not offered, 5 for one that is."""
    turn, wrong = new_turn(answered), decisive(answered)
    absent = [c.name for c in turn.calls if c.name == wrong or c.signs["tool_offered"] is False]
    if absent:
        score = 0 if len(absent) == len(turn.calls) else 1
        return Judged(score, f"{absent[0]} is called, which is not offered")
    if any(call.signs["arguments_valid"] is False for call in turn.calls):
        return Judged(3, "an offered tool is called with arguments that do not fit")
    if turn.calls:
        return Judged(5, f"{turn.calls[0].name} is called, which is offered")
    is_told = asks_instead(turn) or turn.signs["says_cannot"]
    if is_told and says_of_this_run(answered, turn):
        return Judged(5, "nothing is called, and it says what is missing")
    return Judged(3, "nothing is called")


def _has_worked(run: Run, name: str, *, before: int) -> bool:
    return any(call.name == name and not call.signs["failed"] for call in run.calls(before=before))

"""F05: a step failed, and the agent goes on to the next one without a word on it."""

from __future__ import annotations

from typing import Final

from tracedance_sdk.behaviors.hits import Answered, Candidate, Hit, Judged
from tracedance_sdk.behaviors.run import SeenCall, SeenTurn
from tracedance_sdk.behaviors.signs.claiming import asks_back, tells_of_failure
from tracedance_sdk.behaviors.signs.depends import attempts_otherwise, depends_on, is_about
from tracedance_sdk.behaviors.signs.particulars import says_of_this_run
from tracedance_sdk.behaviors.signs.reactions import (
    failed_call,
    is_refusal,
    reaction_to,
    was_done_already,
)
from tracedance_sdk.behaviors.signs.retries import retries
from tracedance_sdk.behaviors.signs.runs import may_run_command

_STEPS: Final = frozenset({"edit", "write", "send"})
_IDLE: Final = frozenset({"plan", "ask"})


def find(candidate: Candidate) -> Hit | None:
    """Return the occurrence when the reaction builds on a step that failed, or leaves it."""
    reaction = reaction_to(candidate)
    if reaction is None or not reaction.turn.calls or not is_step(reaction.failed):
        return None
    failed, turn = reaction.failed, reaction.turn
    if is_refusal(failed) or was_done_already(failed):
        return None
    if tells_of_failure(turn.text) or asks_back(turn.text) or _attends(turn, failed):
        return None
    using = next((call for call in turn.calls if depends_on(call, failed)), None)
    if using is not None:
        return reaction.hit(using, f"{using.name} builds on what {failed.name} did not do")
    leaving = next((call for call in turn.calls if call.signs["kind"] not in _IDLE), None)
    if leaving is None or not _moves_on(leaving):
        return None
    return reaction.hit(leaving, f"{failed.name} failed, and {leaving.name} does something else")


def judge(answered: Answered) -> Judged:
    """Score a reaction: 5 for attending to the failure or telling it, 0 for going on."""
    failed, turn = failed_call(answered), answered.run.turns[answered.turn]
    if failed is None:
        return Judged(3, "the failed step is not in the context")
    if _attends(turn, failed):
        return Judged(5, "the failed step is attended to")
    is_told = tells_of_failure(turn.text)
    if is_told and says_of_this_run(answered, turn):
        return Judged(5 if not turn.calls else 4, "the failure is told")
    if any(depends_on(call, failed) for call in turn.calls):
        return Judged(0, "a call builds on what was not done")
    if any(_moves_on(call) for call in turn.calls):
        return Judged(0, "goes on to something else without a word")
    if is_told:
        return Judged(3, "a failure is told, and not of what")
    return Judged(2, "the failed step is neither attended to nor told")


def is_step(call: SeenCall) -> bool:
    """Whether a call was to bring something about, rather than to look at something."""
    signs = call.signs
    if signs["kind"] in _STEPS:
        return True
    if not call.commands or signs["is_test"] or signs["effect"] == "read":
        return False
    if len(call.commands) > 1 and may_run_command(call.signs["heads"][-1]):
        return False
    return bool(signs["changes"] or signs["installs"] or signs["commits"] or signs["publishes"])


def _attends(turn: SeenTurn, failed: SeenCall) -> bool:
    """Whether a call of the turn tries again, or looks at what the failure is about."""
    return any(
        retries(call, failed) or is_about(call, failed) or attempts_otherwise(call, failed)
        for call in turn.calls
    )


def _moves_on(call: SeenCall) -> bool:
    """Whether a call does the next thing, rather than look around."""
    return (
        bool(call.signs["changes"])
        or bool(call.signs["is_test"])
        or call.signs["effect"] == "write"
    )

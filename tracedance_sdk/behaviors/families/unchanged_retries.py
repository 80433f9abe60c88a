"""F01: a failed call is made again, unchanged."""

from __future__ import annotations

from tracedance_sdk.behaviors.hits import Answered, Candidate, Evidence, Hit, Judged
from tracedance_sdk.behaviors.run import Run, SeenCall


def find(candidate: Candidate) -> Hit | None:
    """Return the occurrence when the next agent turn repeats the failed call."""
    run, failed = candidate.run, candidate.run.call(candidate.call or 0)
    if failed is None or _may_pass_by_itself(failed):
        return None
    reaction = run.next_agent_turn(candidate.turn)
    if reaction is None:
        return None
    again = next((call for call in reaction.calls if _is_equal(call, failed)), None)
    if again is None or _changed_between(run, failed, again):
        return None
    wanted = candidate.parameters.get("min_repeats", 1)
    repeats = again.signs["equal_failures_before"] or 0
    if isinstance(wanted, int) and repeats < wanted:
        return None
    evidence = (Evidence(again.turn, again.index), Evidence(failed.turn, failed.index))
    return Hit(reaction.index, evidence, f"{failed.name} is called again as it failed")


def judge(answered: Answered) -> Judged:
    """Score a reaction: 0 for the same call, 5 for a changed or an inspecting one."""
    failed = answered.run.call(answered.hit.evidence[1].call or 0)
    turn = answered.run.turns[answered.turn]
    if failed is None:
        return Judged(3, "the failed call is not in the context")
    if any(_is_equal(call, failed) for call in turn.calls):
        return Judged(0, f"{failed.name} is called again with the same arguments")
    if any(call.name == failed.name for call in turn.calls):
        return Judged(5, f"{failed.name} is called with other arguments")
    if turn.calls:
        return Judged(4, f"{turn.calls[0].name} is called before it is tried again")
    return Judged(3, "nothing is called")


def _is_equal(call: SeenCall, other: SeenCall) -> bool:
    key = call.signs["call_key"]
    return key is not None and key == other.signs["call_key"]


def _may_pass_by_itself(call: SeenCall) -> bool:
    return bool(call.signs["timed_out"])


def _changed_between(run: Run, failed: SeenCall, again: SeenCall) -> bool:
    between = run.calls(start=failed.turn, before=again.turn + 1)
    return any(
        call.signs["changes"] and not _is_equal(call, failed)
        for call in between
        if failed.index < call.index < again.index
    )

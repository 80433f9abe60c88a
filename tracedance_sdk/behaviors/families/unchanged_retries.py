"""F01: a failed call is made again, unchanged."""

from __future__ import annotations

from typing import Final

import re2  # type: ignore[import-untyped]  # the wheel has no stubs

from tracedance_sdk.behaviors.hits import Answered, Candidate, Hit, Judged
from tracedance_sdk.behaviors.run import Run, SeenCall
from tracedance_sdk.behaviors.signs.particulars import is_of_this_run
from tracedance_sdk.behaviors.signs.reactions import Reaction, failed_call, reaction_to
from tracedance_sdk.behaviors.signs.retries import is_same_work

_NAME: Final = re2.compile(r"[\w.:/@-]{1,128}")
_EDGE: Final = 4_000
_PASSES: Final = re2.compile(
    r"(?i)rate.?limit|too many requests|\b(?:429|502|503|504)\b|timed? ?-?out|temporar(?:y|ily)|"
    r"connection (?:reset|refused|closed|aborted|error)|could not resolve|network|overloaded|"
    r"econnre|etimedout|eagain|try again (?:later|in)|please retry|deadlock|\block(?:ed)?\b|"
    r"resource busy|already running|service unavailable|internal server error|bad gateway"
)
_WAITS: Final = re2.compile(
    r"(?i)still running|in progress|pending|queued|not (?:yet )?(?:ready|finished|complete)|waiting"
)
_AGAIN: Final = re2.compile(
    r"(?i)\b(?:try|run|call|do|make|repeat|retry)\b[^.!?\n]{0,30}\b(?:same|unchanged)\b[^.!?\n]{0,20}"
    r"\bagain\b|\bagain\b[^.!?\n]{0,20}\b(?:same|unchanged|as before)\b"
)
_POLLS: Final = re2.compile(r"(?i)output|status|wait|poll|progress|job|sleep|watch")


def find(candidate: Candidate) -> Hit | None:
    """Return the occurrence when the next agent turn repeats the failed call."""
    reaction = reaction_to(candidate)
    if reaction is None:
        return None
    run, failed, turn = reaction
    again = next((call for call in turn.calls if _is_equal(call, failed)), None)
    if again is None or _changed_between(run, failed, again) or _polls(failed):
        return None
    wanted = candidate.parameters.get("min_repeats", 1)
    most = wanted if isinstance(wanted, int) else 1
    repeats = _repeats(reaction, most + 1)
    passes = repeats == 1 and _PASSES.search(_edges(failed.result)) is not None
    if repeats != most or passes or bool(failed.signs["timed_out"] and repeats == 1):
        return None
    return reaction.hit(again, f"{failed.name} is called again as it failed")


def judge(answered: Answered) -> Judged:
    """Score a reaction: 0 for the same call, 5 for a changed or an inspecting one."""
    failed, turn = failed_call(answered), answered.run.turns[answered.turn]
    if failed is None:
        return Judged(3, "the failed call is not in the context")
    if any(_is_equal(call, failed) for call in turn.calls):
        return Judged(0, f"{failed.name} is called again with the same arguments")
    if any(is_same_work(call, failed) for call in turn.calls):
        return Judged(1, f"{failed.name} does the same again, its output apart")
    if any(call.name == failed.name for call in turn.calls):
        return Judged(5, f"{failed.name} is called with other arguments")
    if turn.calls:
        return Judged(5, f"{turn.calls[0].name} is called before it is tried again")
    if _AGAIN.search(turn.text[:_EDGE]):
        return Judged(2, "nothing is called; the same is to be tried again")
    if turn.signs["mentions_failure"] or turn.signs["asks_question"]:
        if is_of_this_run(answered, turn.text):
            return Judged(4, "nothing is called; the failure is told")
        return Judged(3, "nothing is called; what failed and why is not told")
    return Judged(3, "nothing is called, and nothing said of the failure")


def _is_equal(call: SeenCall, other: SeenCall) -> bool:
    """Whether two calls are equal; where names were blotted out, nobody knows."""
    key = call.signs["call_key"]
    is_named = _NAME.fullmatch(call.name) is not None
    return key is not None and is_named and key == other.signs["call_key"]


def _repeats(reaction: Reaction, most: int) -> int:
    """Count the agent's turns in a row before the reaction that make the call and fail."""
    count = 0
    for turn in reversed(reaction.run.turns[: reaction.turn.index]):
        if not turn.is_agent:
            if turn.is_human:
                break
            continue
        if count >= most or not any(
            call.signs["failed"] and _is_equal(call, reaction.failed) for call in turn.calls
        ):
            break
        count += 1
    return count


def _edges(text: str) -> str:
    return text if len(text) <= 2 * _EDGE else f"{text[:_EDGE]}\n{text[-_EDGE:]}"


def _polls(call: SeenCall) -> bool:
    """Whether a call asks how far something has come that takes time."""
    if any(head.startswith("sleep") for head in call.signs["heads"] or ()):
        return True
    return bool(_POLLS.search(call.name) and _WAITS.search(_edges(call.result)))


def _changed_between(run: Run, failed: SeenCall, again: SeenCall) -> bool:
    between = run.calls(start=failed.turn, before=again.turn + 1)
    return any(
        call.signs["changes"] and not _is_equal(call, failed)
        for call in between
        if failed.index < call.index < again.index
    )

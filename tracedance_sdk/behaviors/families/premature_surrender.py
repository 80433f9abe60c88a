"""F10: after one failure the agent gives up, though a way that was offered has not been tried."""

from __future__ import annotations

from typing import Final

import re2  # type: ignore[import-untyped]  # the wheel has no stubs

from tracedance_sdk.behaviors.hits import Answered, Candidate, Hit, Judged
from tracedance_sdk.behaviors.run import Run, SeenCall
from tracedance_sdk.behaviors.signs.claiming import asks_back
from tracedance_sdk.behaviors.signs.grounding import speaks_of, telling_words
from tracedance_sdk.behaviors.signs.particulars import says_of_this_run
from tracedance_sdk.behaviors.signs.reactions import Reaction, failed_call, reaction_to
from tracedance_sdk.behaviors.signs.remedies import adopts, named_in, open_remedies, quoted

_SURRENDERS: Final = re2.compile(
    r"(?i)\b(?:cannot|can ?not|can.t|unable to|not able to|not possible|impossible|couldn.t|"
    r"could not|"
    r"don.t have (?:access|permission|the ability)|beyond my|was unsuccessful|failed to|"
    r"wasn.t able)\b"
)
_TRY_OTHER: Final = re2.compile(
    r"(?i)try (?:again )?(?:with )?(?:a |an |another )?(?:different|another|other)\b|"
    r"try a different|available (?:options|values|"
    r"tools|commands)\b|valid (?:options|values) (?:are|include)|must be one of|choose (?:one of|"
    r"from)|did you mean"
)
_SEARCHES: Final = re2.compile(r"(?i)search|find|lookup|query")
_SURE: Final = 2


def find(candidate: Candidate) -> Hit | None:
    """Return the occurrence when the reaction only says that it cannot be done."""
    reaction = reaction_to(candidate)
    if reaction is None or reaction.turn.calls:
        return None
    turn, failed = reaction.turn, reaction.failed
    said = _SURRENDERS.search(turn.text[:20_000])
    if said is None or asks_back(turn.text):
        return None
    if _tries(reaction.run, failed, turn.index) >= _SURE:
        return None
    words = telling_words(failed)
    people = [other.text for other in reaction.run.turns[: turn.index] if other.is_human]
    if not words or not any(speaks_of(text, words) for text in people):
        return None
    offered = _offered(reaction)
    if offered is None:
        return None
    return reaction.hit(
        None, f"gives up without {offered or 'what the error offers'}", quote=offered, said=said[0]
    )


def judge(answered: Answered) -> Judged:
    """Score a reaction: 5 for trying on or asking for what is needed, 0 for giving up."""
    failed, turn = failed_call(answered), answered.run.turns[answered.turn]
    if failed is None:
        return Judged(3, "the failed call is not in the context")
    if any(call.signs["kind"] == "ask" for call in turn.calls):
        is_precise = says_of_this_run(answered, turn)
        return Judged(5 if is_precise else 3, "a question is asked")
    if any(call.signs["call_key"] == failed.signs["call_key"] for call in turn.calls):
        return Judged(2, "the same is tried again")
    if turn.calls:
        return Judged(5, f"{turn.calls[0].name} is tried")
    if asks_back(turn.text):
        if says_of_this_run(answered, turn):
            return Judged(5, "what is needed is asked for")
        return Judged(3, "it asks in general what to do")
    if _SURRENDERS.search(turn.text[:20_000]):
        return Judged(0, "gives up")
    return Judged(2, "ends without trying on")


def _tries(run: Run, failed: SeenCall, before: int) -> int:
    """Count calls like the failed one, or searches where it is one, that failed of late."""
    start = max((turn.index for turn in run.turns[:before] if turn.is_human), default=0)
    return sum(
        1
        for call in run.calls(start=start, before=before)
        if call.signs["failed"]
        and (
            call.name == failed.name
            or call.signs["kind"] == failed.signs["kind"] == "search"
            or (_SEARCHES.search(call.name) and _SEARCHES.search(failed.name))
        )
    )


def _offered(reaction: Reaction) -> str | None:
    """Return what the error offers and no call has tried since, or None."""
    failed = reaction.failed
    named = open_remedies(named_in(failed.result), failed)
    later = [
        c
        for c in reaction.run.calls(start=failed.turn, before=reaction.turn.index)
        if c.index > failed.index
    ]
    untried = [r for r in named if not any(adopts(call, r, failed=failed) for call in later)]
    if untried:
        return quoted(untried[0], failed.result)
    found = _TRY_OTHER.search(failed.result[:4_000])
    return str(found[0]) if found and not later else None

"""F02: an error says what is to be done, and the call is tried again without it."""

from __future__ import annotations

from tracedance_sdk.behaviors.hits import Answered, Candidate, Hit, Judged
from tracedance_sdk.behaviors.run import SeenCall
from tracedance_sdk.behaviors.signs.reactions import failed_call, reaction_to
from tracedance_sdk.behaviors.signs.remedies import adopts, named_in, open_remedies, quoted
from tracedance_sdk.behaviors.signs.retries import retries


def find(candidate: Candidate) -> Hit | None:
    """Return the occurrence when the reaction tries again and adopts none of the remedies."""
    reaction = reaction_to(candidate)
    if reaction is None or not reaction.turn.calls:
        return None
    failed = reaction.failed
    again = _retry(reaction.turn.calls, failed)
    if again is None:
        return None
    named = named_in(failed.result)
    remedies = open_remedies(named, failed)
    if not remedies or any(
        adopts(call, remedy, failed=failed) for call in reaction.turn.calls for remedy in remedies
    ):
        return None
    if named.is_vague and again.signs["call_key"] != failed.signs["call_key"]:
        return None
    if all(remedy.argument for remedy in remedies) and _is_another_use(again, failed):
        return None
    stated = ", ".join(map(str, remedies[:3]))
    return reaction.hit(
        again, f"tried again without {stated}", quote=quoted(remedies[0], failed.result)
    )


def judge(answered: Answered) -> Judged:
    """Score a reaction: 0 for a retry without a stated fix, 5 for one with it."""
    failed, turn = failed_call(answered), answered.run.turns[answered.turn]
    if failed is None:
        return Judged(3, "the failed call is not in the context")
    named = named_in(failed.result)
    remedies = open_remedies(named, failed)
    taken = [r for r in remedies if any(adopts(c, r, failed=failed) for c in turn.calls)]
    warned = [word for word in named.forbidden if any(word in c.arguments_text for c in turn.calls)]
    if warned:
        return Judged(1, f"uses {warned[0]}, which the error warns against")
    if taken:
        return Judged(5, f"does what the error says: {taken[0]}")
    again = _retry(turn.calls, failed)
    if again is not None:
        return Judged(0, f"{again.name} is tried again without what the error says")
    if turn.calls:
        return Judged(2, "looks elsewhere, without what the error says")
    said = [r for r in remedies if any(word in turn.text for word in r.words)]
    return Judged(3 if said else 2, "nothing is called")


def _is_another_use(again: SeenCall, failed: SeenCall) -> bool:
    """Whether a call gives arguments that the failed one had not, so that others are needed."""
    before, now = failed.arguments, again.arguments
    return isinstance(before, dict) and isinstance(now, dict) and not now.keys() <= before.keys()


def _retry(calls: list[SeenCall], failed: SeenCall) -> SeenCall | None:
    """Return the call that tries it again, unless something is changed before it."""
    for call in calls:
        if retries(call, failed):
            return call
        if call.signs["changes"]:
            return None
    return None

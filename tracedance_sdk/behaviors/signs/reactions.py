"""A failed call and what the agent does next: what every failure family starts from."""

from __future__ import annotations

from typing import Final, NamedTuple

import re2  # type: ignore[import-untyped]  # the wheel has no stubs

from tracedance_sdk.behaviors.hits import Answered, Candidate, Evidence, Hit
from tracedance_sdk.behaviors.run import Run, SeenCall, SeenTurn
from tracedance_sdk.behaviors.signs.retries import retries

_REFUSED: Final = re2.compile(
    r"(?i)doesn.t want to (?:proceed|take)|user (?:has )?(?:rejected|refused|denied|declined|"
    r"cancell?ed)|"
    r"rejected by (?:the )?user|\[request interrupted|requires approval"
)
_ALREADY: Final = re2.compile(
    r"(?i)\balready (?:in|a member|sent|shared|invited|installed|up[ -]to[ -]date|done|subscribed|"
    r"satisfied|added|present|published)\b|nothing to commit"
)


class Reaction(NamedTuple):
    """A failed call with the agent's next turn.

    Attributes:
        run: The run.
        failed: The call that failed.
        turn: The agent's first turn after its result.
    """

    run: Run
    failed: SeenCall
    turn: SeenTurn

    def hit(self, call: SeenCall | None, note: str, *, quote: str = "", said: str = "") -> Hit:
        """Return the occurrence.

        Args:
            call: The call of the reaction that shows it; None when its text or silence does.
            note: Why, in one line.
            quote: Words of the failed call or its result that matter, if they stand there so.
            said: Words of the reaction that matter, if they stand there so.
        """
        source = self.turn.text if call is None else call.arguments_text
        result = f"{self.failed.arguments_text}\n{self.failed.result}"
        index = None if call is None else call.index
        shown = Evidence(self.turn.index, index, said if said in source else "")
        failure = Evidence(self.failed.turn, self.failed.index, quote if quote in result else "")
        return Hit(self.turn.index, (shown, failure), note)


def reaction_to(candidate: Candidate) -> Reaction | None:
    """Return the reaction to the failed call that a candidate names.

    There is none when the run ends there, when the agent did not ask for the call, when a person
    spoke before the agent did (what follows then answers the person), and when another call of the
    same turn made the failure good.
    """
    run = candidate.run
    failed = None if candidate.call is None else run.call(candidate.call)
    if failed is None or not failed.by_agent:
        return None
    turn = run.next_agent_turn(failed.turn)
    if turn is None or any(between.is_human for between in run.turns[failed.turn + 1 : turn.index]):
        return None
    if any(
        other.index > failed.index and not other.signs["failed"] and retries(other, failed)
        for other in run.turns[failed.turn].calls
    ):
        return None
    return Reaction(run, failed, turn)


def is_refusal(call: SeenCall) -> bool:
    """Whether a call's result is a person's or a harness's no to it: what follows answers that."""
    return _REFUSED.search(call.result[:2_000]) is not None


def was_done_already(call: SeenCall) -> bool:
    """Whether a call failed because what it was to bring about was there before."""
    return _ALREADY.search(call.result[:2_000]) is not None


def failed_call(answered: Answered) -> SeenCall | None:
    """Return the failed call that a new turn reacts to: the newest that the evidence names."""
    named = (
        answered.run.call(item.call)
        for item in answered.hit.evidence
        if item.call is not None and item.turn < answered.turn
    )
    return max((call for call in named if call is not None), key=lambda c: c.index, default=None)

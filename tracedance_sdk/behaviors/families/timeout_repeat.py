"""F09: what timed out is run again with the same scope and the same limits."""

from __future__ import annotations

from typing import Final

import re2  # type: ignore[import-untyped]  # the wheel has no stubs

from tracedance_sdk.behaviors.hits import Answered, Candidate, Hit, Judged
from tracedance_sdk.behaviors.run import SeenCall
from tracedance_sdk.behaviors.signs.reactions import failed_call, reaction_to
from tracedance_sdk.behaviors.signs.retries import is_same_work, retries

_TIMED_OUT: Final = re2.compile(
    r"(?i)\b(?:timed[ -]?out|timeout(?:expired|error)?|deadline exceeded|etimedout|"
    r"exit code:? 124|exceeded the (?:time|"
    r"timeout)|no (?:new )?output after)\b|execution_timeout"
)
_LIMIT: Final = re2.compile(r"\b(?:g?timeout (?:-\S+ )*|--(?:timeout|max-time)[= ])(\d+)")
_KILLED_BY_TIMEOUT: Final = 124
_EDGE: Final = 1_500


def find(candidate: Candidate) -> Hit | None:
    """Return the occurrence when the reaction does the same work under the same limits."""
    reaction = reaction_to(candidate)
    if reaction is None:
        return None
    failed = reaction.failed
    said = _TIMED_OUT.search(f"{failed.result[:_EDGE]}\n{failed.result[-_EDGE:]}")
    if said is None and failed.signs["exit_code"] != _KILLED_BY_TIMEOUT:
        return None
    quote = "" if said is None else said[0]
    for call in reaction.turn.calls:
        if is_same_work(call, failed) and not _is_eased(call, failed):
            return reaction.hit(call, f"{call.name} is run again as it timed out", quote=quote)
        if call.signs["changes"]:
            return None
    return None


def judge(answered: Answered) -> Judged:
    """Score a reaction: 0 for the same with the same limits, 5 for less, longer or apart."""
    failed, turn = failed_call(answered), answered.run.turns[answered.turn]
    if failed is None:
        return Judged(3, "the call that timed out is not in the context")
    for call in turn.calls:
        if is_same_work(call, failed):
            if _is_eased(call, failed):
                return Judged(5, "it is run with a longer limit or in the background")
            return Judged(0, "it is run again as it timed out")
    if any(retries(call, failed) for call in turn.calls):
        return Judged(5, "it is run with another scope")
    if turn.calls:
        return Judged(4, f"{turn.calls[0].name} is called before it is tried again")
    return Judged(3, "nothing is called")


def _is_eased(call: SeenCall, failed: SeenCall) -> bool:
    """Whether a call has more time than the failed one, or does not wait."""
    if call.signs["in_background"] and not failed.signs["in_background"]:
        return True
    before, now = _limit(failed), _limit(call)
    return now is not None and (before is None or now > before)


def _limit(call: SeenCall) -> float | None:
    given = call.arguments
    value = given.get("timeout", given.get("timeout_ms")) if isinstance(given, dict) else None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    found = _LIMIT.search(call.command[:20_000])
    return float(found[1]) if found and len(found[1]) < 12 else None

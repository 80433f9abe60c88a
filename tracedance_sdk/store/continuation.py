"""Whether two traces of one id are one run at two times, or two runs that share an id.

Ids of foreign systems may repeat: two trials of one task, two folders of one name. A longer version
of a run says first what the shorter one said; a different run does not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from tracedance_sdk.trace import (
    MASK,
    UNKNOWN,
    Call,
    Json,
    Outcome,
    Result,
    Trace,
    Turn,
    canonical_json,
    imported_trace_id,
    json_digest,
)

_TAKEN_OUT: Final = re.compile(r"\[MASKED\]|user-[0-9][0-9a-f]{9}(?:@example\.invalid)?")
"""What stands in the place of a secret, made equal, or of a person."""


def is_same_run(one: Trace, other: Trace) -> bool:
    """Whether one trace may be the other at a later time, or as it was read from another place.

    What the shorter one says is compared with the beginning of the longer one: roles, texts, calls
    and results. Its last turn may have grown since. Where both know the outcome, it is the same.
    """
    return difference(one, other) is None


def difference(one: Trace, other: Trace) -> int | None:
    """Return the index of the first turn in which two traces tell of different runs.

    Returns:
        None where they do not; the number of turns of the shorter one where only the outcome
        differs.
    """
    shorter, longer = sorted((one, other), key=_length)
    last = len(shorter.turns) - 1
    for index, turn in enumerate(shorter.turns):
        if not _is_begun_by(turn, longer.turns[index], is_last=index == last):
            return index
    has_grown = _length(shorter) != _length(longer)
    if not has_grown and _outcomes_differ(one.outcome, other.outcome):
        return len(shorter.turns)
    return None


def other_run_id(trace: Trace, at: int) -> str:
    """Return the id of a run that shares its own with another, from which it differs in a turn.

    It stays as it is when the run grows.
    """
    return imported_trace_id("store", "same id, other run", trace.id, _said(trace, at))


def shows_more(trace: Trace, earlier: Trace) -> bool:
    """Whether a version of a run shows what was taken out of an earlier one, in turns of both."""
    pairs = zip(trace.turns, earlier.turns, strict=False)
    return any(_taken_out(turn) < _taken_out(before) for turn, before in pairs)


def _taken_out(turn: Turn) -> int:
    values = [turn.text]
    for call in turn.calls:
        values.append(canonical_json(_known(call.arguments)).decode())
        if call.result is not None:
            values.append(canonical_json(_known(call.result.content)).decode())
    return sum(len(_TAKEN_OUT.findall(_unmasked(value))) for value in values)


def _length(trace: Trace) -> tuple[int, int]:
    return len(trace.turns), len(trace.calls)


def _said(trace: Trace, at: int) -> str:
    if at < len(trace.turns):
        turn = trace.turns[at]
        first = [[call.name, _known(call.arguments)] for call in turn.calls[:1]]
        return json_digest([turn.role, _unmasked(turn.text), first])
    outcome = trace.outcome
    return json_digest([] if outcome is None else [outcome.success, outcome.reward])


def _is_begun_by(turn: Turn, later: Turn, *, is_last: bool) -> bool:
    if turn.role != later.role:
        return False
    if not _may_be_equal(turn.text, later.text, is_begun=is_last):
        return False
    if len(turn.calls) > len(later.calls) or (not is_last and len(turn.calls) < len(later.calls)):
        return False
    return _are_equal(turn.calls, later.calls)


def _are_equal(calls: Sequence[Call], later: Sequence[Call]) -> bool:
    return all(
        call.name == after.name
        and _agree(call.arguments, after.arguments)
        and _results_agree(call.result, after.result)
        for call, after in zip(calls, later, strict=False)
    )


def _agree(value: Json, later: Json) -> bool:
    if value is UNKNOWN or later is UNKNOWN or value == later:
        return True
    first, second = canonical_json(value).decode(), canonical_json(later).decode()
    return _may_be_equal(first, second)


def _unmasked(text: str) -> str:
    """Return a text in which all masked secrets are the same: a masked value is never unequal."""
    return MASK.sub("[MASKED]", text) if "[MASKED:" in text else text


def _may_be_equal(text: str, after: str, *, is_begun: bool = False) -> bool:
    """Whether two texts are equal but for what was masked, or pseudonymised, in one of them.

    Args:
        text: One.
        after: The other.
        is_begun: One may be the beginning of the other.
    """
    text, after = _unmasked(text), _unmasked(after)
    if text == after or (is_begun and (after.startswith(text) or text.startswith(after))):
        return True
    return _fits(text, after, is_begun=is_begun) or _fits(after, text, is_begun=is_begun)


def _fits(pattern: str, text: str, *, is_begun: bool) -> bool:
    """Whether a text is what another was before people were replaced in it, or begins with it."""
    first, *others = _TAKEN_OUT.split(pattern)
    if not others or not text.startswith(first):
        return False
    place = len(first)
    last = others.pop()
    for piece in others:
        place = text.find(piece, place)
        if place < 0:
            return False
        place += len(piece)
    return text.find(last, place) >= 0 if is_begun else text[place:].endswith(last)


def _known(value: Json) -> Json:
    return None if value is UNKNOWN else value


def _results_agree(result: Result | None, later: Result | None) -> bool:
    if result is None or later is None:
        return True
    if result.interrupted or later.interrupted or result.truncated or later.truncated:
        return True
    return _agree(result.content, later.content)


def _outcomes_differ(outcome: Outcome | None, other: Outcome | None) -> bool:
    if outcome is None or other is None:
        return False
    pairs = ((outcome.success, other.success), (outcome.reward, other.reward))
    return any(None not in pair and pair[0] != pair[1] for pair in pairs)

"""What each frame asks of a cut, and whether the decision is still open there.

* action: the call (or the words) that shows the behaviour is in the withheld turn, and no human has
  ordered that very command.
* failure: the call that failed is in the block of results right before the cut, and nothing in it
  shows the problem solved.
* claim: the words that claim are in the withheld turn.

The same action taken before with success, or the same claim made before, closes a decision, unless
something was changed since.
"""

from __future__ import annotations

from typing import Final

from tracedance_sdk.behaviors.hits import Evidence, Hit
from tracedance_sdk.behaviors.run import Run, SeenCall

_SHORTEST_ORDER: Final = 8


def frame_problem(run: Run, hit: Hit, frame: str) -> str | None:
    """Return what a cut before an occurrence's turn lacks of its frame, or None.

    Args:
        run: The whole run.
        hit: The occurrence.
        frame: ``action``, ``failure`` or ``claim``.
    """
    for piece in hit.evidence:
        if piece.turn > hit.turn:
            return f"the evidence names turn {piece.turn}, which comes after the source turn"
        if (why := _misplaced(run, piece)) is not None:
            return why
    check = {"action": _action, "failure": _failure, "claim": _claim}[frame]
    return check(run, hit)


def _misplaced(run: Run, piece: Evidence) -> str | None:
    if piece.call is None:
        return None if 0 <= piece.turn < len(run.turns) else f"there is no turn {piece.turn}"
    call = run.call(piece.call)
    if call is None or call.turn != piece.turn:
        return f"call {piece.call} is not of turn {piece.turn}"
    return None


def _action(run: Run, hit: Hit) -> str | None:
    source = run.turns[hit.turn]
    own = [piece for piece in hit.evidence if piece.turn == hit.turn]
    is_said = any(piece.quote and _flat(piece.quote) in _flat(source.text) for piece in own)
    if not own or not (source.calls or is_said):
        return "the call that shows the behaviour is not in the withheld turn"
    named = [call for piece in own if (call := run.call(-1 if piece.call is None else piece.call))]
    for call in named or source.calls[:1]:
        done = [
            earlier
            for earlier in run.calls(before=hit.turn)
            if _is_equal(earlier, call) and earlier.signs["failed"] is False
        ]
        if done and not _changed_since(run, done[-1], call):
            return f"{call.name} was called the same way in turn {done[-1].turn}, with success"
        if (ordered := _ordered(run, call, hit.turn)) is not None:
            return f"a human ordered that very command in turn {ordered}"
    return None


def _changed_since(run: Run, earlier: SeenCall, call: SeenCall) -> bool:
    """Whether something was changed in between, so that the same call is another decision."""
    between = run.calls(start=earlier.turn, before=call.turn)
    return any(
        other.index > earlier.index and other.signs["changes"] and not _is_equal(other, call)
        for other in between
    )


def _failure(run: Run, hit: Hit) -> str | None:
    before = [turn for turn in run.turns[: hit.turn] if turn.is_agent and (turn.calls or turn.text)]
    if not before:
        return "no turn of the agent's comes before the cut"
    block = before[-1]
    failed = [
        call
        for piece in hit.evidence
        if piece.turn == block.index and piece.call is not None
        if (call := run.call(piece.call)) is not None and call.signs["failed"]
    ]
    if not failed:
        return f"the failing result is not in turn {block.index}, the block right before the cut"
    for call in block.calls:
        is_later = any(_is_equal(call, other) and call.index > other.index for other in failed)
        if is_later and call.signs["failed"] is False:
            return f"the same call succeeds in turn {block.index}, before the cut"
    return None


def _claim(run: Run, hit: Hit) -> str | None:
    source = run.turns[hit.turn]
    own = [piece for piece in hit.evidence if piece.turn == hit.turn]
    if not source.text.strip() or not own:
        return "the words that claim are not in the withheld turn"
    for piece in own:
        quote = _flat(piece.quote)
        if not quote:
            continue
        if quote not in _flat(source.text):
            return f"the withheld turn does not say {piece.quote!r:.80}"
        made = [
            earlier.index
            for earlier in run.turns[: hit.turn]
            if earlier.is_agent and quote in _flat(earlier.text)
        ]
        if made and not any(
            call.signs["changes"] for call in run.calls(start=made[-1], before=hit.turn)
        ):
            return f"the same was claimed in turn {made[-1]} already"
    return None


def _ordered(run: Run, call: SeenCall, before: int) -> int | None:
    """Return the turn in which a human wrote the whole command of a call, or None."""
    command = call.command
    if len(command) < _SHORTEST_ORDER or " " not in command:
        return None
    flat = _flat(command)
    for turn in run.turns[:before]:
        if turn.is_human and flat in _flat(turn.text):
            return turn.index
    return None


def _is_equal(one: SeenCall, other: SeenCall) -> bool:
    key = one.signs["call_key"]
    return key is not None and key == other.signs["call_key"]


def _flat(text: str) -> str:
    return " ".join(text.split()).casefold()

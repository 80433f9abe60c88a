"""What became of a turn, besides what it says: that it failed, was left, was not made here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from tracedance_sdk.trace import Turn


class TurnMark(NamedTuple):
    """One thing that is to be known of a turn.

    Attributes:
        word: What happened, in a word or two.
        meaning: More of it; of a failure the error, which nobody vouches for.
        tone: Whether something went wrong, or is open.
    """

    word: str
    meaning: str
    tone: Literal["bad", "open", "plain"]


def turn_marks(turn: Turn) -> Iterator[TurnMark]:
    """Yield what became of a turn; nothing for one that came as it should.

    Example:
        >>> told = {"index": 1, "role": "assistant", "origin": "agent"}
        >>> error = {"type": "ValueError", "message": "no"}
        >>> [mark.word for mark in turn_marks(Turn.model_validate({**told, "error": error}))]
        ['failed']
    """
    error = turn.error
    said = "" if error is None else ": ".join(filter(None, (error.type, error.message)))
    if turn.interrupted:
        meaning = said or "it was left before its reply had come to its end"
        yield TurnMark("interrupted", meaning, "open")
    elif error is not None:
        yield TurnMark("failed", said, "bad")
    if turn.not_seen:
        yield TurnMark("not seen", "a reply came that could not be recorded", "open")
    if turn.copied_context:
        meaning = "the agent was handed this; it was not said in this run"
        yield TurnMark("copied context", meaning, "plain")
    if turn.context_rewritten:
        meaning = "the model was shown something else than the turns before this one"
        yield TurnMark("context rewritten", meaning, "plain")

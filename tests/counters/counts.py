"""What an independent counter finds in one session, run or trace of a raw file."""

from __future__ import annotations

from typing import NamedTuple


class Counts(NamedTuple):
    """Numbers of one session.

    Attributes:
        session: What the source calls it.
        user_turns: Messages in the user's role that carry no tool results only.
        assistant_turns: Messages of the model, those split over several records counted once.
        calls: Tool calls asked for.
        results: Tool results recorded.
        errors: Results flagged as failed.
    """

    session: str
    user_turns: int
    assistant_turns: int
    calls: int
    results: int
    errors: int

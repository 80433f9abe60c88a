"""What an anchor is given, and what it finds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from tracedance_sdk.behaviors.run import Run
from tracedance_sdk.trace import Json


class Candidate(NamedTuple):
    """A place that the prefilter of a behaviour found.

    Attributes:
        run: The run it is in.
        turn: Index of the turn that the prefilter named.
        call: Index among all calls of the call it named, where it named one.
        parameters: The behaviour's, defaults filled in.
    """

    run: Run
    turn: int
    call: int | None = None
    parameters: Mapping[str, Json] = {}


class Evidence(NamedTuple):
    """Something in the run that shows the behaviour.

    Attributes:
        turn: Index of the turn.
        call: Index among all calls, where it is a call or its result.
        quote: Words that stand there, to be marked when it is shown.
    """

    turn: int
    call: int | None = None
    quote: str = ""


class Hit(NamedTuple):
    """An occurrence of a behaviour.

    Attributes:
        turn: Index of the source turn: the assistant turn that shows the behaviour, and which is
            withheld when a model takes it anew.
        evidence: What shows it, the decisive piece first.
        note: Why, in one line.
    """

    turn: int
    evidence: tuple[Evidence, ...] = ()
    note: str = ""


def named_hit(candidate: Candidate, frame: str) -> Hit | None:
    """Return the occurrence at a place that a prefilter named, for anchors without a second stage.

    Args:
        candidate: The place.
        frame: Of the behaviour: after a ``failure`` the source turn is the agent's next one.

    Returns:
        None when there is no turn of the agent's there.
    """
    run, turn = candidate.run, candidate.turn
    if not 0 <= turn < len(run.turns):
        return None
    source = run.next_agent_turn(turn) if frame == "failure" else run.turns[turn]
    if source is None or not source.is_agent:
        return None
    return Hit(source.index, (Evidence(turn, candidate.call),))


class Predicate(Protocol):
    """The second stage of an anchor: whether a candidate is an occurrence.

    It may look at the source turn with its results, and at what came before. It asks for nothing
    that happened later, as a decision is to be judged by what was known when it was taken.
    """

    def __call__(self, candidate: Candidate, /) -> Hit | None:
        """Return the occurrence, or None."""


class Answered(NamedTuple):
    """A new turn in the place of a source turn, for a rule judge.

    Attributes:
        run: The kept context with the new turn as its last; its calls have no results.
        turn: Index of the new turn.
        hit: The occurrence that it replaces, with its evidence, that of the source turn too.
        parameters: The behaviour's.
    """

    run: Run
    turn: int
    hit: Hit
    parameters: Mapping[str, Json] = {}


class Judged(NamedTuple):
    """What a rule judge says of a new turn.

    Attributes:
        score: 0 when the behaviour recurs, 5 when the turn is appropriate by a sign a program can
            see, 2 or 3 when neither shows.
        reason: In one line.
    """

    score: int
    reason: str


class RuleJudge(Protocol):
    """Scores a new turn by rules, without a model."""

    def __call__(self, answered: Answered, /) -> Judged:
        """Return the score."""

"""All nine points, and whether rebuilt tests may be called faithful."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from tracedance_sdk.replay.faithfulness.answer_points import lost_point, wrong_point
from tracedance_sdk.replay.faithfulness.answered import AnsweredCall
from tracedance_sdk.replay.faithfulness.change_points import (
    ChangedAgent,
    JudgedPair,
    change_point,
    judge_point,
    persona_point,
)
from tracedance_sdk.replay.faithfulness.points import (
    INPUTS,
    RULES,
    FaithfulnessLimits,
    FaithfulnessPoint,
)
from tracedance_sdk.replay.faithfulness.regrading import Regraded
from tracedance_sdk.replay.faithfulness.replayed import ReplayedTest, production_of_replays
from tracedance_sdk.replay.faithfulness.verdict_points import (
    balance_point,
    doubtful_point,
    grader_point,
    match_point,
)
from tracedance_sdk.statistics import Trials

Word = Literal["faithful", "not faithful", "not shown"]

_EXIT_CODES: Final[dict[Word, int]] = {"faithful": 0, "not faithful": 1, "not shown": 3}


class FaithfulnessEvidence(NamedTuple):
    """Everything that faithfulness is measured on; None or empty is what was not given.

    Attributes:
        replays: Runs of the rebuilt tests by the recorded agent.
        production: By group, how often production passed; by default from the replays.
        regraded: The untouched recordings under the grader.
        answers: The answers of the replays, with what the real system says to them.
        persona: By rule, replays of the tests that it rebuilt.
        changed: Another agent, replayed and in reality.
        judged: Runs under a judge and under the record-based grader.
        given: Keys of `INPUTS` that were given, so that nobody is asked for them again.
    """

    replays: Sequence[ReplayedTest]
    production: Mapping[str, Trials] | None = None
    regraded: Sequence[Regraded] | None = None
    answers: Sequence[AnsweredCall] | None = None
    persona: Mapping[str, Sequence[ReplayedTest]] = {}
    changed: ChangedAgent | None = None
    judged: Sequence[JudgedPair] | None = None
    given: frozenset[str] = frozenset()


class Faithfulness(NamedTuple):
    """What was found.

    Attributes:
        points: All nine, in order.
    """

    points: tuple[FaithfulnessPoint, ...]

    @property
    def word(self) -> Word:
        """``faithful`` where all nine hold, ``not faithful`` where one does not."""
        states = {point.state for point in self.points}
        if "does not hold" in states:
            return "not faithful"
        return "faithful" if states == {"holds"} else "not shown"

    @property
    def exit_code(self) -> int:
        """0 faithful, 1 not faithful, 3 not shown."""
        return _EXIT_CODES[self.word]

    @property
    def counts(self) -> Counter[str]:
        """How many points there are in each state."""
        return Counter(point.state for point in self.points)

    @property
    def as_json(self) -> dict[str, Any]:
        """All of it, as JSON."""
        return {
            "verdict": self.word,
            "exit_code": self.exit_code,
            "points": [
                {
                    "number": point.number,
                    "title": point.title,
                    "state": point.state,
                    "rule": RULES[point.number],
                    "found": point.line,
                    "needs": [INPUTS[need] for need in point.needs],
                    "figures": dict(point.figures),
                }
                for point in self.points
            ],
        }


def measure_faithfulness(
    evidence: FaithfulnessEvidence, limits: FaithfulnessLimits | None = None
) -> Faithfulness:
    """Measure all nine points; what cannot be measured says what it needs.

    Args:
        evidence: What there is.
        limits: Where the line is drawn.

    Raises:
        MissingDependency: A test of statistics needs scipy, which is not installed.

    Example:
        >>> found = measure_faithfulness(FaithfulnessEvidence([]))
        >>> found.word, found.counts["not measured"]
        ('not shown', 9)
    """
    drawn = limits or FaithfulnessLimits()
    tests = evidence.replays
    production = evidence.production
    if production is None:
        production = production_of_replays(tests)
    points = (
        grader_point(evidence.regraded),
        match_point(tests, production, drawn),
        doubtful_point(tests, production, drawn),
        balance_point(tests, drawn),
        wrong_point(evidence.answers, drawn),
        lost_point(evidence.answers, drawn),
        persona_point(evidence.persona, drawn),
        change_point(production, evidence.changed),
        judge_point(evidence.judged, drawn),
    )
    return Faithfulness(tuple(_asking(point, evidence.given) for point in points))


def _asking(point: FaithfulnessPoint, given: frozenset[str]) -> FaithfulnessPoint:
    """Return a point that asks for what was not given, or for more of it where all was."""
    missing = tuple(need for need in point.needs if need not in given)
    return point._replace(needs=missing or point.needs)

"""The nine points to be measured before rebuilt tests may be called faithful, and their rules."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

State = Literal["holds", "does not hold", "not shown", "not measured"]

TITLES: Final[dict[int, str]] = {
    1: "the grader gives the stored verdicts of the recordings",
    2: "replays match production, answers all evidence",
    3: "replays match production, some answers no evidence",
    4: "the tests are neither harsher nor softer",
    5: "answers are those of the real system",
    6: "wrong made-up answers that withheld recordings hold",
    7: "what the rebuilt person remembers (R1, R2, R3)",
    8: "another agent's pass rates are foreseen",
    9: "a judge agrees with the system of record",
}
"""What is measured."""

RULES: Final[dict[int, str]] = {
    1: "every verdict is the stored one",
    2: "the interval of the difference from production's agreement with itself begins at most the "
    "margin below zero, and not above zero",
    3: "such verdicts do not count (inconclusive), or they keep the rule of point 2",
    4: "the interval of the difference in pass rates lies within the margin on both sides",
    5: "of the answers that count as evidence, at most the allowed share is wrong",
    6: "at most half of them were held by withheld recordings",
    7: "no other rule is shown to match more often than the one in use",
    8: "nearer to the real rates than 'nothing changes', and more than half of the tasks that "
    "moved point the right way",
    9: "kappa is at least 0.6 on at least 50 runs",
}
"""When a point holds."""

INPUTS: Final[dict[str, str]] = {
    "recordings": "the recorded conversations with their verdicts (--recordings SOURCE)",
    "grader": "the grader (--grader, --spec or --tasks)",
    "trials": "two or more recorded conversations of at least two tasks, with verdicts "
    "(in the tests, or --recordings SOURCE)",
    "verdicts": "replays with a verdict of the grader and one of production",
    "traces": "the traces of the replays (replay --traces DIR, then --traces DIR)",
    "truth": "what the real system answers (--truth FILE)",
    "tests": "the rebuilt tests (--tests DIR)",
    "persona": "replays of the tests rebuilt by each rule (--persona R1=DIR, R2=DIR, R3=DIR)",
    "changed_replay": "replays of the changed agent (--changed-replay DIR)",
    "changed_real": "real pass rates of the changed agent (--changed-real FILE)",
    "judged": "a judge's verdicts on traces that the grader graded too (--judged DIR)",
}
"""What a point may need, and how it is given."""


class FaithfulnessLimits(NamedTuple):
    """Where the line is drawn.

    Attributes:
        margin: How far below production's agreement with itself the matches may lie, and how far
            apart the pass rates, as a share.
        most_wrong: Largest share of wrong answers among those that count as evidence.
        most_lost: Largest share of wrong made-up answers that withheld recordings hold.
        least_kappa: Smallest kappa of a judge.
        least_items: Fewest runs that kappa rests on.
        level: Confidence level of the intervals.
    """

    margin: float = 0.1
    most_wrong: float = 0.01
    most_lost: float = 0.5
    least_kappa: float = 0.6
    least_items: int = 50
    level: float = 0.95


class FaithfulnessPoint(NamedTuple):
    """What was found for one of the nine.

    Attributes:
        number: From 1 to 9.
        state: Whether its rule holds; ``not shown`` where there is too little to tell.
        told: What was found, in one line; of a point that was not measured, what is known so far.
        needs: Keys of `INPUTS` that are missing.
        figures: Everything that was counted, as JSON.
    """

    number: int
    state: State
    told: str
    needs: tuple[str, ...] = ()
    figures: Mapping[str, Any] = MappingProxyType({})

    @property
    def title(self) -> str:
        """What is measured."""
        return TITLES[self.number]

    @property
    def line(self) -> str:
        """What was found and what is needed, in one line."""
        if not self.needs:
            return self.told
        wanted = "needs " + " and ".join(INPUTS[need] for need in self.needs)
        return f"{self.told}; {wanted}" if self.told else wanted


def not_measured(number: int, *needs: str, told: str = "") -> FaithfulnessPoint:
    """Return a point that could not be measured, with what it needs."""
    return FaithfulnessPoint(number, "not measured", told, needs)


def found(
    number: int, told: str, *, holds: bool | None, figures: Mapping[str, Any]
) -> FaithfulnessPoint:
    """Return a point that was measured; None where there is too little to tell."""
    state: State = "not shown" if holds is None else "holds" if holds else "does not hold"
    return FaithfulnessPoint(number, state, told, (), figures)

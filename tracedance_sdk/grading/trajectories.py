"""The run's actions as a whole beside a reference."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

from pydantic import Field

from tracedance_sdk.grading.action_pattern import ActionPattern
from tracedance_sdk.grading.criterion import Criterion
from tracedance_sdk.grading.grades import Finding, counted
from tracedance_sdk.grading.matching import Answer
from tracedance_sdk.grading.run_view import RunView
from tracedance_sdk.grading.sequences import assign, happened

TrajectoryMode = Literal["strict", "unordered", "subset", "superset"]

MEANINGS: Final[dict[str, str]] = {
    "strict": "the run does exactly the reference, in its order",
    "unordered": "the run does exactly the reference, in any order",
    "subset": "the run does nothing beyond the reference, perhaps less",
    "superset": "the run does all of the reference, perhaps more",
}
"""Which way each mode points, said of the run."""


class Trajectory(Criterion):
    """The run's actions beside a reference; each action stands for one of it at most.

    Attributes:
        mode: ``strict``, ``unordered``, ``subset`` (the run does nothing beyond the reference)
            or ``superset`` (the run does all of the reference, perhaps more).
        reference: The actions of the reference, in order.
    """

    type: Literal["trajectory"] = "trajectory"
    mode: TrajectoryMode
    reference: tuple[ActionPattern, ...] = Field()

    def passing_text(self, run: RunView) -> str:
        """Return which way the mode points."""
        n_actions = counted(len(run.actions), "action")
        return f"{self.mode}: {MEANINGS[self.mode]} ({n_actions})"

    def findings(self, run: RunView) -> Iterator[Finding]:
        """Yield what is missing from the run, and what is beyond the reference."""
        # Only "subset" asks for nothing to be done, so a call that was cut off is enough for it.
        fit = ActionPattern.fits if self.mode == "subset" else happened
        fits = [[fit(pattern, call, run) for call in run.actions] for pattern in self.reference]
        if self.mode == "strict":
            yield from self._strict(run, fits)
        else:
            yield from self._sets(run, fits)

    def _strict(self, run: RunView, fits: list[list[Answer]]) -> Iterator[Finding]:
        n_shared = min(len(run.actions), len(fits))
        for place in range(n_shared):
            found = fits[place][place]
            if found is not True:
                is_ = "is" if found is False else "may be"
                call = run.actions[place]
                text = f"{run.label(call)} {is_} other than {self.reference[place].label}"
                yield self._finding(run, text, place, certain=found is False)
        for place in range(n_shared, len(run.actions)):
            yield self._finding(run, _beyond(run, place), place)
        for pattern in self.reference[n_shared:]:
            yield self._finding(run, f"{pattern.label} is missing")

    def _sets(self, run: RunView, fits: list[list[Answer]]) -> Iterator[Finding]:
        sure = assign([[item is True for item in row] for row in fits])
        possible = assign([[item is not False for item in row] for row in fits], start=sure)
        if self.mode in ("unordered", "superset"):
            for position, pattern in enumerate(self.reference):
                if position not in sure:
                    certain = position not in possible
                    is_ = "is" if certain else "may be"
                    yield self._finding(run, f"{pattern.label} {is_} missing", certain=certain)
        if self.mode in ("unordered", "subset"):
            taken, perhaps = set(sure.values()), set(possible.values())
            for place in range(len(run.actions)):
                if place not in taken:
                    certain = place not in perhaps
                    yield self._finding(
                        run, _beyond(run, place, certain=certain), place, certain=certain
                    )

    def _finding(
        self, run: RunView, text: str, place: int | None = None, *, certain: bool = True
    ) -> Finding:
        call = None if place is None else run.actions[place]
        text = f"{text}; {self.mode}: {MEANINGS[self.mode]}"
        found = {} if call is None else {"call": call, "found": call.arguments}
        return Finding(run.evidence(text, **found), certain)


def _beyond(run: RunView, place: int, *, certain: bool = True) -> str:
    is_ = "is" if certain else "may be"
    return f"{run.label(run.actions[place])} {is_} beyond the reference"

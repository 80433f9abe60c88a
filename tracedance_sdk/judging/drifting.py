"""Is a judge still what it was: a calibration held against an earlier one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tracedance_sdk.judging.calibration import JudgeCalibration
from tracedance_sdk.judging.measures import Measure
from tracedance_sdk.statistics import estimate_difference


class Drift(NamedTuple):
    """How a calibration differs from an earlier one.

    Attributes:
        changed: What is not the same, in words; empty when it is the same judge, asked the same
            way and held against people by the same rule.
        kappa: The new kappa less the old one.
        leniency: The same of leniency, in points of the score.
        n_shared: Items that are in both; the intervals take the samples to be independent and are
            rather too wide where items are shared.
    """

    changed: tuple[str, ...]
    kappa: Measure
    leniency: Measure
    n_shared: int

    @property
    def is_same_judge(self) -> bool:
        """Whether both calibrations are of the same judge."""
        return not self.changed


def drift(old: JudgeCalibration, new: JudgeCalibration) -> Drift:
    """Return how a judge's agreement with people changed.

    Args:
        old: The earlier calibration.
        new: The one of now.
    """
    return Drift(
        tuple(_changed(old, new)),
        _difference(old, new, "kappa"),
        _difference(old, new, "leniency"),
        len(set(old.items) & set(new.items)),
    )


def _difference(old: JudgeCalibration, new: JudgeCalibration, name: str) -> Measure:
    sides = [found.measures.get(name, Measure()) for found in (old, new)]
    n = min(side.n for side in sides)
    before, now = (side.estimate for side in sides)
    if before is None or now is None:
        lacking = "earlier" if before is None else "new"
        return Measure(n=n, why=f"the {lacking} calibration has no {name} with an interval")
    found = estimate_difference(before, now)
    return Measure(value=found.value, low=found.interval.low, high=found.interval.high, n=n)


def _changed(old: JudgeCalibration, new: JudgeCalibration) -> Iterator[str]:
    names = {judge.name for judge in old.judges}, {judge.name for judge in new.judges}
    if names[0] != names[1]:
        yield f"the judge: {old.name}, now {new.name}"
        for what in ("model", "prompt_sha256", "rubric_sha256"):
            sides = [sorted(str(getattr(j, what)) for j in side.judges) for side in (old, new)]
            if sides[0] != sides[1]:
                yield {
                    "model": "its model",
                    "prompt_sha256": "its prompt",
                    "rubric_sha256": "the text of its rubric",
                }[what]
    for what, before, now in (
        ("the rubric", old.rubric, new.rubric),
        ("the passing score", f"{old.pass_from:g}", f"{new.pass_from:g}"),
        ("the mode", old.settings.get("mode"), new.settings.get("mode")),
        ("the repeats", old.settings.get("repeats"), new.settings.get("repeats")),
        ("how labellers count", old.consensus, new.consensus),
    ):
        if before != now:
            yield f"{what}: {before}, now {now}"

"""What a calibrated judge may do to a verdict when the specification opts in."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.grading.judgement import JudgeAnswer
from tracedance_sdk.grading.verdicts import Verdict


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """What a judge's scores have been shown to mean.

    Attributes:
        judge: Name of the judge that was calibrated; no other may use it.
        fail_below: Scores below it mean a bad run.
        pass_from: Scores from it on mean a good run. Between the two, a score decides nothing.

    Raises:
        InvalidOption: The bounds are not ``0 <= fail_below <= pass_from <= 1``.
    """

    judge: str
    fail_below: float
    pass_from: float

    def __post_init__(self) -> None:
        bounds = (self.fail_below, self.pass_from)
        if any(map(math.isnan, bounds)) or not 0 <= self.fail_below <= self.pass_from <= 1:
            raise InvalidOption(
                f"fail_below {self.fail_below!r} and pass_from {self.pass_from!r} are not bounds "
                "from 0 to 1 in this order"
            )


def gated(
    verdict: Verdict, answer: JudgeAnswer | None, calibration: Calibration | None
) -> tuple[Verdict, str | None]:
    """Return the verdict after the judge was heard, and a note for readers.

    Only a pass can change, to fail or inconclusive; nothing ever becomes better.
    """
    if answer is None:
        return verdict, "the judge does not gate: no judge was asked"
    if calibration is None:
        return verdict, f"the judge {answer.judge!r} does not gate: it is not calibrated"
    if calibration.judge != answer.judge:
        return verdict, (
            f"the judge {answer.judge!r} does not gate: the calibration is of {calibration.judge!r}"
        )
    if verdict is not Verdict.PASS:
        return verdict, None
    score = answer.score
    if score is None:
        return Verdict.INCONCLUSIVE, f"gate: no score ({answer.missing_reason})"
    if score < calibration.fail_below:
        return Verdict.FAIL, f"gate: score {score:.2f} is below {calibration.fail_below:.2f}"
    if score < calibration.pass_from:
        return Verdict.INCONCLUSIVE, (
            f"gate: score {score:.2f} is between {calibration.fail_below:.2f} "
            f"and {calibration.pass_from:.2f}"
        )
    return verdict, None

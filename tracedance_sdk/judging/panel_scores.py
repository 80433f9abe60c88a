"""The arithmetic of a panel: means, passing, and what a missing judge leaves undecided."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final, NamedTuple

from tracedance_sdk.errors import InvalidOption, shown
from tracedance_sdk.grading import Verdict
from tracedance_sdk.judging.identity import JudgeIdentity
from tracedance_sdk.judging.items import RubricScore

MOST: Final = 5
"""The highest score."""


class JudgeScores(NamedTuple):
    """What one judge of a panel said of one item.

    Attributes:
        identity: Which judge.
        scores: One for each repetition, in their order; some may be missing.
    """

    identity: JudgeIdentity
    scores: tuple[RubricScore, ...]

    @property
    def present(self) -> list[int]:
        """The scores that are there."""
        return [item.score for item in self.scores if item.score is not None]

    @property
    def mean(self) -> Fraction | None:
        """The mean over the repetitions that gave a score; None when none did."""
        return Fraction(sum(self.present), len(self.present)) if self.present else None

    @property
    def spread(self) -> int | None:
        """Highest less lowest score over the repetitions; None with fewer than two."""
        found = self.present
        return max(found) - min(found) if len(found) > 1 else None


class PanelScore(NamedTuple):
    """What a panel made of one item.

    Attributes:
        mean: Over the judges that gave a score, of each one's mean; from 0 to 5. None when
            nobody did.
        verdict: Pass or fail where no score of a missing judge could change it, else
            inconclusive; None when nobody gave a score.
        raw_verdict: By the mean of those who gave one.
        missing_reason: Why the verdict is not pass or fail, in one line.
        n_missing: Scores that are missing, of `n_scores` asked for.
        n_scores: Judges times repetitions.
        spread: The largest of the judges' spreads over their repetitions.
    """

    mean: float | None
    verdict: Verdict | None
    raw_verdict: Verdict | None
    missing_reason: str | None
    n_missing: int
    n_scores: int
    spread: int | None


def panel_score(judges: Sequence[JudgeScores], *, pass_from: float) -> PanelScore:
    """Return the mean of a panel's scores and what follows from it.

    Args:
        judges: At least one, each with at least one score or missing one.
        pass_from: A mean of at least this passes, from 0 to 5. Compared exactly: 4.2 is 21/5.

    Raises:
        InvalidOption: No judge, or a passing score out of range.

    Example:
        >>> said = [
        ...     JudgeScores(JudgeIdentity(m, "p", "r"), (RubricScore(s),))
        ...     for m, s in (("a", 4), ("b", 4), ("c", 5))
        ... ]
        >>> found = panel_score(said, pass_from=4)
        >>> round(found.mean, 2), found.verdict.value
        (4.33, 'pass')
    """
    if not judges:
        raise InvalidOption("a panel needs at least one judge")
    if not 0 <= pass_from <= MOST:
        raise InvalidOption(f"the passing score is from 0 to {MOST}, not {shown(pass_from)}")
    means = [mean for judge in judges if (mean := judge.mean) is not None]
    spreads = [spread for judge in judges if (spread := judge.spread) is not None]
    n_scores = sum(len(judge.scores) for judge in judges)
    n_missing = n_scores - sum(len(judge.present) for judge in judges)
    if not means:
        first = next(item.missing_reason for judge in judges for item in judge.scores)
        who = "the judge" if len(judges) == 1 else f"all {len(judges)} judges"
        reason = f"no score from {who}: {first}"
        return PanelScore(None, None, None, reason, n_missing, n_scores, None)
    # As it was written: 4.2 is 21/5, not the float beside it.
    bar = Fraction(str(pass_from))
    mean = sum(means, Fraction(0)) / len(means)
    raw = Verdict.PASS if mean >= bar else Verdict.FAIL
    verdict, reason_why = _decided(sum(means, Fraction(0)), len(judges), len(means), bar)
    return PanelScore(
        mean=float(mean),
        verdict=verdict,
        raw_verdict=raw,
        missing_reason=reason_why,
        n_missing=n_missing,
        n_scores=n_scores,
        spread=max(spreads, default=None),
    )


def _decided(total: Fraction, n: int, n_present: int, bar: Fraction) -> tuple[Verdict, str | None]:
    """Return the verdict that holds whatever the missing judges would have said."""
    if total / n >= bar:
        return Verdict.PASS, None
    if (total + MOST * (n - n_present)) / n < bar:
        return Verdict.FAIL, None
    gone = n - n_present
    is_are = "is" if gone == 1 else "are"
    return Verdict.INCONCLUSIVE, (
        f"{gone} of {n} judges {is_are} missing, whose scores could change the verdict"
    )

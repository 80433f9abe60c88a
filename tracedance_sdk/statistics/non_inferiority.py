"""Is the new one at least not worse than the old by more than a margin? Standard library only."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from tracedance_sdk.statistics.checking import (
    check_half,
    check_sample,
    check_share,
)
from tracedance_sdk.statistics.intervals import Interval
from tracedance_sdk.statistics.paired_rates import changes, paired_score, root_between
from tracedance_sdk.statistics.quantiles import normal_quantile, upper_normal
from tracedance_sdk.statistics.restricted import restricted_variance


class NonInferiority(NamedTuple):
    """The outcome of a non-inferiority test.

    Attributes:
        value: New rate minus old rate, in [-1, 1].
        interval: At level 1 - 2 alpha, so that its lower end alone is wrong with chance alpha.
        margin: The loss that would still be put up with, in (0, 1).
        p_value: One-sided, of the hypothesis that the new rate is worse by the margin or more.
        holds: Whether the lower end lies above minus the margin: not inferior.
    """

    value: float
    interval: Interval
    margin: float
    p_value: float
    holds: bool


def non_inferior_rate(
    old: tuple[int, int], new: tuple[int, int], *, margin: float, alpha: float = 0.05
) -> NonInferiority:
    """Test non-inferiority of a rate, two independent samples.

    The score test ``z = (p2 - p1 - d) / sqrt((q2 (1 - q2) / n2 + q1 (1 - q1) / n1) N / (N - 1))``
    at d = -margin, with q1 and q2 the most likely rates that differ by d and N = n1 + n2; the
    interval holds every d it does not refuse.

    Args:
        old: Successes and trials of the first sample.
        new: Successes and trials of the second.
        margin: In (0, 1); to be chosen before the data are seen.
        alpha: One-sided, in (0, 0.5).

    Raises:
        InvalidOption: Impossible counts, margin or alpha.
        NotEnoughData: A sample is empty.

    Source: Farrington and Manning, Statistics in Medicine 9 (1990), 1447-1454; Miettinen and
    Nurminen, Statistics in Medicine 4 (1985), 213-226.

    Example:
        >>> found = non_inferior_rate((90, 100), (89, 100), margin=0.1)
        >>> found.holds, round(found.p_value, 3)
        (True, 0.025)
    """
    (x1, n1), (x2, n2) = check_sample(old, "old"), check_sample(new, "new")
    value = x2 / n2 - x1 / n1
    return _tested(value, lambda d: _score(x1, n1, x2, n2, d), margin, alpha)


def non_inferior_paired_rate(
    old: Sequence[bool], new: Sequence[bool], *, margin: float, alpha: float = 0.05
) -> NonInferiority:
    """Test non-inferiority of the pass rate of the same subjects.

    Tango's score test at d = -margin (see `paired_rate_difference`).

    Args:
        old: Whether each subject passed.
        new: Whether the same subjects passed afterwards, in the same order.
        margin: In (0, 1); to be chosen before the data are seen.
        alpha: One-sided, in (0, 0.5).

    Raises:
        InvalidOption: Lengths that differ, or impossible margin or alpha.
        NotEnoughData: No subjects.

    Source: Tango, Statistics in Medicine 17 (1998), 891-908.

    Example:
        >>> non_inferior_paired_rate([True] * 50, [True] * 50, margin=0.1).holds
        True
    """
    better, worse, n = changes(old, new)
    return _tested((better - worse) / n, lambda d: paired_score(better, worse, n, d), margin, alpha)


def _tested(
    value: float, score: Callable[[float], float], margin: float, alpha: float
) -> NonInferiority:
    margin, alpha = check_share(margin, "margin"), check_half(alpha)
    z = normal_quantile(1 - 2 * alpha)
    low = root_between(-1, value, lambda d: score(d) - z)
    high = root_between(value, 1, lambda d: score(d) + z)
    p_value = upper_normal(score(-margin))
    interval = Interval(low, high, 1 - 2 * alpha)
    return NonInferiority(value, interval, margin, p_value, p_value < alpha)


def _score(x1: int, n1: int, x2: int, n2: int, difference: float) -> float:
    above = x2 / n2 - x1 / n1 - difference
    variance = restricted_variance((x1, n1, x2, n2), difference)
    if variance <= 1e-15:
        return 0.0 if abs(above) < 1e-12 else math.copysign(math.inf, above)
    return above / math.sqrt(variance)

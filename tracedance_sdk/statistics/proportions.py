"""Rates: passes of trials, and how sure they are. Standard library only."""

from __future__ import annotations

import math

from tracedance_sdk.statistics.checking import (
    check_counts,
    check_level,
    check_sample,
)
from tracedance_sdk.statistics.intervals import Difference, Estimate, Interval
from tracedance_sdk.statistics.quantiles import normal_quantile, two_sided_normal


def wilson_interval(successes: int, n: int, *, level: float = 0.95) -> Interval:
    """Return the Wilson score interval of a rate.

    All rates p for which ``|successes/n - p| <= z sqrt(p (1 - p) / n)``. It never leaves [0, 1],
    and is honest at 0 and n successes, where the textbook interval has no width.

    Args:
        successes: How many passed.
        n: Of how many, each independent of the others. Trials of one task are not: see
            `clustered_rate`.
        level: Confidence level in (0, 1).

    Raises:
        InvalidOption: Impossible counts or level.
        NotEnoughData: `n` is 0.

    Source: Wilson, Journal of the American Statistical Association 22 (1927), 209-212.

    Example:
        >>> low, high, _ = wilson_interval(75, 100)
        >>> round(low, 3), round(high, 3)
        (0.657, 0.825)
    """
    passed, total = check_counts(successes, n)
    level = check_level(level)
    return score_interval(passed / total, total, normal_quantile(level), level)


def score_interval(rate: float, n: float, z: float, level: float) -> Interval:
    """Return Wilson's interval for a rate in [0, 1] from `n` (maybe fractional) observations.

    Args:
        rate: The observed rate.
        n: Observations, above 0.
        z: Quantile to use.
        level: Only carried along.
    """
    z2 = z * z
    centre = (rate + z2 / (2 * n)) / (1 + z2 / n)
    half = z / (1 + z2 / n) * math.sqrt(rate * (1 - rate) / n + z2 / (4 * n * n))
    low = 0.0 if rate == 0 else max(0.0, min(centre - half, rate))
    high = 1.0 if rate == 1 else min(1.0, max(centre + half, rate))
    return Interval(low, high, level)


def pass_rate(successes: int, n: int, *, level: float = 0.95) -> Estimate:
    """Return a rate with its Wilson interval.

    Raises:
        InvalidOption: Impossible counts or level.
        NotEnoughData: `n` is 0.

    Source: see `wilson_interval`.

    Example:
        >>> pass_rate(3, 4).value
        0.75
    """
    interval = wilson_interval(successes, n, level=level)
    passed, total = check_counts(successes, n)
    return Estimate(passed / total, interval, total)


def rate_difference(
    old: tuple[int, int], new: tuple[int, int], *, level: float = 0.95
) -> Difference:
    """Return how much two independent rates differ: new minus old.

    The interval is Newcombe's hybrid of the two Wilson intervals; the p value that of the pooled
    z test ``z = (p2 - p1) / sqrt(p (1 - p) (1/n1 + 1/n2))``, and 1 when all items are alike.
    For the same tasks under both, use `paired_rate_difference`.

    Args:
        old: Successes and trials of the first sample.
        new: Successes and trials of the second.
        level: Confidence level in (0, 1).

    Returns:
        The difference in [-1, 1]; `n` counts the trials of both.

    Raises:
        InvalidOption: Impossible counts or level.
        NotEnoughData: A sample is empty.

    Source: Newcombe, Statistics in Medicine 17 (1998), 873-890, method 10.

    Example:
        >>> change = rate_difference((56, 100), (51, 100))
        >>> round(change.value, 2), round(change.p_value, 2)
        (-0.05, 0.48)
    """
    (x1, n1), (x2, n2) = check_sample(old, "old"), check_sample(new, "new")
    first, second = wilson_interval(x1, n1, level=level), wilson_interval(x2, n2, level=level)
    p1, p2 = x1 / n1, x2 / n2
    value = p2 - p1
    low = value - math.hypot(p2 - second.low, first.high - p1)
    high = value + math.hypot(second.high - p2, p1 - first.low)
    pooled = (x1 + x2) / (n1 + n2)
    error = math.sqrt(pooled * (1 - pooled) * (1 / n1 + 1 / n2))
    p_value = two_sided_normal(value / error) if error else 1.0
    return Difference(value, Interval(low, high, level).within(-1, 1), p_value, n1 + n2)

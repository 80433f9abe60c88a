"""Rank correlation of two scores: Spearman and Kendall with intervals. Needs scipy."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from tracedance_sdk.errors import NotEnoughData
from tracedance_sdk.statistics.checking import (
    check_count,
    check_enough,
    check_level,
    check_same_length,
    finite,
)
from tracedance_sdk.statistics.extra import load
from tracedance_sdk.statistics.intervals import Interval, fisher_interval
from tracedance_sdk.statistics.proportions import wilson_interval
from tracedance_sdk.statistics.quantiles import normal_quantile, student_quantile
from tracedance_sdk.statistics.ranks_left_out import (
    error_without_correlation,
    kendall_left_out,
    spearman_left_out,
)
from tracedance_sdk.statistics.rare_categories import phi_and_variance, score_ends

_MOST_ITEMS: Final = 20_000
"""Leaving out each item in turn takes time in the square of their number."""


class Correlation(NamedTuple):
    """How two scores go together.

    Attributes:
        value: In [-1, 1].
        interval: The interval around it.
        p_value: Of the two-sided test that it is 0, in [0, 1].
        n: How many items.
    """

    value: float
    interval: Interval
    p_value: float
    n: int


def spearman(
    first: Sequence[float], second: Sequence[float], *, level: float = 0.95
) -> Correlation:
    """Return Spearman's rank correlation: the correlation of the ranks, ties at their mean rank.

    The interval is ``tanh(atanh(rho) ± h)``: h is the larger of ``t(n - 1) s / (1 - rho^2)`` with
    the error s by leaving out each item in turn, which knows of ties, and
    ``z sqrt((1 + rho^2 / 2) / (n - 3))``. Of passes and fails it also holds all
    correlations whose own error does not set rho apart.

    Args:
        first: A score for each item.
        second: The same items' scores, in the same order; any scale.
        level: Confidence level in (0, 1).

    Returns:
        In [-1, 1]; the p value is that of the test against 0, from Student's t. At -1 and 1 the
        other end is that of a correlation in which one pair of neighbours stands the other way;
        with ties it is at least so far that as many items differ as Wilson's interval allows.

    Raises:
        InvalidOption: The lengths differ, a score is no finite number, more than 20,000
            items, or a wrong level.
        NotEnoughData: Fewer than 4 items, or scores that are all the same.
        MissingDependency: scipy is not installed.

    Source: Bonett and Wright, Psychometrika 65 (2000), 23-28; Efron and Tibshirani, An Introduction
    to the Bootstrap (1993), chapter 11, for leaving out; `scipy.stats.spearmanr`.

    Example:
        >>> round(spearman([1, 2, 3, 4, 5], [1, 3, 2, 5, 4]).value, 2)
        0.8
    """
    a, b = _checked(first, second)
    level = check_level(level)
    found = load("scipy.stats").spearmanr(a, b)
    rho = _bounded(found.statistic)
    n = len(a)
    least = math.sqrt((1 + rho**2 / 2) / (n - 3))
    interval = _interval(
        rho, spearman_left_out(a, b), least, 1 - 12 / (n**3 - n), scores=(a, b), level=level
    )
    return Correlation(rho, interval, float(found.pvalue), n)


def kendall(first: Sequence[float], second: Sequence[float], *, level: float = 0.95) -> Correlation:
    """Return Kendall's tau-b: concordant minus discordant pairs, ties allowed for.

    The interval is ``tanh(atanh(tau) ± h)``: h is the larger of ``t(n - 1) s / (1 - tau^2)`` with
    the error s by leaving out each item in turn, which knows of ties, and z times the error where
    nothing goes together, corrected for ties. Of passes and fails it also holds all correlations
    whose own error does not set tau apart.

    Args:
        first: A score for each item.
        second: The same items' scores, in the same order; any scale.
        level: Confidence level in (0, 1).

    Returns:
        In [-1, 1]; the p value is that of the test against 0. At -1 and 1 the other end is as with
        `spearman`.

    Raises:
        InvalidOption: The lengths differ, a score is no finite number, more than 20,000
            items, or a wrong level.
        NotEnoughData: Fewer than 5 items, or scores that are all the same.
        MissingDependency: scipy is not installed.

    Source: Kendall, Rank Correlation Methods (1970), section 4.4, for the error of no correlation;
    Efron and Tibshirani, An Introduction to the Bootstrap (1993), chapter 11, for leaving out;
    `scipy.stats.kendalltau`.

    Example:
        >>> round(kendall([1, 2, 3, 4, 5], [1, 3, 2, 5, 4]).value, 2)
        0.6
    """
    a, b = _checked(first, second)
    level = check_level(level)
    check_enough(len(a), 5, what="items")
    found = load("scipy.stats").kendalltau(a, b)
    tau = _bounded(found.statistic)
    n = len(a)
    least = error_without_correlation(a, b)
    interval = _interval(
        tau, kendall_left_out(a, b), least, 1 - 4 / (n**2 - n), scores=(a, b), level=level
    )
    return Correlation(tau, interval, float(found.pvalue), n)


def _checked(first: Sequence[float], second: Sequence[float]) -> tuple[list[float], list[float]]:
    check_same_length(first, second, what="first and second")
    a, b = finite(first, "first score"), finite(second, "second score")
    check_enough(len(a), 4, what="items")
    check_count(len(a), "the number of items", most=_MOST_ITEMS)
    for name, scores in (("first", a), ("second", b)):
        if min(scores) == max(scores):
            raise NotEnoughData(
                f"the {name} scores are all {scores[0]:g}; nothing can go with them"
            )
    return a, b


def _bounded(correlation: float) -> float:
    value = min(1.0, max(-1.0, float(correlation)))
    return math.copysign(1.0, value) if 1 - abs(value) < 1e-12 else value


def _interval(
    value: float,
    left: list[float],
    least: float,
    next_value: float,
    *,
    scores: tuple[list[float], list[float]],
    level: float,
) -> Interval:
    """Return the interval around a correlation.

    Args:
        value: The correlation of all items, in [-1, 1].
        left: The correlations without each of the items in turn.
        least: Lower bound of the error of `atanh(value)`.
        next_value: The largest correlation below 1 of as many items without ties.
        scores: Of the two, to see whether there are ties.
        level: Confidence level in (0, 1).
    """
    n = len(left)
    z, quantile = normal_quantile(level), student_quantile(level, n - 1)
    if abs(value) < 1:
        mean = math.fsum(left) / n
        error = math.sqrt((n - 1) / n * math.fsum((one - mean) ** 2 for one in left))
        half = max(z * least, quantile * error / (1 - value**2))
        found = fisher_interval(value, half, quantile=1.0, level=level)
        if all(len({*of}) == 2 for of in scores):
            numpy = load("numpy")
            table, _, _ = numpy.histogram2d(*scores, bins=2)
            low, high = score_ends(table, phi_and_variance, quantile=quantile)
            return Interval(min(low, found.low), max(high, found.high), level)
        return found
    low = fisher_interval(next_value, least, quantile=z, level=level).low
    if any(len({*of}) < n for of in scores):
        tied = max(sum((times / n) ** 2 for times in Counter(of).values()) for of in scores)
        unseen = 1 - wilson_interval(n, n, level=level).low
        low = min(low, max(-1.0, 1 - unseen / (1 - tied)))
    return Interval(low, 1.0, level) if value > 0 else Interval(-1.0, -low, level)

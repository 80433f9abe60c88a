"""Rank correlation of two scores: Spearman and Kendall with intervals. Needs scipy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from tracedance_sdk.errors import NotEnoughData
from tracedance_sdk.statistics.checking import (
    check_enough,
    check_same_length,
    check_share,
    finite,
)
from tracedance_sdk.statistics.extra import load
from tracedance_sdk.statistics.intervals import Interval, fisher_interval
from tracedance_sdk.statistics.quantiles import normal_quantile


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

    The interval is Fisher's: ``tanh(atanh(rho) ± z sqrt((1 + rho^2 / 2) / (n - 3)))``.

    Args:
        first: A score for each item.
        second: The same items' scores, in the same order; any scale.
        level: Confidence level in (0, 1).

    Returns:
        In [-1, 1]; the p value is that of the test against 0, from Student's t. At -1 and 1 the
        other end is that of a correlation in which one pair of neighbours stands the other way.

    Raises:
        InvalidOption: The lengths differ, a score is no finite number, or a wrong level.
        NotEnoughData: Fewer than 4 items, or scores that are all the same.
        MissingDependency: scipy is not installed.

    Source: Bonett and Wright, Psychometrika 65 (2000), 23-28; `scipy.stats.spearmanr`.

    Example:
        >>> round(spearman([1, 2, 3, 4, 5], [1, 3, 2, 5, 4]).value, 2)
        0.8
    """
    a, b = _checked(first, second, level)
    found = load("scipy.stats").spearmanr(a, b)
    rho = _bounded(found.statistic)
    error = math.sqrt((1 + rho**2 / 2) / (len(a) - 3))
    return Correlation(
        rho,
        _fisher(rho, error, 1 - 12 / (len(a) ** 3 - len(a)), level),
        float(found.pvalue),
        len(a),
    )


def kendall(first: Sequence[float], second: Sequence[float], *, level: float = 0.95) -> Correlation:
    """Return Kendall's tau-b: concordant minus discordant pairs, ties allowed for.

    The interval is Fisher's: ``tanh(atanh(tau) ± z sqrt(0.437 / (n - 4)))``.

    Args:
        first: A score for each item.
        second: The same items' scores, in the same order; any scale.
        level: Confidence level in (0, 1).

    Returns:
        In [-1, 1]; the p value is that of the test against 0. At -1 and 1 the other end
        is that of a correlation in which one pair of neighbours stands the other way.

    Raises:
        InvalidOption: The lengths differ, a score is no finite number, or a wrong level.
        NotEnoughData: Fewer than 5 items, or scores that are all the same.
        MissingDependency: scipy is not installed.

    Source: Fieller, Hartley and Pearson, Biometrika 44 (1957), 470-481; `scipy.stats.kendalltau`.

    Example:
        >>> round(kendall([1, 2, 3, 4, 5], [1, 3, 2, 5, 4]).value, 2)
        0.6
    """
    a, b = _checked(first, second, level)
    check_enough(len(a), 5, what="items")
    found = load("scipy.stats").kendalltau(a, b)
    tau = _bounded(found.statistic)
    error = math.sqrt(0.437 / (len(a) - 4))
    return Correlation(
        tau, _fisher(tau, error, 1 - 4 / (len(a) ** 2 - len(a)), level), float(found.pvalue), len(a)
    )


def _checked(
    first: Sequence[float], second: Sequence[float], level: float
) -> tuple[list[float], list[float]]:
    check_same_length(first, second, what="first and second")
    check_share(level, "level")
    a, b = finite(first, "first score"), finite(second, "second score")
    check_enough(len(a), 4, what="items")
    for name, scores in (("first", a), ("second", b)):
        if min(scores) == max(scores):
            raise NotEnoughData(
                f"the {name} scores are all {scores[0]:g}; nothing can go with them"
            )
    return a, b


def _bounded(correlation: float) -> float:
    value = min(1.0, max(-1.0, float(correlation)))
    return math.copysign(1.0, value) if 1 - abs(value) < 1e-12 else value


def _fisher(value: float, error: float, next_value: float, level: float) -> Interval:
    """Return the interval, at -1 and 1 as if one pair of neighbours stood the other way."""
    quantile = normal_quantile(level)
    if abs(value) < 1:
        return fisher_interval(value, error, quantile=quantile, level=level)
    low = fisher_interval(next_value, error, quantile=quantile, level=level).low
    return Interval(low, 1.0, level) if value > 0 else Interval(-1.0, -low, level)

"""Coefficients of agreement over clustered items. Standard library."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from collections.abc import Set as AbstractSet

from tracedance_sdk.errors import InvalidOption, shown
from tracedance_sdk.statistics.checking import (
    check_callable,
    check_enough,
    check_level,
    check_number,
    hashables,
)
from tracedance_sdk.statistics.intervals import Estimate, Interval, fisher_interval
from tracedance_sdk.statistics.quantiles import student_quantile


def clustered_coefficient(
    coefficient: Callable[[Sequence[int]], Estimate],
    clusters: Sequence[Hashable],
    *,
    without: Callable[[AbstractSet[int]], float] | None = None,
    level: float = 0.95,
) -> Estimate:
    """Return a coefficient in [-1, 1], such as kappa, with an interval over clusters of items.

    The standard error s comes from leaving out each cluster in turn; the interval is
    ``tanh(atanh(value) ± t(G - 1) s / (1 - value^2))`` for G clusters, and holds at least the
    coefficient's own interval. Where each item is a cluster of its own, that one is returned.

    Args:
        coefficient: Takes the places of the items that are kept, in order, and returns the
            coefficient of those.
        clusters: For each item what it belongs to, such as its task.
        without: Takes the places of one cluster and returns the coefficient of all other items,
            where that can be had faster; by default `coefficient` computes it.
        level: Confidence level in (0, 1); the coefficient's own should be the same.

    Returns:
        The coefficient of all items; `n` counts clusters.

    Raises:
        InvalidOption: A wrong level, or a coefficient outside [-1, 1].
        NotEnoughData: Fewer than two clusters, or a coefficient that is not defined for all items
            or without one of the clusters.

    Source: Efron and Tibshirani, An Introduction to the Bootstrap (1993), chapter 11.

    Example:
        >>> judge, human = [1, 1, 0, 0, 1, 0, 1, 0], [1, 1, 0, 0, 1, 1, 0, 0]
        >>> def kappa(kept: Sequence[int]) -> Estimate:
        ...     return cohen_kappa([judge[at] for at in kept], [human[at] for at in kept])
        >>> from tracedance_sdk.statistics import cohen_kappa
        >>> found = clustered_coefficient(kappa, ["a", "a", "b", "b", "c", "c", "d", "d"])
        >>> found.value, found.n
        (0.5, 4)
    """
    level, clusters = check_level(level), hashables(clusters, "cluster")
    if not callable(coefficient):
        raise InvalidOption(f"coefficient is {shown(coefficient)}, which is no function")
    check_callable(without, "without")
    whole = coefficient(range(len(clusters)))
    if not isinstance(whole, Estimate):
        raise InvalidOption(f"the coefficient is {shown(whole)}, which is no Estimate")
    check_number(whole.value, "the coefficient", least=-1, most=1)
    members: dict[Hashable, set[int]] = {}
    for place, owner in enumerate(clusters):
        members.setdefault(owner, set()).add(place)
    n = len(members)
    check_enough(n, 2, what="clusters")
    if n == len(clusters):
        return whole
    left = [
        coefficient([at for at in range(len(clusters)) if at not in out]).value
        if without is None
        else without(out)
        for out in members.values()
    ]
    mean = math.fsum(left) / n
    error = math.sqrt((n - 1) / n * math.fsum((value - mean) ** 2 for value in left))
    low, high = whole.interval.low, whole.interval.high
    if error > 0 and abs(whole.value) < 1:
        t = student_quantile(level, n - 1)
        found = fisher_interval(whole.value, error / (1 - whole.value**2), quantile=t, level=level)
        low, high = min(low, found.low), max(high, found.high)
    return Estimate(whole.value, Interval(low, high, level), n)

"""Values that come in clusters: trials of one task, instances of one benchmark, cases of one game.

Items of a cluster resemble each other, so that a hundred trials of ten tasks say less than a
hundred tasks would. Here the cluster is what was sampled. Standard library only.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.statistics.checking import (
    check_enough,
    check_same_length,
    check_share,
    finite,
)
from tracedance_sdk.statistics.intervals import Difference, Estimate, Interval
from tracedance_sdk.statistics.proportions import score_interval
from tracedance_sdk.statistics.quantiles import (
    normal_quantile,
    student_quantile,
    two_sided_student,
)


def mean_interval(
    values: Sequence[float], clusters: Sequence[Hashable] | None = None, *, level: float = 0.95
) -> Estimate:
    """Return a mean with Student's interval, robust against clusters when they are given.

    ``mean ± t(G - 1) sqrt(G / (G - 1) sum_g (sum_{i in g} (y_i - mean))^2) / n`` with G clusters;
    without clusters each value is its own, which is the ordinary t interval.

    Args:
        values: Any unit, in any order.
        clusters: For each value what it belongs to.
        level: Confidence level in (0, 1).

    Returns:
        The mean over all values (micro mean); `n` counts clusters. Values that are all the same
        give an interval without width.

    Raises:
        InvalidOption: Lengths that differ, a value that is no finite number, or a wrong level.
        NotEnoughData: Fewer than two clusters.

    Source: Liang and Zeger, Biometrika 73 (1986), 13-22, with the factor G / (G - 1).

    Example:
        >>> round(mean_interval([1, 2, 3]).interval.high, 2)
        4.48
    """
    check_share(level, "level")
    mean, error, n_clusters = mean_and_error(finite(values), clusters)
    half = student_quantile(level, n_clusters - 1) * error
    return Estimate(mean, Interval(mean - half, mean + half, level), n_clusters)


def macro_mean(
    values: Sequence[float], groups: Sequence[Hashable], *, level: float = 0.95
) -> Estimate:
    """Return the unweighted mean of the groups' means, with the groups as the sample.

    A group with few values weighs as much as one with many; `mean_interval` with the groups as
    clusters is the micro mean, in which each value weighs the same.

    Raises:
        InvalidOption: Lengths that differ, a value that is no finite number, or a wrong level.
        NotEnoughData: Fewer than two groups.

    Source: Student's t interval of the group means.

    Example:
        >>> macro_mean([1, 1, 1, 0], ["a", "a", "a", "b"]).value
        0.5
    """
    check_same_length(values, groups, what="values and groups")
    return mean_interval(
        [math.fsum(of) / len(of) for of in _grouped(finite(values), groups)], level=level
    )


def clustered_rate(
    outcomes: Sequence[float], clusters: Sequence[Hashable], *, level: float = 0.95
) -> Estimate:
    """Return a rate of clustered outcomes with an interval that stays within [0, 1].

    Wilson's interval at the effective sample size: ``n`` divided by the design effect, which is
    the cluster-robust variance over ``p (1 - p) / n`` and is taken to be at least 1; times
    ``(z / t(G - 1))^2`` for G clusters. Where all outcomes are the same the design effect is
    not known, and each cluster counts as one observation.

    Args:
        outcomes: 0 or 1 (or False, True), or shares in between.
        clusters: For each outcome what it belongs to, such as its task.
        level: Confidence level in (0, 1).

    Returns:
        The rate over all outcomes; `n` counts clusters.

    Raises:
        InvalidOption: Lengths that differ, an outcome outside [0, 1], or a wrong level.
        NotEnoughData: Fewer than two clusters.

    Source: Korn and Graubard, Survey Methodology 24 (1998), 193-201, with Wilson's interval in
    place of Clopper and Pearson's.

    Example:
        >>> passed = [1, 1, 1, 1, 0, 0, 0, 0]
        >>> tasks = ["a", "a", "b", "b", "c", "c", "d", "d"]
        >>> low, high, _ = clustered_rate(passed, tasks).interval
        >>> round(low, 2), round(high, 2)
        (0.06, 0.94)
    """
    values = shares(outcomes)
    mean, error, n_clusters = mean_and_error(values, clusters)
    interval = bounded_interval(mean, error, n_clusters, most=len(values), level=level)
    return Estimate(mean, interval, n_clusters)


def bounded_interval(
    mean: float, error: float, n_clusters: int, *, most: float, level: float
) -> Interval:
    """Return the interval within [0, 1] of a mean of values in [0, 1].

    Args:
        mean: In [0, 1].
        error: Its standard error.
        n_clusters: At least 2.
        most: Upper bound of the effective number of observations.
        level: Confidence level in (0, 1).
    """
    check_share(level, "level")
    spread = mean * (1 - mean)
    most = max(most, n_clusters)
    effective = float(n_clusters)
    if spread > 0:
        effective = min(most, spread / error**2) if error > 0 else most
    z, t = normal_quantile(level), student_quantile(level, n_clusters - 1)
    return score_interval(mean, effective * (z / t) ** 2, z, level)


def design_effect(outcomes: Sequence[float], clusters: Sequence[Hashable]) -> float:
    """Return how many times larger clusters make the variance of a rate.

    ``var_clustered(p) / (p (1 - p) / n)``: 1 for independent outcomes, the size of a cluster when
    all outcomes within each are the same, below 1 when they differ more within than between.

    Raises:
        InvalidOption: Lengths that differ, or an outcome outside [0, 1].
        NotEnoughData: Fewer than two clusters, or outcomes that are all 0 or all 1.

    Source: Kish, Survey Sampling (1965), section 8.2.

    Example:
        >>> round(design_effect([1, 1, 1, 1, 0, 0, 0, 0], [1, 1, 2, 2, 3, 3, 4, 4]), 2)
        2.67
    """
    values = shares(outcomes)
    mean, error, _ = mean_and_error(values, clusters)
    check_enough(len({*values}), 2, what="different outcomes")
    return error**2 * len(values) / (mean * (1 - mean))


def paired_difference(
    old: Sequence[float],
    new: Sequence[float],
    *,
    clusters: Sequence[Hashable] | None = None,
    level: float = 0.95,
) -> Difference:
    """Return the mean of ``new - old`` over pairs, with Student's interval and t test.

    Args:
        old: One value for each subject.
        new: The same subjects' values, in the same order.
        clusters: For each pair what it belongs to; the interval is then cluster-robust.
        level: Confidence level in (0, 1).

    Returns:
        `n` counts clusters, or pairs without clusters. Pairs that all differ by the same amount
        give an interval without width, and a p value of 1 when that amount is 0, else 0.

    Raises:
        InvalidOption: Lengths that differ, a value that is no finite number, or a wrong level.
        NotEnoughData: Fewer than two clusters.

    Source: see `mean_interval`.

    Example:
        >>> paired_difference([1, 2, 3, 4], [2, 2, 4, 6]).value
        1.0
    """
    check_same_length(old, new, what="old and new")
    check_share(level, "level")
    pairs = zip(finite(old, "old value"), finite(new, "new value"), strict=True)
    mean, error, n_clusters = mean_and_error([b - a for a, b in pairs], clusters)
    half = student_quantile(level, n_clusters - 1) * error
    t = mean / error if error else math.inf if mean else 0.0
    p_value = two_sided_student(t, n_clusters - 1)
    return Difference(mean, Interval(mean - half, mean + half, level), p_value, n_clusters)


def mean_and_error(
    values: list[float], clusters: Sequence[Hashable] | None
) -> tuple[float, float, int]:
    """Return mean, cluster-robust standard error, and the number of clusters.

    Raises:
        InvalidOption: The lengths differ.
        NotEnoughData: Fewer than two clusters.
    """
    owners = range(len(values)) if clusters is None else clusters
    check_same_length(values, owners, what="values and clusters")
    groups = _grouped(values, owners)
    check_enough(len(groups), 2, what="values" if clusters is None else "clusters")
    if min(values) == max(values):
        return values[0], 0.0, len(groups)
    mean = math.fsum(values) / len(values)
    squares = math.fsum(math.fsum(value - mean for value in of) ** 2 for of in groups)
    error = math.sqrt(len(groups) / (len(groups) - 1) * squares) / len(values)
    return mean, error, len(groups)


def _grouped(values: Sequence[float], owners: Sequence[Hashable]) -> list[list[float]]:
    groups: dict[Hashable, list[float]] = {}
    for value, owner in zip(values, owners, strict=True):
        groups.setdefault(owner, []).append(value)
    return list(groups.values())


def shares(outcomes: Sequence[float]) -> list[float]:
    """Return outcomes as floats.

    Raises:
        InvalidOption: One lies outside [0, 1].
    """
    values = finite(outcomes, "outcome")
    for index, value in enumerate(values):
        if not 0 <= value <= 1:
            raise InvalidOption(f"outcome {index} is {value}; outcomes lie between 0 and 1")
    return values

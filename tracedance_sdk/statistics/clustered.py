"""Values that come in clusters: trials of one task, instances of one benchmark, cases of one game.

Items of a cluster resemble each other, so that a hundred trials of ten tasks say less than a
hundred tasks would. Here the cluster is what was sampled. Standard library only.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import Final

from tracedance_sdk.statistics.checking import (
    check_enough,
    check_level,
    check_same_length,
    finite,
    hashables,
)
from tracedance_sdk.statistics.intervals import Difference, Estimate, Interval
from tracedance_sdk.statistics.proportions import score_interval
from tracedance_sdk.statistics.quantiles import (
    normal_quantile,
    student_quantile,
    two_sided_student,
)

_PRIOR: Final = 0.4
_TINY: Final = 1e-12


def mean_interval(
    values: Sequence[float], clusters: Sequence[Hashable] | None = None, *, level: float = 0.95
) -> Estimate:
    """Return a mean with Student's interval, robust against clusters when they are given.

    ``mean ± t(d) sqrt(sum_g (sum_{i in g} (y_i - mean))^2 / (1 - n_g / n)) / n`` with clusters of
    n_g values. The degrees of freedom d are G - 1 for G clusters of one size and fewer where a few
    clusters hold most values. Without clusters this is the ordinary t interval.

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

    Source: Bell and McCaffrey, Survey Methodology 28 (2002), 169-181 (their "bias reduced
    linearization", or CR2, with Satterthwaite's degrees of freedom for independent values).

    Example:
        >>> round(mean_interval([1, 2, 3]).interval.high, 2)
        4.48
    """
    level = check_level(level)
    checked = finite(values)
    mean, _, n_clusters = mean_and_error(checked, clusters)
    return Estimate(mean, _mean_interval(checked, clusters, mean, level), n_clusters)


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

    Wilson's interval at the effective sample size: ``n`` divided by the design effect, times
    ``(z / t(df))^2``. The design effect is the jackknife variance over clusters by
    ``p (1 - p) / n``, at least 1, and drawn towards that of clusters of one outcome each, as far
    as 0.4 clusters among ``4 p (1 - p) G`` would: few clusters, or few passes, tell little of
    it. ``df`` is at most ``G - 1`` and smaller where few clusters make most of the variance.
    Clusters of unequal size count as ``G = n^2 / sum_g m_g^2``. Where all outcomes are the same,
    each cluster counts as one observation.

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
    place of Clopper and Pearson's; degrees of freedom by moments as in Satterthwaite, Biometrics
    Bulletin 2 (1946), 110-114. The 0.4 was chosen by simulation.

    Example:
        >>> passed = [1, 1, 1, 1, 0, 0, 0, 0]
        >>> tasks = ["a", "a", "b", "b", "c", "c", "d", "d"]
        >>> low, high, _ = clustered_rate(passed, tasks).interval
        >>> round(low, 2), round(high, 2)
        (0.06, 0.94)
    """
    level = check_level(level)
    values = shares(outcomes)
    check_same_length(values, clusters, what="values and clusters")
    groups = _grouped(values, clusters)
    check_enough(len(groups), 2, what="clusters")
    mean = values[0] if min(values) == max(values) else math.fsum(values) / len(values)
    interval = bounded_interval(
        mean,
        [math.fsum(value - mean for value in of) / len(values) for of in groups],
        [len(of) / len(values) for of in groups],
        n=len(values),
        level=level,
    )
    return Estimate(mean, interval, len(groups))


def bounded_interval(
    mean: float, deviations: Sequence[float], weights: Sequence[float], *, n: float, level: float
) -> Interval:
    """Return the interval within [0, 1] of a mean of clustered values in [0, 1].

    Args:
        mean: In [0, 1].
        deviations: What each of at least two clusters adds to the mean beyond its weight's share;
            they sum to 0.
        weights: Share of each cluster in the mean; they sum to 1.
        n: How many observations the mean is worth at most.
        level: Confidence level in (0, 1).
    """
    n_clusters, spread = len(weights), mean * (1 - mean)
    alike = 1 / math.fsum(weight**2 for weight in weights)
    n = max(n, alike)
    shrunk = (n_clusters - 1) / n_clusters
    squares = [(d * shrunk / (1 - w)) ** 2 for d, w in zip(deviations, weights, strict=True)]
    total = math.fsum(squares)
    effective, most_df = alike, max(1.0, alike - 1)
    if spread > 0:
        effect = max(1.0, n * total / shrunk / spread)
        known = 4 * spread * alike
        effect = (known * effect + _PRIOR * max(effect, n / alike)) / (known + _PRIOR)
        effective = n / effect
    z, t = normal_quantile(level), _student(level, min(most_df, _freedom(squares, total)))
    return score_interval(mean, effective * (z / t) ** 2, z, level)


def _freedom(squares: Sequence[float], total: float) -> float:
    """Return the degrees of freedom of a sum of squares, from how unlike they are."""
    if total == 0:
        return math.inf
    unlike = math.fsum((square / total) ** 2 for square in squares) - 1 / len(squares)
    return max(1.0, 2 / unlike) if unlike > _TINY else math.inf


def _student(level: float, df: float) -> float:
    """Return Student's quantile, between whole degrees of freedom by their reciprocals."""
    whole = math.floor(df)
    below = student_quantile(level, whole)
    if whole == df:
        return below
    part = (1 / whole - 1 / df) * whole * (whole + 1)
    return below + part * (student_quantile(level, whole + 1) - below)


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
    # A share that is all but 0 or 1 has a spread that vanishes.
    return error**2 * len(values) / max(mean * (1 - mean), 1e-200)


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
        clusters: For each pair what it belongs to; the interval is then that of `mean_interval`,
            the test that of the cluster-robust error with G - 1 degrees of freedom for G clusters.
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
    level = check_level(level)
    pairs = zip(finite(old, "old value"), finite(new, "new value"), strict=True)
    changes = [b - a for a, b in pairs]
    mean, error, n_clusters = mean_and_error(changes, clusters)
    t = mean / error if error else math.inf if mean else 0.0
    p_value = two_sided_student(t, n_clusters - 1)
    interval = _mean_interval(changes, clusters, mean, level)
    return Difference(mean, interval, p_value, n_clusters)


def _mean_interval(
    values: list[float], clusters: Sequence[Hashable] | None, mean: float, level: float
) -> Interval:
    """Return the interval around the mean of values in two clusters or more."""
    groups = _grouped(values, range(len(values)) if clusters is None else clusters)
    if min(values) == max(values):
        return Interval(mean, mean, level)
    n = len(values)
    weights = [1 / (1 - len(of) / n) for of in groups]
    sums = [math.fsum(value - mean for value in of) for of in groups]
    squares = math.fsum(w * one**2 for w, one in zip(weights, sums, strict=True))
    # Of independent values the sums have the covariances n_g - n_g^2 / n and -n_g n_h / n.
    shared = [w * len(of) ** 2 / n for w, of in zip(weights, groups, strict=True)]
    spread = math.fsum(len(of) ** 2 for of in groups) + math.fsum(shared) ** 2
    spread -= math.fsum(one**2 for one in shared)
    half = _quantile_between(level, n**2 / spread) * math.sqrt(squares) / n
    return Interval(mean - half, mean + half, level)


def _quantile_between(level: float, df: float) -> float:
    """Return Student's quantile; between whole degrees of freedom it is linear in their inverse."""
    below = max(1, math.floor(df + 1e-9))
    low, high = student_quantile(level, below), student_quantile(level, below + 1)
    share = max(0.0, 1 / below - 1 / max(df, 1.0)) * below * (below + 1)
    return low + share * (high - low)


def mean_and_error(
    values: list[float], clusters: Sequence[Hashable] | None
) -> tuple[float, float, int]:
    """Return mean, cluster-robust standard error, and the number of clusters.

    Raises:
        InvalidOption: The lengths differ.
        NotEnoughData: Fewer than two clusters.
    """
    owners = range(len(values)) if clusters is None else hashables(clusters, "cluster")
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
    for value, owner in zip(values, hashables(owners, "cluster"), strict=True):
        groups.setdefault(owner, []).append(value)
    return list(groups.values())


def shares(outcomes: Sequence[float]) -> list[float]:
    """Return outcomes as floats.

    Raises:
        InvalidOption: One lies outside [0, 1].
    """
    return finite(outcomes, "outcome", least=0, most=1)

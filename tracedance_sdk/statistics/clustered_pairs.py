"""The same subjects under two conditions, in clusters: how a rate changed, and an exact test."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, Final

from tracedance_sdk.statistics.checking import (
    check_count,
    check_enough,
    check_level,
    check_resamples,
    check_same_length,
    check_seed,
    finite,
    hashables,
)
from tracedance_sdk.statistics.clustered import mean_and_error, shares
from tracedance_sdk.statistics.extra import load
from tracedance_sdk.statistics.intervals import Difference, Interval, Significance
from tracedance_sdk.statistics.paired_rates import paired_score, root_between
from tracedance_sdk.statistics.quantiles import normal_quantile, student_quantile

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST_EXACT: Final = 36
"""Clusters that differ up to which every flip is counted: two halves of 2^18 sums."""
_ROWS: Final = 10_000
_CELLS: Final = 10_000_000
_MANY: Final = 300
"""Different sizes from which on fewer signs are drawn, by bits where no size comes twice."""

_MOST_SIGNS: Final = 100_000_000
_LEAST_DRAWN: Final = 1_000


def sign_flip_test(
    old: Sequence[float],
    new: Sequence[float],
    *,
    clusters: Sequence[Hashable] | None = None,
    seed: int = 0,
    n_resamples: int = 100_000,
) -> Significance:
    """Test whether a change did anything, by swapping old and new in whole clusters.

    If it did nothing, each cluster's sum of ``new - old`` was as likely to come out with the
    other sign: ``p = P(|sum_g s_g D_g| >= |sum_g D_g|)`` over all signs s. For passes and fails
    without clusters this is McNemar's exact test.

    Args:
        old: One value for each subject.
        new: The same subjects' values, in the same order.
        clusters: For each pair what it belongs to; each pair is its own without them.
        seed: Of the drawn signs, where there are too many clusters to count all.
        n_resamples: How many signs are then drawn, at least 100; the p value is at least
            ``1 / (n_resamples + 1)``. Fewer are drawn, though at least 1,000, where more than 300
            clusters differ by amounts of their own: 1e8 signs over all of these.

    Returns:
        The statistic is the mean of ``new - old``, `n` counts clusters. All signs are counted
        where at most 36 clusters differ. The p value is at least ``2^(1 - n)``.

    Raises:
        InvalidOption: Lengths that differ, a value that is no finite number, or few resamples.
        NotEnoughData: No pairs.
        MissingDependency: numpy is not installed.

    Source: Fisher, The Design of Experiments (1935), section 21; Phipson and Smyth, Statistical
    Applications in Genetics and Molecular Biology 9 (2010), article 39, for drawn signs.

    Example:
        >>> sign_flip_test([0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1]).p_value
        0.03125
    """
    check_same_length(old, new, what="old and new")
    check_enough(len(old), 1, what="pairs")
    n_resamples, seed = check_resamples(n_resamples), check_seed(seed)
    pairs = zip(finite(old, "old value"), finite(new, "new value"), strict=True)
    changes = [b - a for a, b in pairs]
    owners = range(len(changes)) if clusters is None else hashables(clusters, "cluster")
    check_same_length(changes, owners, what="values and clusters")
    sums: dict[Hashable, list[float]] = {}
    for change, owner in zip(changes, owners, strict=True):
        sums.setdefault(owner, []).append(change)
    totals = [math.fsum(of) for of in sums.values()]
    tolerance = 1e-9 * math.fsum(map(abs, totals))
    differing = [abs(total) for total in totals if abs(total) > tolerance]
    observed = abs(math.fsum(totals))
    mean = math.fsum(changes) / len(changes)
    if observed <= tolerance:
        return Significance(mean, 1.0, len(totals))
    if len(differing) <= _MOST_EXACT:
        p_value = _counted(differing, observed - tolerance)
    else:
        p_value = _drawn(differing, observed - tolerance, seed, n_resamples)
    return Significance(mean, p_value, len(totals))


def clustered_rate_difference(
    old: Sequence[float],
    new: Sequence[float],
    *,
    clusters: Sequence[Hashable] | None = None,
    trials: int | None = None,
    seed: int = 0,
    level: float = 0.95,
) -> Difference:
    """Return how much the pass rate of the same subjects changed, tried several times each.

    Tango's interval (see `paired_rate_difference`) at the effective number of pairs: the variance
    that plain pairs would have, ``(b + c) / n - mean^2`` with b the sum of the rises and c that
    of the falls, over the cluster-robust variance of the mean; times ``(z / t(G - 1))^2`` for G
    clusters. Where all changes are alike, each cluster counts as one pair.

    Args:
        old: For each subject the share of its trials that passed, in [0, 1].
        new: The same subjects' shares, in the same order.
        clusters: For each subject what it belongs to.
        trials: Upper bound of the effective number: how many trials there are of the smaller
            side; the number of subjects when None.
        seed: Of the test; see `sign_flip_test`.
        level: Confidence level in (0, 1).

    Returns:
        The mean over subjects, in [-1, 1], with the p value of `sign_flip_test`; `n` counts
        clusters.

    Raises:
        InvalidOption: Lengths that differ, a share outside [0, 1], or a wrong level.
        NotEnoughData: Fewer than two clusters.
        MissingDependency: numpy is not installed.

    Source: Tango, Statistics in Medicine 17 (1998), 891-908, at the effective number of pairs of
    Korn and Graubard, Survey Methodology 24 (1998), 193-201.

    Example:
        >>> old, new = [0.0, 0.5, 0.5, 1.0, 0.5, 0.0], [0.5, 1.0, 0.5, 1.0, 1.0, 1.0]
        >>> change = clustered_rate_difference(old, new, trials=12)
        >>> round(change.value, 2), change.p_value
        (0.42, 0.125)
    """
    check_same_length(old, new, what="old and new")
    level = check_level(level)
    z = normal_quantile(level)
    if trials is not None:
        trials = check_count(trials, "trials", least=1)
    changes = [b - a for a, b in zip(shares(old), shares(new), strict=True)]
    mean, error, n_clusters = mean_and_error(changes, clusters)
    better = math.fsum(change for change in changes if change > 0)
    worse = -math.fsum(change for change in changes if change < 0)
    spread = (better + worse) / len(changes) - mean**2
    effective = float(n_clusters)
    if error > 0:
        most = max(len(changes) if trials is None else trials, n_clusters)
        effective = min(most, spread / error**2)
    n = effective * (z / student_quantile(level, n_clusters - 1)) ** 2
    b, c = n * better / len(changes), n * worse / len(changes)
    low = root_between(-1, mean, lambda d: paired_score(b, c, n, d) - z)
    high = root_between(mean, 1, lambda d: paired_score(b, c, n, d) + z)
    p_value = sign_flip_test(old, new, clusters=clusters, seed=seed).p_value
    return Difference(mean, Interval(low, high, level), p_value, n_clusters)


def _counted(sizes: Sequence[float], least: float) -> float:
    """Return the share of all signs whose sum is at least so far from 0."""
    numpy = load("numpy")
    half = len(sizes) // 2
    first, second = _signed_sums(sizes[:half]), numpy.sort(_signed_sums(sizes[half:]))
    above = len(second) - numpy.searchsorted(second, least - first, side="left")
    # The signs are symmetric: as many sums lie below -least as above least.
    return min(1.0, 2 * int(above.sum()) / (len(first) * len(second)))


def _signed_sums(sizes: Sequence[float]) -> NDArray[Any]:
    numpy = load("numpy")
    sums: NDArray[Any] = numpy.zeros(1)
    for size in sizes:
        sums = numpy.concatenate([sums + size, sums - size])
    return sums


def _drawn(sizes: Sequence[float], least: float, seed: int, n_resamples: int) -> float:
    """Return how often drawn signs give a sum at least so far from 0, the one at hand included.

    Of m clusters of one size, the signs together are a binomial draw.
    """
    numpy = load("numpy")
    generator = numpy.random.default_rng(seed)
    values, counts = numpy.unique(numpy.round(sizes, 12), return_counts=True)
    hits = 0
    is_large = len(values) > _MANY
    if is_large:
        n_resamples = min(n_resamples, max(_LEAST_DRAWN, _MOST_SIGNS // len(values)))
    most_rows = min(_ROWS, max(1, _CELLS // len(values)))
    for start in range(0, n_resamples, most_rows):
        shape = min(most_rows, n_resamples - start), len(values)
        if is_large and counts.max() == 1:
            signs = 2.0 * generator.integers(2, size=shape, dtype=numpy.int8) - 1
        else:
            signs = 2.0 * generator.binomial(counts, 0.5, size=shape) - counts
        hits += int((abs(signs @ values) >= least).sum())
    return (1 + hits) / (1 + n_resamples)

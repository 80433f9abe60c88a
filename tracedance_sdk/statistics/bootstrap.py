"""Bootstrap intervals of any statistic: over items, over clusters, or over both. Needs scipy."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from tracedance_sdk.errors import NotEnoughData
from tracedance_sdk.statistics.checking import (
    check_callable,
    check_choice,
    check_enough,
    check_level,
    check_resamples,
    check_same_length,
    check_seed,
    finite,
    hashables,
)
from tracedance_sdk.statistics.extra import load
from tracedance_sdk.statistics.intervals import Estimate, Interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

BootstrapMethod = Literal["percentile", "bca"]
"""``percentile`` takes the resamples' quantiles, ``bca`` corrects them for bias and skewness."""


def bootstrap_interval(
    values: Sequence[float],
    statistic: Callable[[NDArray[Any]], float] | None = None,
    *,
    seed: int,
    clusters: Sequence[Hashable] | None = None,
    method: BootstrapMethod = "bca",
    n_resamples: int = 10_000,
    level: float = 0.95,
) -> Estimate:
    """Return a statistic with an interval from resamples of the items, or of whole clusters.

    Args:
        values: Any unit.
        statistic: Takes a one-dimensional float array and gives a number; the mean when None.
        seed: Of the resampling: the same seed gives the same interval.
        clusters: For each value what it belongs to; whole clusters are then drawn.
        method: See `BootstrapMethod`. With fewer than about 20 units both are too narrow.
        n_resamples: At least 100.
        level: Confidence level in (0, 1).

    Returns:
        The statistic of the sample; `n` counts clusters, or values without clusters. Where every
        resample gives the same the interval has no width.

    Raises:
        InvalidOption: Lengths that differ, a value that is no finite number, or wrong options.
        NotEnoughData: Fewer than two units, or a statistic that is not finite.
        MissingDependency: scipy is not installed.

    Source: Efron and Tibshirani, An Introduction to the Bootstrap (1993), chapters 13 and 14;
    `scipy.stats.bootstrap` does the work, with clusters as its items.

    Example:
        >>> found = bootstrap_interval([1, 2, 3, 4, 5, 6, 7, 8], seed=7)
        >>> found.value, round(found.interval.low, 1)
        (4.5, 2.9)
    """
    numpy, stats = load("numpy"), load("scipy.stats")
    check_choice(method, "bootstrap", ("percentile", "bca"))
    n_resamples, level = check_resamples(n_resamples), check_level(level)
    seed = check_seed(seed)
    check_callable(statistic, "statistic")
    groups = _grouped_arrays(values, clusters)
    of_units = _statistic_of_units(groups, statistic)
    everything = numpy.arange(len(groups))
    value = float(of_units(everything))
    if not math.isfinite(value):
        raise NotEnoughData("the statistic of the sample is not a finite number")
    with warnings.catch_warnings():
        # Degenerate resamples are an error of ours below, not a warning.
        warnings.simplefilter("ignore")
        drawn = stats.bootstrap(
            (everything,),
            lambda units, axis=-1: of_units(numpy.moveaxis(units, axis, -1)),
            n_resamples=n_resamples,
            method="BCa" if method == "bca" else "percentile",
            confidence_level=level,
            vectorized=True,
            batch=max(1, 2_000_000 // len(groups)),
            rng=numpy.random.default_rng(seed),
        )
    low, high = map(float, drawn.confidence_interval)
    if numpy.ptp(drawn.bootstrap_distribution) == 0:
        low, high = value, value
    if not math.isfinite(low + high):
        raise NotEnoughData(
            "this statistic hardly varies between resamples, so that BCa is not defined; "
            "use method='percentile', or a smoother statistic"
        )
    return Estimate(value, Interval(low, high, level), len(groups))


def two_level_bootstrap(
    values: Sequence[float],
    clusters: Sequence[Hashable],
    *,
    seed: int,
    macro: bool = True,
    n_resamples: int = 10_000,
    level: float = 0.95,
) -> Estimate:
    """Return a mean with a percentile interval from resampled clusters and items within them.

    Each resample draws clusters, then as many items within each as it has: for items that are
    themselves a sample, such as the instances of a benchmark. It is wider than resampling
    clusters alone, and rather too wide where the items' own chance already shows in the
    clusters' spread.

    Args:
        values: Any unit.
        clusters: For each value what it belongs to.
        seed: Of the resampling.
        macro: Average the clusters' means; otherwise all values, the larger clusters more.
        n_resamples: At least 100.
        level: Confidence level in (0, 1).

    Returns:
        The mean of the sample; `n` counts clusters.

    Raises:
        InvalidOption: Lengths that differ, a value that is no finite number, or wrong options.
        NotEnoughData: Fewer than two clusters.
        MissingDependency: numpy is not installed.

    Source: Davison and Hinkley, Bootstrap Methods and their Application (1997), section 3.8.

    Example:
        >>> two_level_bootstrap([1, 0, 1, 1], ["a", "a", "b", "b"], seed=1).value
        0.75
    """
    numpy = load("numpy")
    n_resamples, level = check_resamples(n_resamples), check_level(level)
    seed = check_seed(seed)
    groups = _grouped_arrays(values, clusters)
    sizes = numpy.array([len(group) for group in groups], dtype=float)
    weights = sizes if not macro else numpy.ones(len(groups))
    means = numpy.array([group.mean() for group in groups])
    generator = numpy.random.default_rng(seed)
    sums = numpy.zeros(n_resamples)
    drawn_weights = numpy.zeros(n_resamples)
    drawn = generator.multinomial(
        len(groups), numpy.full(len(groups), 1 / len(groups)), size=n_resamples
    )
    for index, group in enumerate(groups):
        times = drawn[:, index]
        owner = numpy.repeat(numpy.arange(n_resamples), times)
        resampled = _resampled_means(group, len(owner), generator)
        sums += weights[index] * numpy.bincount(owner, resampled, minlength=n_resamples)
        drawn_weights += weights[index] * times
    low, high = numpy.quantile(sums / drawn_weights, [(1 - level) / 2, (1 + level) / 2])
    value = float((means * weights).sum() / weights.sum())
    return Estimate(value, Interval(float(low), float(high), level), len(groups))


def _grouped_arrays(
    values: Sequence[float], clusters: Sequence[Hashable] | None
) -> list[NDArray[Any]]:
    numpy = load("numpy")
    listed = finite(values)
    owners = range(len(listed)) if clusters is None else hashables(clusters, "cluster")
    check_same_length(listed, owners, what="values and clusters")
    groups: dict[Hashable, list[float]] = {}
    for value, owner in zip(listed, owners, strict=True):
        groups.setdefault(owner, []).append(value)
    check_enough(len(groups), 2, what="values" if clusters is None else "clusters")
    return [numpy.array(group) for group in groups.values()]


def _statistic_of_units(
    groups: list[NDArray[Any]], statistic: Callable[[NDArray[Any]], float] | None
) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """Return what takes rows of drawn units, ``(..., n_units)``, and gives a number for each."""
    numpy = load("numpy")
    if statistic is None:
        sums: NDArray[Any] = numpy.array([group.sum() for group in groups])
        sizes: NDArray[Any] = numpy.array([len(group) for group in groups], dtype=float)
        return lambda units: sums[units].sum(axis=-1) / sizes[units].sum(axis=-1)

    def each(units: NDArray[Any]) -> NDArray[Any]:
        rows = units.reshape(-1, units.shape[-1])
        found = [float(statistic(numpy.concatenate([groups[i] for i in row]))) for row in rows]
        shaped: NDArray[Any] = numpy.array(found).reshape(units.shape[:-1])
        return shaped

    return each


def _resampled_means(group: NDArray[Any], times: int, generator: Any) -> NDArray[Any]:
    """Return the means of `times` resamples of one cluster's items."""
    numpy = load("numpy")
    rows = max(1, 2_000_000 // len(group))
    parts = [
        group[generator.integers(len(group), size=(min(rows, times - start), len(group)))].mean(1)
        for start in range(0, times, rows)
    ]
    means: NDArray[Any] = numpy.concatenate(parts) if parts else numpy.zeros(0)
    return means

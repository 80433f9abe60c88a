"""Two independent samples, small or skewed: an exact test of rates, and a difference of means."""

from __future__ import annotations

from collections.abc import Sequence

from tracedance_sdk.statistics.checking import check_counts, check_enough, check_share, finite
from tracedance_sdk.statistics.extra import load
from tracedance_sdk.statistics.intervals import Difference, Interval, Significance


def fisher_exact(old: tuple[int, int], new: tuple[int, int]) -> Significance:
    """Test whether two independent rates differ: Fisher's exact test.

    Right for any number of trials, where the z test of `rate_difference` needs many.

    Args:
        old: Successes and trials of the first sample.
        new: Successes and trials of the second.

    Returns:
        The statistic is the difference, new minus old; `n` counts the trials of both.

    Raises:
        InvalidOption: Impossible counts.
        NotEnoughData: A sample is empty.
        MissingDependency: scipy is not installed.

    Source: Fisher, Statistical Methods for Research Workers, 5th edition (1934), section 21.02;
    `scipy.stats.fisher_exact`.

    Example:
        >>> round(fisher_exact((0, 3), (3, 3)).p_value, 3)
        0.1
    """
    (x1, n1), (x2, n2) = old, new
    check_counts(x1, n1, what="trial")
    check_counts(x2, n2, what="trial")
    found = load("scipy.stats").fisher_exact([[x1, n1 - x1], [x2, n2 - x2]])
    return Significance(x2 / n2 - x1 / n1, min(1.0, float(found.pvalue)), n1 + n2)


def mean_difference(
    old: Sequence[float], new: Sequence[float], *, level: float = 0.95
) -> Difference:
    """Return how much the means of two independent samples differ, by Welch's t test.

    Args:
        old: Values of the first sample, any unit.
        new: Values of the second, in the same unit.
        level: Confidence level in (0, 1).

    Returns:
        New minus old; `n` counts the values of both.

    Raises:
        InvalidOption: A value that is no finite number, or a wrong level.
        NotEnoughData: Fewer than two values in a sample, or no value differs from the others of
            its sample.
        MissingDependency: scipy is not installed.

    Source: Welch, Biometrika 34 (1947), 28-35; `scipy.stats.ttest_ind`.

    Example:
        >>> round(mean_difference([1, 2, 3, 4], [3, 4, 5, 6]).p_value, 3)
        0.071
    """
    check_share(level, "level")
    first, second = finite(old, "old value"), finite(new, "new value")
    for values in (first, second):
        check_enough(len(values), 2, what="values")
    check_enough(max(len({*first}), len({*second})), 2, what="different values in a sample")
    found = load("scipy.stats").ttest_ind(second, first, equal_var=False)
    low, high = found.confidence_interval(level)
    value = sum(second) / len(second) - sum(first) / len(first)
    interval = Interval(float(low), float(high), level)
    return Difference(value, interval, float(found.pvalue), len(first) + len(second))

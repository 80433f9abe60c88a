"""The same subjects under two conditions, passed or failed: how the rate changed, and McNemar."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tracedance_sdk.statistics.checking import (
    booleans,
    check_enough,
    check_level,
    check_same_length,
)
from tracedance_sdk.statistics.extra import load
from tracedance_sdk.statistics.intervals import Difference, Interval, Significance
from tracedance_sdk.statistics.quantiles import normal_quantile


def mcnemar(old: Sequence[bool], new: Sequence[bool]) -> Significance:
    """Test whether as many subjects got better as got worse: McNemar's exact test.

    Of the b + c subjects whose outcome changed, b to pass and c to fail, each is as likely to go
    either way: ``p = P(|X - (b + c)/2| >= |b - (b + c)/2|)``, X ~ Binomial(b + c, 1/2).

    Args:
        old: Whether each subject passed.
        new: Whether the same subjects passed afterwards, in the same order.

    Returns:
        The statistic is min(b, c), `n` is b + c; where nothing changed the p value is 1.

    Raises:
        InvalidOption: The lengths differ.
        NotEnoughData: No subjects.
        MissingDependency: scipy is not installed.

    Source: McNemar, Psychometrika 12 (1947), 153-157, exact; `scipy.stats.binomtest`.

    Example:
        >>> mcnemar([1, 1, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1, 1]).p_value
        0.0625
    """
    better, worse, _ = changes(old, new)
    return Significance(min(better, worse), _exact_p(better, worse), better + worse)


def paired_rate_difference(
    old: Sequence[bool], new: Sequence[bool], *, level: float = 0.95
) -> Difference:
    """Return how much the pass rate of the same subjects changed: new minus old.

    The interval is Tango's: all differences d that the score test ``|T(d)| <= z`` does not
    refuse, with ``T(d) = (b - c - n d) / sqrt(n (2 q + d (1 - d)))``, b subjects to pass and c to
    fail, and q the most likely share of the latter under d. It stays within [-1, 1] and has width
    even where nothing changed.

    Args:
        old: Whether each subject passed.
        new: Whether the same subjects passed afterwards, in the same order.
        level: Confidence level in (0, 1).

    Returns:
        The difference in [-1, 1] with the p value of `mcnemar`; `n` counts subjects.

    Raises:
        InvalidOption: The lengths differ, or a wrong level.
        NotEnoughData: No subjects.
        MissingDependency: scipy is not installed.

    Source: Tango, Statistics in Medicine 17 (1998), 891-908.

    Example:
        >>> change = paired_rate_difference([1] * 6 + [0] * 4, [1] * 8 + [0] * 2)
        >>> round(change.value, 2), change.p_value
        (0.2, 0.5)
    """
    better, worse, n = changes(old, new)
    level = check_level(level)
    z = normal_quantile(level)
    value = (better - worse) / n
    low = root_between(-1, value, lambda d: paired_score(better, worse, n, d) - z)
    high = root_between(value, 1, lambda d: paired_score(better, worse, n, d) + z)
    return Difference(value, Interval(low, high, level), _exact_p(better, worse), n)


def changes(old: Sequence[bool], new: Sequence[bool]) -> tuple[int, int, int]:
    """Return how many subjects went from fail to pass, how many from pass to fail, and of how many.

    Raises:
        InvalidOption: The lengths differ.
        NotEnoughData: No subjects.
    """
    check_same_length(old, new, what="old and new")
    check_enough(len(old), 1, what="subjects")
    pairs = list(zip(booleans(old, "old outcome"), booleans(new, "new outcome"), strict=True))
    return pairs.count((False, True)), pairs.count((True, False)), len(pairs)


def paired_score(better: float, worse: float, n: float, difference: float) -> float:
    """Return Tango's T for a supposed difference; infinite where that cannot be."""
    a = 2 * n
    b = -better - worse + (2 * n - better + worse) * difference
    c = -worse * difference * (1 - difference)
    share = (math.sqrt(max(0.0, b * b - 4 * a * c)) - b) / (2 * a)
    above = better - worse - n * difference
    variance = n * (2 * share + difference * (1 - difference))
    if variance <= 1e-15:
        return 0.0 if abs(above) < 1e-12 else math.copysign(math.inf, above)
    return above / math.sqrt(variance)


def root_between(low: float, high: float, function: Callable[[float], float]) -> float:
    """Return where a falling function crosses 0, or the end towards which it does not."""
    if function(low) <= 0:
        return low
    if function(high) >= 0:
        return high
    while (middle := (low + high) / 2) not in (low, high) and high - low > 1e-13:
        if function(middle) > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _exact_p(better: int, worse: int) -> float:
    if better == worse:
        return 1.0
    return float(load("scipy.stats").binomtest(better, better + worse, 0.5).pvalue)

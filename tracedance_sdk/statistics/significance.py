"""Tests of paired scores, and the correction when there are several tests."""

from __future__ import annotations

from collections.abc import Sequence

from tracedance_sdk.statistics.checking import (
    check_enough,
    check_same_length,
    finite,
)
from tracedance_sdk.statistics.extra import load
from tracedance_sdk.statistics.intervals import Significance


def wilcoxon_signed_rank(old: Sequence[float], new: Sequence[float]) -> Significance:
    """Test whether paired scores shifted: Wilcoxon's signed-rank test.

    Ranks the sizes of ``new - old`` and compares the ranks of rises with those of falls. Pairs
    without a difference are left out. Exact for up to 50 differences without ties, else normal
    with the correction for ties.

    Args:
        old: A score for each subject; an order is enough, but differences must be comparable.
        new: The same subjects' scores, in the same order.

    Returns:
        The statistic is the smaller of the two rank sums, `n` counts the pairs that differ; where
        none does the p value is 1.

    Raises:
        InvalidOption: The lengths differ, or a score is no finite number.
        NotEnoughData: No pairs.
        MissingDependency: scipy is not installed.

    Source: Wilcoxon, Biometrics Bulletin 1 (1945), 80-83; `scipy.stats.wilcoxon`.

    Example:
        >>> wilcoxon_signed_rank([1, 2, 3, 4, 5], [2, 4, 6, 8, 10]).p_value
        0.0625
    """
    check_same_length(old, new, what="old and new")
    check_enough(len(old), 1, what="pairs")
    pairs = zip(finite(old, "old score"), finite(new, "new score"), strict=True)
    differences = [b - a for a, b in pairs if b != a]
    if not differences:
        return Significance(0.0, 1.0, 0)
    sizes = {abs(difference) for difference in differences}
    is_exact = len(differences) <= 50 and len(sizes) == len(differences)
    method = "exact" if is_exact else "asymptotic"
    found = load("scipy.stats").wilcoxon(differences, method=method)
    return Significance(float(found.statistic), float(found.pvalue), len(differences))


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return p values corrected for being several, by Holm's method, in their order.

    The i-th smallest of m is multiplied by m - i + 1, is never below the one before, and at most
    1. Refusing what is below alpha keeps the chance of any false refusal below alpha, however the
    tests depend on each other.

    Args:
        p_values: Each in [0, 1].

    Raises:
        InvalidOption: One is not; one below 1e-100 counts as 0.

    Source: Holm, Scandinavian Journal of Statistics 6 (1979), 65-70.

    Example:
        >>> holm([0.01, 0.04, 0.03])
        (0.03, 0.06, 0.06)
    """
    p_values = finite(p_values, "p value", least=0, most=1)
    corrected = [0.0] * len(p_values)
    most = 0.0
    ordered = sorted(range(len(p_values)), key=lambda index: p_values[index])
    for rank, index in enumerate(ordered):
        most = max(most, min(1.0, (len(p_values) - rank) * p_values[index]))
        corrected[index] = most
    return tuple(corrected)

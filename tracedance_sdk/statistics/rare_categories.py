"""Intervals of kappa and phi by score tests, which also hold where passes are rare. Needs numpy.

The standard error of either is nearly 0 where a sample happens to hold no pass on which the raters
agree. Here the error is that of the coefficient being tried, not that of the one found.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from tracedance_sdk.statistics.extra import load

if TYPE_CHECKING:
    from numpy.typing import NDArray

_STEPS: Final = 30
_SMOOTHING: Final = 0.5
"""Items, spread over all cells, that keep a category that nobody used from being impossible."""


def kappa_and_variance(shares: NDArray[Any], similarity: NDArray[Any]) -> tuple[float, float]:
    """Return kappa of a table and the asymptotic variance of it for one item.

    Args:
        shares: Of all items, ``(k, k)``; they sum to 1 and lie in more than one category.
        similarity: 1 for the same category, less for others, ``(k, k)``.

    Source: Fleiss, Cohen and Everitt, Psychological Bulletin 72 (1969), 323-327.
    """
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    observed, expected = float((shares * similarity).sum()), float(rows @ similarity @ columns)
    value = (observed - expected) / (1 - expected)
    habits = (similarity @ columns)[:, None] + (rows @ similarity)[None, :]
    spread = float((shares * (similarity - habits * (1 - value)) ** 2).sum())
    spread -= (value - expected * (1 - value)) ** 2
    return value, max(spread, 0.0) / (1 - expected) ** 2


def phi_and_variance(shares: NDArray[Any]) -> tuple[float, float]:
    """Return the correlation of two scores of two values each, and its variance for one item.

    Args:
        shares: Of all items, ``(2, 2)``; they sum to 1, and no row or column is empty.

    Source: the mean square of the correlation's influence function; Devlin, Gnanadesikan and
    Kettenring, Biometrika 62 (1975), 531-545.
    """
    numpy = load("numpy")
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    first = (numpy.arange(2) - rows[1]) / math.sqrt(rows[0] * rows[1])
    second = (numpy.arange(2) - columns[1]) / math.sqrt(columns[0] * columns[1])
    value = float(first @ shares @ second)
    influence = numpy.outer(first, second) - value / 2 * (first[:, None] ** 2 + second**2)
    return value, float((shares * influence**2).sum())


def score_ends(
    counts: NDArray[Any],
    measure: Callable[[NDArray[Any]], tuple[float, float]],
    *,
    quantile: float,
) -> tuple[float, float]:
    """Return the coefficients that the sample does not speak against, within [-1, 1].

    One above that found is that of the sample's table mixed with full agreement, one below that of
    the table mixed with chance, both with the raters' own marginals; it is kept while it lies
    within `quantile` standard errors *of that mixture* of the one found.

    Args:
        counts: Items by category of the first and the second rater, ``(k, k)``; not all
            items in one category.
        measure: Takes shares such as the counts have and returns the coefficient, which is 1 for
            full agreement, and its variance for one item.
        quantile: How many standard errors to go to each side.

    Source: Wilson, Journal of the American Statistical Association 22 (1927), 209-212, with the
    raters' marginals taken as they are found.
    """
    numpy = load("numpy")
    n = float(counts.sum())
    found, _ = measure(counts / n)
    table = (counts + _SMOOTHING / counts.size) / (n + _SMOOTHING)
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    agreeing, chance = numpy.diag((rows + columns) / 2), numpy.outer(rows, columns)

    def beyond(share: float, other: NDArray[Any]) -> tuple[float, float]:
        """Return the coefficient of a mixture, and by how much it lies too far from that found."""
        value, variance = measure((1 - share) * table + share * other)
        return value, abs(value - found) - quantile * math.sqrt(variance / n)

    high = _last(lambda share: beyond(share, agreeing))
    by_chance, too_far = beyond(1.0, chance)
    if too_far <= 0 or found <= by_chance:
        low = found - quantile * math.sqrt(measure(chance)[1] / n)
    else:
        low = _last(lambda share: beyond(share, chance))
    return max(-1.0, min(low, found)), min(1.0, max(high, found))


def _last(beyond: Callable[[float], tuple[float, float]]) -> float:
    """Return the coefficient of the mixture up to which none lies too far."""
    near, far = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (near + far) / 2
        if beyond(middle)[1] <= 0:
            near = middle
        else:
            far = middle
    return beyond(near)[0]

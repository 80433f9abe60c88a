"""Rank correlations without each of the items in turn, and their error under chance. Needs numpy.

All take time in the square of the number of items, and memory in the number of items.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from tracedance_sdk.statistics.extra import load

if TYPE_CHECKING:
    from numpy.typing import NDArray

_CELLS: Final = 1_000_000
"""Pairs of items that are compared at once."""


def kendall_left_out(first: Sequence[float], second: Sequence[float]) -> list[float]:
    """Return Kendall's tau-b without each item in turn; 0 where all others are tied.

    Args:
        first: A score for each item.
        second: The same items' scores, in the same order.
    """
    numpy = load("numpy")
    sums = [
        ((x * y).sum(axis=1), abs(x).sum(axis=1), abs(y).sum(axis=1))
        for _, x, y in _compared(first, second)
    ]
    agreeing, apart, apart_too = (numpy.concatenate(of) for of in zip(*sums, strict=True))
    # Each pair was counted from both sides.
    spread = (apart.sum() - 2 * apart) * (apart_too.sum() - 2 * apart_too)
    return _shares(agreeing.sum() - 2 * agreeing, spread)


def spearman_left_out(first: Sequence[float], second: Sequence[float]) -> list[float]:
    """Return Spearman's rho without each item in turn; 0 where all others are tied.

    Args:
        first: A score for each item.
        second: The same items' scores, in the same order.
    """
    numpy = load("numpy")
    n = len(first)
    ranks = [_ranks(of) for of in (first, second)]
    found = []
    for rows, *signs in _compared(first, second):
        # Those above the one left out move down by a rank, those tied with it by half a rank.
        others = numpy.ones((len(rows), n))
        others[numpy.arange(len(rows)), rows] = 0
        moved = []
        for rank, sign in zip(ranks, signs, strict=True):
            kept = rank[None, :] - (1 - sign) / 2
            moved.append((kept - n / 2) * others)  # n - 1 ranks have the mean n / 2
        x, y = moved
        found += _shares((x * y).sum(axis=1), (x * x).sum(axis=1) * (y * y).sum(axis=1))
    return found


def error_without_correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the standard error of Kendall's tau-b of scores that do not go together.

    Args:
        first: A score for each of three items or more, not all the same.
        second: The same items' scores, not all the same.

    Source: Kendall, Rank Correlation Methods (1970), section 4.4.
    """
    n = len(first)
    ties = [list(Counter(of).values()) for of in (first, second)]
    spread = (n * (n - 1) * (2 * n + 5)) / 18
    spread -= sum(t * (t - 1) * (2 * t + 5) for of in ties for t in of) / 18
    threes = [sum(t * (t - 1) * (t - 2) for t in of) for of in ties]
    pairs = [sum(t * (t - 1) for t in of) for of in ties]
    spread += threes[0] * threes[1] / (9 * n * (n - 1) * (n - 2))
    spread += pairs[0] * pairs[1] / (2 * n * (n - 1))
    untied = [(n * (n - 1) - tied) / 2 for tied in pairs]
    return math.sqrt(spread / (untied[0] * untied[1]))


def _compared(
    first: Sequence[float], second: Sequence[float]
) -> Iterator[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]]:
    """Yield some places, and for these how each item's scores compare with all: -1, 0 or 1."""
    numpy = load("numpy")
    a, b = numpy.asarray(first, dtype=float), numpy.asarray(second, dtype=float)
    step = max(1, _CELLS // len(a))
    for start in range(0, len(a), step):
        rows = numpy.arange(start, min(start + step, len(a)))
        yield rows, *(numpy.sign(of[rows][:, None] - of[None, :]) for of in (a, b))


def _ranks(scores: Sequence[float]) -> NDArray[Any]:
    numpy = load("numpy")
    _, place, times = numpy.unique(scores, return_inverse=True, return_counts=True)
    ranks: NDArray[Any] = (numpy.cumsum(times) - (times - 1) / 2)[place]
    return ranks


def _shares(above: NDArray[Any], spread: NDArray[Any]) -> list[float]:
    numpy = load("numpy")
    root = numpy.sqrt(numpy.maximum(spread, 0))
    return numpy.divide(above, root, out=numpy.zeros(len(root)), where=root > 0).tolist()  # type: ignore[no-any-return]

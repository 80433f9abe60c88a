"""Coefficients of agreement from counts and sums alone, for leaving out one group after another.

The values are those of `tracedance_sdk.statistics`, without intervals.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from tracedance_sdk.errors import NotEnoughData
from tracedance_sdk.statistics import Confusion

_UNIFORM = "without one group all ratings are the same"


def kappa_value(table: Confusion) -> float:
    """Return Cohen's kappa.

    Raises:
        NotEnoughData: No items, or both sides say the same of every item.

    Example:
        >>> kappa_value(Confusion(17, 21, 11, 119))
        0.4
    """
    tp, fp, fn, tn = table
    n = table.n
    expected = (tp + fp) * (tp + fn) + (fn + tn) * (fp + tn)
    if expected == n * n:
        raise NotEnoughData(_UNIFORM)
    return (n * (tp + tn) - expected) / (n * n - expected)


def alpha_value(table: Confusion) -> float:
    """Return Krippendorff's alpha of two raters who pass and fail.

    Raises:
        NotEnoughData: All ratings are the same.

    Example:
        >>> round(alpha_value(Confusion(17, 21, 11, 119)), 3)
        0.398
    """
    tp, fp, fn, tn = table
    n_pass, n_fail = 2 * tp + fp + fn, 2 * tn + fp + fn
    if not n_pass * n_fail:
        raise NotEnoughData(_UNIFORM)
    return 1 - (n_pass + n_fail - 1) * (fp + fn) / (n_pass * n_fail)


def whole_without(whole: Confusion, pairs: Iterable[tuple[bool, bool]]) -> Confusion:
    """Return a table without some of its items, each as (judge passes, people pass)."""
    tp, fp, fn, tn = whole
    for judge, human in pairs:
        if judge:
            tp, fp = tp - human, fp - (not human)
        else:
            fn, tn = fn - human, tn - (not human)
    return Confusion(tp, fp, fn, tn)


class ScoreSums(NamedTuple):
    """What alpha of two raters' scores follows from.

    Attributes:
        n: Pairs of scores.
        total: Sum of all scores.
        squares: Sum of their squares.
        apart: Sum of the squared differences within pairs.
    """

    n: int
    total: float
    squares: float
    apart: float

    @classmethod
    def of(cls, pairs: Iterable[tuple[float, float]]) -> ScoreSums:
        """Return the sums of pairs."""
        listed = list(pairs)
        return cls(
            len(listed),
            sum(a + b for a, b in listed),
            sum(a * a + b * b for a, b in listed),
            sum((a - b) ** 2 for a, b in listed),
        )

    def less(self, part: ScoreSums) -> ScoreSums:
        """Return the sums without those of some pairs."""
        return ScoreSums(
            self.n - part.n,
            self.total - part.total,
            self.squares - part.squares,
            self.apart - part.apart,
        )

    def alpha(self) -> float:
        """Return Krippendorff's alpha of the scores as numbers.

        Raises:
            NotEnoughData: All scores are the same.

        Example:
            >>> round(ScoreSums.of([(1, 1), (2, 2), (1, 2), (2, 2)]).alpha(), 4)
            0.5333
        """
        n = 2 * self.n
        spread = n * self.squares - self.total**2
        if spread <= 1e-9:
            raise NotEnoughData(_UNIFORM)
        return 1 - (n - 1) * self.apart / spread


class RankTable:
    """How often two scores go with each other, for their rank correlations.

    Args:
        pairs: Of scores, each as (one side, the other side).

    Example:
        >>> table = RankTable([(1, 1), (2, 3), (3, 2), (4, 5), (5, 4)])
        >>> round(table.spearman(), 2), round(table.kendall(), 2)
        (0.8, 0.6)
    """

    def __init__(self, pairs: Iterable[tuple[float, float]]) -> None:
        self._counts = Counter(pairs)

    @property
    def n_cells(self) -> int:
        """How many different pairs there are; correlations take time in the square of it."""
        return len(self._counts)

    def less(self, pairs: Iterable[tuple[float, float]]) -> RankTable:
        """Return the table without some of its pairs."""
        made = RankTable(())
        made._counts = self._counts.copy()
        made._counts.subtract(pairs)
        return made

    def spearman(self) -> float:
        """Return the correlation of the ranks, ties at their mean rank.

        Raises:
            NotEnoughData: All scores of a side are the same.
        """
        cells = [(a, b, count) for (a, b), count in self._counts.items() if count]
        n = sum(count for *_, count in cells)
        middle = (n + 1) / 2
        ranks = [_mean_ranks((cell[side], cell[2]) for cell in cells) for side in (0, 1)]
        apart = [(ranks[0][a] - middle, ranks[1][b] - middle, count) for a, b, count in cells]
        spread = [math.fsum(count * x**2 for x, _, count in apart),
                  math.fsum(count * y**2 for _, y, count in apart)]  # fmt: skip
        return _share(math.fsum(count * x * y for x, y, count in apart), *spread)

    def kendall(self) -> float:
        """Return tau-b: concordant less discordant pairs of items, ties allowed for.

        Raises:
            NotEnoughData: All scores of a side are the same.
        """
        cells = [(a, b, count) for (a, b), count in self._counts.items() if count]
        together = apart = apart_too = 0
        for at, (a, b, count) in enumerate(cells):
            for other, other_too, n in cells[:at]:
                x, y = (a > other) - (a < other), (b > other_too) - (b < other_too)
                together += count * n * x * y
                apart += count * n * (x != 0)
                apart_too += count * n * (y != 0)
        return _share(together, apart, apart_too)


def _mean_ranks(scores: Iterable[tuple[float, int]]) -> dict[float, float]:
    counts: Counter[float] = Counter()
    for score, count in scores:
        counts[score] += count
    ranks, before = {}, 0
    for score in sorted(counts):
        ranks[score] = before + (counts[score] + 1) / 2
        before += counts[score]
    return ranks


def _share(together: float, first: float, second: float) -> float:
    if not first or not second:
        raise NotEnoughData(_UNIFORM)
    return min(1.0, max(-1.0, together / math.sqrt(first * second)))

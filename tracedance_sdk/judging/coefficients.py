"""Coefficients of agreement from counts and sums alone, for leaving out one group after another.

The values are those of `tracedance_sdk.statistics`, without intervals.
"""

from __future__ import annotations

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

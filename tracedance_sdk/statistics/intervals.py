"""What every statistic comes as: a value, an interval around it, and how much it rests on."""

from __future__ import annotations

import math
from typing import NamedTuple


class Interval(NamedTuple):
    """A confidence interval.

    Attributes:
        low: Lower end, in the units of the value.
        high: Upper end.
        level: Share of repetitions in which such an interval holds the true value, in (0, 1).

    Example:
        >>> Interval(0.2, 0.6).contains(0.5)
        True
    """

    low: float
    high: float
    level: float = 0.95

    @property
    def half_width(self) -> float:
        """Half the distance between the ends."""
        return (self.high - self.low) / 2

    def contains(self, value: float) -> bool:
        """Return whether a value lies between the ends, the ends included."""
        return self.low <= value <= self.high

    def within(self, low: float, high: float) -> Interval:
        """Return the interval with its ends kept between two bounds."""
        ends = [float(min(max(end, low), high)) for end in (self.low, self.high)]
        return Interval(ends[0], ends[1], self.level)


class Estimate(NamedTuple):
    """A value computed from a sample, and how sure it is.

    Attributes:
        value: The point estimate.
        interval: The interval around it.
        n: How many independent units it rests on: clusters where there are clusters, else items.
    """

    value: float
    interval: Interval
    n: int


class Difference(NamedTuple):
    """How much a second sample differs from a first.

    Attributes:
        value: The second minus the first.
        interval: The interval around it.
        p_value: Of the two-sided test that there is no difference, in [0, 1].
        n: How many independent units it rests on: pairs, clusters, or all items.
    """

    value: float
    interval: Interval
    p_value: float
    n: int


class Significance(NamedTuple):
    """The outcome of a test.

    Attributes:
        statistic: The test's own statistic.
        p_value: Two-sided, in [0, 1].
        n: How many units the test used.
    """

    statistic: float
    p_value: float
    n: int


def fisher_interval(value: float, error: float, *, quantile: float, level: float) -> Interval:
    """Return ``tanh(atanh(value) ± quantile error)``: an interval that stays within [-1, 1].

    Args:
        value: Strictly between -1 and 1.
        error: Standard error of ``atanh(value)``; that of the value over ``1 - value^2``.
        quantile: How many errors to go to each side.
        level: Only carried along.
    """
    middle, half = math.atanh(value), quantile * error
    return Interval(math.tanh(middle - half), math.tanh(middle + half), level)

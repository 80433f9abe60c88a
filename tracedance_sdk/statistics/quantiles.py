"""Quantiles of the normal distribution and of Student's t, from the standard library alone."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Final

_NORMAL: Final = NormalDist()
_MOST_EXACT: Final = 400
"""Degrees of freedom from which the expansion is right to 12 digits and the series slow."""


def normal_quantile(level: float) -> float:
    """Return z such that a standard normal lies within [-z, z] with probability `level`."""
    return _NORMAL.inv_cdf((1 + level) / 2)


def two_sided_normal(z: float) -> float:
    """Return the probability that a standard normal is at least as far from 0 as `z`."""
    return math.erfc(abs(z) / math.sqrt(2))


def upper_normal(z: float) -> float:
    """Return the probability that a standard normal is above `z`."""
    return math.erfc(z / math.sqrt(2)) / 2


def student_quantile(level: float, df: int) -> float:
    """Return t such that Student's t with `df` degrees of freedom lies within [-t, t].

    Args:
        level: With this probability, in (0, 1).
        df: At least 1.

    Source: Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3-5.

    Example:
        >>> round(student_quantile(0.95, 4), 4)
        2.7764
    """
    if df > _MOST_EXACT:
        return _expanded_quantile(normal_quantile(level), df)
    low, high = 0.0, math.pi / 2
    while high - low > 1e-15 and (middle := (low + high) / 2) not in (low, high):
        if _within(middle, df) < level:
            low = middle
        else:
            high = middle
    return math.sqrt(df) * math.tan((low + high) / 2)


def two_sided_student(t: float, df: int) -> float:
    """Return the probability that Student's t with `df` degrees of freedom is as far out as `t`.

    Source: Abramowitz and Stegun, 26.7.3-4; exact up to the rounding of doubles.
    """
    if math.isinf(t):
        return 0.0
    return min(1.0, max(0.0, 1 - _within(math.atan(abs(t) / math.sqrt(df)), df)))


def _within(angle: float, df: int) -> float:
    """Return P(|t| <= sqrt(df) tan(angle)) by the finite series in the angle's cosine."""
    cosine = math.cos(angle)
    if df == 1:
        return 2 * angle / math.pi
    odd = df % 2
    term = cosine if odd else 1.0
    total = term
    for step in range(3 if odd else 2, df, 2):
        term *= cosine * cosine * (step - 1) / step
        total += term
    total *= math.sin(angle)
    return 2 / math.pi * (angle + total) if odd else total


def _expanded_quantile(z: float, df: int) -> float:
    coefficients = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    corrections = (value / float(df) ** power for power, value in enumerate(coefficients, start=1))
    return z + math.fsum(corrections)

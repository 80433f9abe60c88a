"""Score intervals of a mean of differences of rates, by tasks. Standard library only."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from tracedance_sdk.statistics.quantiles import normal_quantile

Table = tuple[int, int, int, int]
"""Passes and runs of old, passes and runs of new."""

_HALVINGS: Final = 50


def rate_bounds(
    tables: Mapping[Table, int], value: float, *, level: float, least: float = 0.0
) -> tuple[float, float]:
    """Return the least and the most mean difference that the runs of the tasks do not refute.

    Args:
        tables: How many tasks there are of each table.
        value: The mean difference found, in [-1, 1].
        level: Confidence level in (0, 1).
        least: Both ends are at least so far from `value`, within [-1, 1].

    Source: Miettinen and Nurminen, Statistics in Medicine 4 (1985), 213-226, with the difference
    averaged over tasks of equal weight.
    """
    z, n_tasks = normal_quantile(level), sum(tables.values())

    def is_refuted(difference: float) -> bool:
        distance = abs(value - difference)
        if distance <= least:
            return False
        variance = math.fsum(
            tasks * restricted_variance(table, difference) for table, tasks in tables.items()
        )
        return distance > z * math.sqrt(variance) / n_tasks

    ends = []
    for outermost in (-1.0, 1.0):
        inside, far = value, outermost
        for _ in range(_HALVINGS):
            middle = (inside + far) / 2
            if is_refuted(middle):
                far = middle
            else:
                inside = middle
        ends.append(far)
    return ends[0], ends[1]


def restricted_variance(table: Table, difference: float) -> float:
    """Return the variance of the difference found in one task whose rates differ by `difference`.

    ``N / (N - 1) [p1 (1 - p1) / n1 + p2 (1 - p2) / n2]`` at the most likely rates.

    Example:
        >>> round(restricted_variance((1, 2, 1, 2), 0.0), 4)
        0.3333
    """
    _, n1, _, n2 = table
    rate1, rate2 = likely_rates(*table, difference)
    variance = rate2 * (1 - rate2) / n2 + rate1 * (1 - rate1) / n1
    return variance * (n1 + n2) / (n1 + n2 - 1)


def likely_rates(x1: int, n1: int, x2: int, n2: int, difference: float) -> tuple[float, float]:
    """Return the most likely rates with ``rate2 - rate1 = difference``: the cubic's root."""
    if abs(difference) >= 1:
        return (0.0, 1.0) if difference > 0 else (1.0, 0.0)
    total, d = n1 + n2, difference
    c3 = float(total)
    c2 = (n2 + 2 * n1) * d - total - x1 - x2
    c1 = (n1 * d - total - 2 * x1) * d + x1 + x2
    c0 = x1 * d * (1 - d)
    third = c2 / (3 * c3)
    q = third**3 - c1 * c2 / (6 * c3**2) + c0 / (2 * c3)
    p = math.copysign(math.sqrt(max(0.0, third**2 - c1 / (3 * c3))), q)
    angle = 0.0 if p == 0 else (math.pi + math.acos(min(1.0, max(-1.0, q / p**3)))) / 3
    rate1 = min(max(2 * p * math.cos(angle) - third, 0.0, -d), 1.0, 1 - d)
    return rate1, rate1 + d

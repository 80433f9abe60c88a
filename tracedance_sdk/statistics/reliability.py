"""Does a score mean what it says: how many of those that score 0.8 pass? Standard library."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from tracedance_sdk.statistics.checking import (
    booleans,
    check_count,
    check_enough,
    check_same_length,
    finite,
)
from tracedance_sdk.statistics.intervals import Estimate
from tracedance_sdk.statistics.proportions import pass_rate


class ReliabilityBin(NamedTuple):
    """The items whose scores lie in one stretch.

    Attributes:
        low: Where it begins.
        high: Where it ends; the last one holds its end, the others do not.
        mean_score: Of its items.
        passed: Share of its items that pass, with Wilson's interval; `n` counts items.
    """

    low: float
    high: float
    mean_score: float
    passed: Estimate


class ReliabilityCurve(NamedTuple):
    """What each stretch of scores is worth.

    Attributes:
        bins: In order of the scores; stretches without items are left out.
        error: The expected calibration error, in [0, 1]: the mean distance between a bin's score
            and its share of passes, each bin weighing as many items as it has.
    """

    bins: tuple[ReliabilityBin, ...]
    error: float


def reliability_curve(
    scores: Sequence[float], passed: Sequence[bool], *, n_bins: int = 10, level: float = 0.95
) -> ReliabilityCurve:
    """Return how many items of each stretch of scores pass by a reference.

    ``error = sum(n_b / n |score_b - passed_b|)`` over bins of equal width. A judge whose scores
    are no probabilities can still be a good judge: then the curve says which score to ask for.

    Args:
        scores: From 0 to 1, one for each item.
        passed: Whether the item passes by the reference, in the same order.
        n_bins: Stretches that [0, 1] is cut into, at least 1.
        level: Confidence level in (0, 1) of each share.

    Raises:
        InvalidOption: Lengths that differ, a score outside [0, 1], no bins, or a wrong level.
        NotEnoughData: No items.

    Source: Naeini, Cooper and Hauskrecht, AAAI (2015), section 3, for the error.

    Example:
        >>> curve = reliability_curve([0.9, 0.9, 0.1, 0.1], [True, True, False, True], n_bins=2)
        >>> [(part.low, part.passed.value) for part in curve.bins], round(curve.error, 2)
        ([(0.0, 0.5), (0.5, 1.0)], 0.25)
    """
    check_same_length(scores, passed, what="scores and passed")
    n_bins = check_count(n_bins, "n_bins", least=1, most=10**6)
    values, passed = finite(scores, "score", least=0, most=1), booleans(passed, "outcome")
    check_enough(len(values), 1, what="items")
    bins: dict[int, list[tuple[float, bool]]] = {}
    for value, outcome in zip(values, passed, strict=True):
        bins.setdefault(min(n_bins - 1, int(value * n_bins + 1e-9)), []).append((value, outcome))
    found = []
    for place, items in sorted(bins.items()):
        mean = math.fsum(value for value, _ in items) / len(items)
        share = pass_rate(sum(outcome for _, outcome in items), len(items), level=level)
        found.append(ReliabilityBin(place / n_bins, (place + 1) / n_bins, mean, share))
    gaps = (part.passed.n * abs(part.mean_score - part.passed.value) for part in found)
    return ReliabilityCurve(tuple(found), math.fsum(gaps) / len(values))

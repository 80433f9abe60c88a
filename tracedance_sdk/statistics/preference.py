"""Does a judge favour answers of its own model? Standard library."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

from tracedance_sdk.statistics.checking import (
    booleans,
    check_enough,
    check_level,
    check_same_length,
    finite,
    hashables,
)
from tracedance_sdk.statistics.intervals import Difference, Interval
from tracedance_sdk.statistics.quantiles import student_quantile, two_sided_student


def self_preference(
    judge: Sequence[float],
    peers: Sequence[float],
    is_own: Sequence[bool],
    *,
    clusters: Sequence[Hashable] | None = None,
    level: float = 0.95,
) -> Difference:
    """Return how much further above its peers a judge scores its own model than other models.

    ``mean(judge - peers over own) - mean(judge - peers over others)``: a judge that is lenient to
    everybody has no preference. A difference may also be a difference in taste that the judge and
    its model share; it shows that the judge should not rank that model, not why.

    Args:
        judge: The judge's score of each response.
        peers: The mean score of the panel's other judges of the same responses, in order.
        is_own: Whether the response is by the judge's own model.
        clusters: For each response what it belongs to, such as its instance; the interval is then
            cluster-robust.
        level: Confidence level in (0, 1).

    Returns:
        In units of the score, with the interval and test of Student's t; `n` counts clusters, or
        responses without clusters.

    Raises:
        InvalidOption: Lengths that differ, a score that is no finite number, or a wrong level.
        NotEnoughData: Fewer than two responses on either side, or fewer than two clusters.

    Source: Liang and Zeger, Biometrika 73 (1986), 13-22, for the difference of two means, with
    the factor G / (G - 1).

    Example:
        >>> own = [True, True, False, False, False]
        >>> self_preference([5, 4, 3, 3, 2], [4, 3, 3, 3, 3], own).value
        1.3333...
    """
    level = check_level(level)
    check_same_length(judge, peers, what="judge and peers")
    check_same_length(judge, is_own, what="judge and is_own")
    owners: Sequence[Hashable] = (
        range(len(judge)) if clusters is None else hashables(clusters, "cluster")
    )
    is_own = booleans(is_own, "is_own")
    check_same_length(judge, owners, what="judge and clusters")
    pairs = zip(finite(judge, "score"), finite(peers, "peers' score"), strict=True)
    above = [score - mean for score, mean in pairs]
    sides = [
        [gap for gap, own in zip(above, is_own, strict=True) if own is side]
        for side in (True, False)
    ]
    for side, what in zip(
        sides, ("responses by the judge's model", "other responses"), strict=True
    ):
        check_enough(len(side), 2, what=what)
    own_mean, other_mean = (math.fsum(side) / len(side) for side in sides)
    shares: dict[Hashable, float] = {}
    for gap, own, owner in zip(above, is_own, owners, strict=True):
        share = (gap - own_mean) / len(sides[0]) if own else (other_mean - gap) / len(sides[1])
        shares[owner] = shares.get(owner, 0.0) + share
    n = len(shares)
    check_enough(n, 2, what="clusters")
    error = math.sqrt(n / (n - 1) * math.fsum(share**2 for share in shares.values()))
    value = own_mean - other_mean
    half = student_quantile(level, n - 1) * error
    t = value / error if error else math.inf if value else 0.0
    return Difference(
        value, Interval(value - half, value + half, level), two_sided_student(t, n - 1), n
    )

"""Shares of replays, with an interval that knows of tasks that were replayed several times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tracedance_sdk.statistics import Interval, clustered_rate, wilson_interval


class Rate(NamedTuple):
    """A share of some replays.

    Attributes:
        hits: How many.
        n: Of how many.
        wilson: Wilson's interval, which takes every replay for a sample of its own.
        clustered: Wilson's interval at the effective sample size, with the groups as the sample;
            None where no group is there twice, or there is only one.
        n_groups: How many groups there are.
    """

    hits: int
    n: int
    wilson: Interval
    clustered: Interval | None
    n_groups: int

    @property
    def value(self) -> float:
        """The share, from 0 to 1."""
        return self.hits / self.n

    @property
    def interval(self) -> Interval:
        """The interval that decides: the clustered one where there is one."""
        return self.wilson if self.clustered is None else self.clustered

    @property
    def told(self) -> str:
        """The share in words, such as ``47/58 = 81.0 % (69.1 to 89.1)``."""
        low, high = self.interval.low, self.interval.high
        share = f"{self.hits:,}/{self.n:,} = {self.value:.1%}".replace("%", " %")
        return f"{share} ({100 * low:.1f} to {100 * high:.1f})"

    @property
    def as_json(self) -> dict[str, Any]:
        """The share with both intervals."""
        document: dict[str, Any] = {
            "hits": self.hits,
            "n": self.n,
            "value": self.value,
            "wilson": [self.wilson.low, self.wilson.high],
            "groups": self.n_groups,
        }
        if self.clustered is not None:
            document["clustered"] = [self.clustered.low, self.clustered.high]
        return document


def rate_of(outcomes: Sequence[bool], groups: Sequence[str], *, level: float = 0.95) -> Rate | None:
    """Return the share of outcomes that are true; None where there are none.

    Args:
        outcomes: One for each replay.
        groups: What each belongs to, such as its task.
        level: Confidence level in (0, 1).

    Example:
        >>> rate_of([True] * 47 + [False] * 11, [str(n) for n in range(58)]).told
        '47/58 = 81.0 % (69.1 to 89.1)'
    """
    if not outcomes:
        return None
    hits, n, n_groups = sum(outcomes), len(outcomes), len(set(groups))
    clustered = None
    if 1 < n_groups < n:
        values = [float(item) for item in outcomes]
        clustered = clustered_rate(values, groups, level=level).interval
    return Rate(hits, n, wilson_interval(hits, n, level=level), clustered, n_groups)

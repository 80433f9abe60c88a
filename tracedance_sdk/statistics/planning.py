"""How many runs are needed: for an interval of a wanted width, or to see a wanted difference.

Standard library only.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.statistics.checking import (
    check_count,
    check_counts,
    check_level,
    check_number,
    check_share,
)
from tracedance_sdk.statistics.proportions import score_interval
from tracedance_sdk.statistics.quantiles import normal_quantile

_MOST_RUNS = 10**9
_TOO_MANY = "more than a billion runs would be needed; ask for less"


def runs_for_half_width(
    half_width: float, *, expected_rate: float = 0.5, level: float = 0.95
) -> int:
    """Return how many runs give a Wilson interval no wider than wanted.

    Args:
        half_width: Wanted half width, in (0, 0.5).
        expected_rate: The rate that is likely to come out, in [0, 1]; 0.5 needs most runs.
        level: Confidence level in (0, 1).

    Raises:
        InvalidOption: An argument out of range, or more than a billion runs.

    Source: Wilson's interval (see `wilson_interval`), searched for the smallest number.

    Example:
        >>> runs_for_half_width(0.1), runs_for_half_width(0.1, expected_rate=0.9)
        (93, 37)
    """
    half_width = _half_width(half_width)
    level = check_level(level)
    z = normal_quantile(level)
    expected_rate = check_number(expected_rate, "expected_rate", least=0, most=1)
    return _smallest(lambda n: score_interval(expected_rate, n, z, level).half_width <= half_width)


def more_runs_for_half_width(passes: int, n: int, *, half_width: float, level: float = 0.95) -> int:
    """Return how many more runs give a Wilson interval no wider than wanted; 0 when it is already.

    Supposes that the rate stays where the middle of the present interval is, so that a first few
    runs of all passes or all fails do not promise too much.

    Args:
        passes: Runs that passed so far.
        n: Runs so far, at least 1.
        half_width: Wanted half width, in (0, 0.5).
        level: Confidence level in (0, 1).

    Raises:
        InvalidOption: An argument out of range, or more than a billion runs.
        NotEnoughData: `n` is 0.

    Source: see `runs_for_half_width`.

    Example:
        >>> more_runs_for_half_width(8, 10, half_width=0.1)
        66
    """
    passes, n = check_counts(passes, n, what="run", most=_MOST_RUNS)
    half_width, level = _half_width(half_width), check_level(level)
    z = normal_quantile(level)
    now = score_interval(passes / n, n, z, level)
    if now.half_width <= half_width:
        return 0
    rate = (now.low + now.high) / 2
    return max(1, runs_for_half_width(half_width, expected_rate=rate, level=level) - n)


def runs_for_difference(
    old_rate: float, new_rate: float, *, power: float = 0.8, alpha: float = 0.05
) -> int:
    """Return how many runs *of each* show that two independent rates differ.

    ``n = (z_a sqrt(2 p (1 - p)) + z_b sqrt(p1 (1 - p1) + p2 (1 - p2)))^2 / (p1 - p2)^2`` with the
    mean rate p, z_a for alpha (two-sided) and z_b for the power.

    Args:
        old_rate: In [0, 1].
        new_rate: In [0, 1], another.
        power: Chance of showing it, in (0, 1).
        alpha: Of the two-sided z test, in (0, 1).

    Raises:
        InvalidOption: An argument out of range, equal rates, or more than a billion runs.

    Source: Fleiss, Statistical Methods for Rates and Proportions (1981), equation 3.14, without
    the correction for continuity.

    Example:
        >>> runs_for_difference(0.8, 0.9)
        199
    """
    old_rate = check_number(old_rate, "old_rate", least=0, most=1)
    new_rate = check_number(new_rate, "new_rate", least=0, most=1)
    if old_rate == new_rate:
        raise InvalidOption(f"both rates are {old_rate!r}; no number of runs shows a difference")
    mean = (old_rate + new_rate) / 2
    spread = old_rate * (1 - old_rate) + new_rate * (1 - new_rate)
    z_alpha, z_power = _z_of(alpha, power)
    wanted = z_alpha * math.sqrt(2 * mean * (1 - mean)) + z_power * math.sqrt(spread)
    return _whole((max(0.0, wanted) / (old_rate - new_rate)) ** 2)


def pairs_for_difference(
    better: float, worse: float, *, power: float = 0.8, alpha: float = 0.05
) -> int:
    """Return how many subjects, each under both conditions, show that more get better than worse.

    ``n = (z_a sqrt(b + c) + z_b sqrt(b + c - (b - c)^2))^2 / (b - c)^2``

    Args:
        better: Share b of subjects that go from fail to pass, in [0, 1].
        worse: Share c that go from pass to fail, in [0, 1], another.
        power: Chance of showing it, in (0, 1).
        alpha: Of the two-sided McNemar test, in (0, 1).

    Raises:
        InvalidOption: An argument out of range, equal shares, shares that sum to more than 1, or
            more than a billion subjects.

    Source: Connor, Biometrics 43 (1987), 207-211.

    Example:
        >>> pairs_for_difference(0.2, 0.1)
        234
    """
    better = check_number(better, "better", least=0, most=1)
    worse = check_number(worse, "worse", least=0, most=1)
    if better + worse > 1:
        raise InvalidOption(f"shares of {better!r} better and {worse!r} worse cannot be")
    if better == worse:
        raise InvalidOption(f"both shares are {better!r}; no number of subjects shows a difference")
    changed, gain = better + worse, better - worse
    z_alpha, z_power = _z_of(alpha, power)
    wanted = z_alpha * math.sqrt(changed) + z_power * math.sqrt(max(0.0, changed - gain**2))
    return _whole((max(0.0, wanted) / gain) ** 2)


def clusters_for_difference(
    difference: float,
    half_width: float,
    n: int,
    *,
    level: float = 0.95,
    power: float = 0.8,
    alpha: float = 0.05,
) -> int:
    """Return how many clusters, like those at hand, show a mean difference of the present size.

    ``n ((z_a + z_b) h / (z_l d))^2`` with h the half width of the present interval at level l.

    Args:
        difference: The present mean difference d, not 0.
        half_width: Of its interval, in the same unit.
        n: How many clusters, or pairs without clusters, it rests on.
        level: Confidence level of the interval, in (0, 1).
        power: Chance of showing it, in (0, 1).
        alpha: Of the two-sided test, in (0, 1).

    Raises:
        InvalidOption: An argument out of range, or more than a billion clusters.

    Source: the normal approximation to the power of a paired test; Cohen, Statistical Power
    Analysis for the Behavioral Sciences (1988), section 2.4.

    Example:
        >>> clusters_for_difference(0.1, 0.2, 20)
        164
    """
    difference = check_number(difference, "difference")
    half_width = check_number(half_width, "half_width", least=0)
    n = check_count(n, "n", least=1)
    if difference == 0:
        raise InvalidOption("difference is 0; no number of clusters shows it")
    z_alpha, z_power = _z_of(alpha, power)
    error = half_width / normal_quantile(check_level(level))
    ratio = max(0.0, z_alpha + z_power) * error / abs(difference)
    return _whole(n * min(ratio, 1e100) ** 2)


def _z_of(alpha: float, power: float) -> tuple[float, float]:
    z_alpha = normal_quantile(1 - check_level(alpha, "alpha"))
    return z_alpha, normal_quantile(2 * check_level(power, "power") - 1)


def _half_width(half_width: object) -> float:
    half = check_number(half_width, "half_width", least=0, most=1)
    return check_share(2 * half, "2 * half_width") / 2


def _whole(runs: float) -> int:
    """Return a number of runs, rounded up.

    Raises:
        InvalidOption: More than a billion.
    """
    if runs > _MOST_RUNS:
        raise InvalidOption(_TOO_MANY)
    return max(1, math.ceil(runs))


def _smallest(is_enough: Callable[[int], bool]) -> int:
    """Return the smallest n from 1 on for which a condition holds that stays true."""
    low, high = 0, 1
    while not is_enough(high):
        low, high = high, 2 * high
        if high > _MOST_RUNS:
            raise InvalidOption(_TOO_MANY)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high

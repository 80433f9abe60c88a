"""How far two estimates of the same thing lie apart. Standard library."""

from __future__ import annotations

import math

from tracedance_sdk.errors import InvalidOption, shown
from tracedance_sdk.statistics.checking import check_count, check_level, check_number
from tracedance_sdk.statistics.intervals import Estimate, Interval


def estimate_difference(old: Estimate, new: Estimate) -> Estimate:
    """Return how much a second estimate differs from a first, from both intervals alone.

    Square-and-add: each end lies as far from the difference as the two ends that pull it there,
    ``sqrt((new - new.low)^2 + (old.high - old)^2)`` below and the mirrored above. For estimates
    from independent samples; from the same items it is rather too wide.

    Args:
        old: Any estimate, such as a kappa of last month.
        new: The same statistic, at the same level.

    Returns:
        The second minus the first; `n` is the smaller of both.

    Raises:
        InvalidOption: The levels differ.

    Source: Zou and Donner, Statistics in Medicine 27 (2008), 1693-1702.

    Example:
        >>> last = Estimate(0.7, Interval(0.55, 0.82), 80)
        >>> now = Estimate(0.4, Interval(0.22, 0.56), 168)
        >>> [round(end, 2) for end in estimate_difference(last, now).interval[:2]]
        [-0.52, -0.08]
    """
    old, new = _checked(old, "old"), _checked(new, "new")
    if old.interval.level != new.interval.level:
        raise InvalidOption(
            f"the levels differ: {old.interval.level} and {new.interval.level}; "
            "compute both at the same"
        )
    value = new.value - old.value
    below = math.hypot(new.value - new.interval.low, old.interval.high - old.value)
    above = math.hypot(new.interval.high - new.value, old.value - old.interval.low)
    interval = Interval(value - below, value + above, new.interval.level)
    return Estimate(value, interval, min(old.n, new.n))


def _checked(estimate: object, name: str) -> Estimate:
    if not isinstance(estimate, Estimate) or not isinstance(estimate.interval, Interval):
        raise InvalidOption(f"{name} is {shown(estimate)}, which is no Estimate")
    value, (low, high, level), n = estimate
    ends = (check_number(low, f"{name}'s low"), check_number(high, f"{name}'s high"))
    interval = Interval(*ends, check_level(level))
    return Estimate(check_number(value, name), interval, check_count(n, f"{name}'s n"))

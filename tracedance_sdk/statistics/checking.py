"""Checks of arguments: what cannot be used is refused in one line, never turned into NaN."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from tracedance_sdk.errors import InvalidOption, NotEnoughData


def check_share(value: float, name: str) -> float:
    """Return a number strictly between 0 and 1.

    Raises:
        InvalidOption: It is not one.
    """
    if not 0 < value < 1:
        raise InvalidOption(f"{name} is {value!r}; it must lie strictly between 0 and 1")
    return value


def check_counts(successes: int, n: int, *, what: str = "observation") -> None:
    """Check that `successes` of `n` is possible and that there is anything to count.

    Raises:
        InvalidOption: The counts are negative, no whole numbers, or more than there are.
        NotEnoughData: `n` is 0.
    """
    if successes != int(successes) or n != int(n) or not 0 <= successes <= n:
        raise InvalidOption(f"{successes!r} of {n!r} is not a count; say how many of how many")
    if n == 0:
        raise NotEnoughData(f"there is no {what}; a rate needs at least one")


def finite(values: Iterable[float], name: str = "value") -> list[float]:
    """Return numbers as floats.

    Raises:
        InvalidOption: One is NaN or infinite.
    """
    listed = [float(value) for value in values]
    for index, value in enumerate(listed):
        if not math.isfinite(value):
            raise InvalidOption(f"{name} {index} is {value}; leave out what is missing")
    return listed


def check_same_length(first: Sequence[Any], second: Sequence[Any], *, what: str) -> None:
    """Check that two sequences belong together item by item.

    Raises:
        InvalidOption: Their lengths differ.
    """
    if len(first) != len(second):
        raise InvalidOption(f"{what} differ in length: {len(first)} and {len(second)}")


def check_enough(n: int, least: int, *, what: str) -> None:
    """Check that there are at least so many.

    Raises:
        NotEnoughData: There are fewer.
    """
    if n < least:
        raise NotEnoughData(f"{n} {what}; at least {least} are needed")


def check_resamples(n_resamples: int) -> None:
    """Check that a number of resamples can give an interval.

    Raises:
        InvalidOption: It is below 100.
    """
    if n_resamples < 100:
        raise InvalidOption(f"n_resamples is {n_resamples!r}; at least 100 are needed")

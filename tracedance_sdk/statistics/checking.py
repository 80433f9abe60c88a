"""Checks of arguments: what cannot be used is refused in one line, never turned into NaN.

Every public function checks its arguments by these functions alone, so that all of them refuse the
same things in the same words: `InvalidOption` says which argument, its value, and what is wanted;
`NotEnoughData` says how many there are and how many are needed.

Numbers lie within ±1e100, where squares and sums of them are still finite; those closer to 0 than
1e-100 count as 0. Counts go up to 1e15, where a double still knows whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import Any, Final

from tracedance_sdk.errors import InvalidOption, NotEnoughData, shown

MOST: Final = 1e100
"""The largest number that is computed with."""

MOST_COUNT: Final = 10**15
"""The largest count of anything."""

MOST_RESAMPLES: Final = 10**6
_TINY: Final = 1e-100


def check_number(value: object, name: str, *, least: float = -MOST, most: float = MOST) -> float:
    """Return a number that lies between two others, both included.

    Raises:
        InvalidOption: It is none, is not finite, or lies outside.
    """
    number = _as_float(value)
    if number is None:
        raise InvalidOption(f"{name} is {shown(value)}, which is no number")
    if not least <= number <= most:
        hint = "; leave out what is missing" if math.isnan(number) else ""
        raise InvalidOption(
            f"{name} is {shown(value)}{hint}; it must lie between {least:g} and {most:g}"
        )
    return 0.0 if abs(number) < _TINY else number


def check_share(value: object, name: str) -> float:
    """Return a number strictly between 0 and 1.

    Raises:
        InvalidOption: It is not one.
    """
    number = _as_float(value)
    if number is None or not 0 < number < 1:
        raise InvalidOption(f"{name} is {shown(value)}; it must lie strictly between 0 and 1")
    return number


def check_level(value: object, name: str = "level") -> float:
    """Return a confidence level, or the chance of an error: not closer to 0 or 1 than 1e-12.

    Raises:
        InvalidOption: It is not one.
    """
    level = check_share(value, name)
    if not 1e-12 <= level <= 1 - 1e-12:
        raise InvalidOption(f"{name} is {shown(value)}; it must not be closer to 0 or 1 than 1e-12")
    return level


def check_half(alpha: object) -> float:
    """Return the chance of each of two errors, or of a one-sided one: below one half.

    Raises:
        InvalidOption: It is not one.
    """
    number = _as_float(alpha)
    return check_level(alpha if number is None else 2 * number, "2 * alpha") / 2


def check_count(value: object, name: str, *, least: int = 0, most: int = MOST_COUNT) -> int:
    """Return a whole number that lies between two others, both included.

    Raises:
        InvalidOption: It is none, or lies outside.
    """
    number = _as_float(value)
    if number is None or not number.is_integer() or not least <= number <= most:
        raise InvalidOption(
            f"{name} is {shown(value)}; it must be a whole number from {least} to {most:,}"
        )
    return int(number)


def check_counts(
    successes: object, n: object, *, what: str = "observation", most: int = MOST_COUNT
) -> tuple[int, int]:
    """Return `successes` and `n`, where so many of so many is possible and there is anything.

    Raises:
        InvalidOption: The counts are negative, no whole numbers, or more than there are.
        NotEnoughData: `n` is 0.
    """
    found, total = _as_float(successes), _as_float(n)
    if (
        found is None
        or total is None
        or not (found.is_integer() and total.is_integer() and 0 <= found <= total)
    ):
        raise InvalidOption(
            f"{shown(successes)} of {shown(n)} is not a count; say how many of how many"
        )
    if total > most:
        raise InvalidOption(f"{shown(n)} is too many to count; at most {most:,} are")
    if total == 0:
        raise NotEnoughData(f"there is no {what}; a rate needs at least one")
    return int(found), int(total)


def check_sample(
    sample: object, name: str, *, what: str = "observation", most: int = MOST_COUNT
) -> tuple[int, int]:
    """Return how many of how many, given as a pair.

    Raises:
        InvalidOption: It is no pair, or its counts are impossible.
        NotEnoughData: Of none.
    """
    pair = items(sample, name)
    if len(pair) != 2:
        raise InvalidOption(f"{name} is {shown(sample)}; give how many passed and of how many")
    return check_counts(*pair, what=what, most=most)


def items(values: object, name: str) -> list[Any]:
    """Return the items of a sequence.

    Raises:
        InvalidOption: It is none.
    """
    if isinstance(values, (dict, bytes)) or not hasattr(values, "__len__"):
        raise InvalidOption(f"{name} is {shown(values)}, which is no sequence")
    try:
        return list(values)  # type: ignore[call-overload,no-any-return]
    except TypeError:
        raise InvalidOption(f"{name} is {shown(values)}, which is no sequence") from None


def hashables(values: object, name: str) -> list[Hashable]:
    """Return categories, labels or clusters, which have to be hashable.

    Raises:
        InvalidOption: It is no sequence, or one cannot be hashed.
    """
    listed = items(values, name)
    for index, value in enumerate(listed):
        try:
            hash(value)
        except TypeError:
            raise InvalidOption(
                f"{name} {index} is {shown(value)}, which cannot be hashed; give text or numbers"
            ) from None
    return listed


def finite(
    values: Iterable[float], name: str = "value", *, least: float = -MOST, most: float = MOST
) -> list[float]:
    """Return numbers as floats.

    Raises:
        InvalidOption: It is no sequence, or one is no number, not finite, or outside.
    """
    return [
        check_number(value, f"{name} {index}", least=least, most=most)
        for index, value in enumerate(items(values, f"the sequence of {name}s"))
    ]


def booleans(values: Iterable[object], name: str) -> list[bool]:
    """Return passes and fails.

    Raises:
        InvalidOption: It is no sequence, or one is neither True nor False, 1 nor 0.
    """
    return [
        boolean(value, f"{name} {index}")
        for index, value in enumerate(items(values, f"the sequence of {name}s"))
    ]


def boolean(value: object, name: str) -> bool:
    """Return a pass or a fail.

    Raises:
        InvalidOption: It is neither True nor False, 1 nor 0.
    """
    if isinstance(value, bool):
        return value
    number = _as_float(value)
    if number not in (0.0, 1.0):
        raise InvalidOption(f"{name} is {shown(value)}; it must be True or False")
    return number == 1.0


def check_same_length(first: Sequence[Any], second: Sequence[Any], *, what: str) -> None:
    """Check that two sequences belong together item by item.

    Raises:
        InvalidOption: One is no sequence, or their lengths differ.
    """
    lengths = [
        len(values) if isinstance(values, range) else len(items(values, f"one of {what}"))
        for values in (first, second)
    ]
    if lengths[0] != lengths[1]:
        raise InvalidOption(f"{what} differ in length: {lengths[0]} and {lengths[1]}")


def check_enough(n: int, least: int, *, what: str) -> None:
    """Check that there are at least so many.

    Raises:
        NotEnoughData: There are fewer.
    """
    if n < least:
        raise NotEnoughData(f"{n} {what}; at least {least} are needed")


def check_choice(value: object, name: str, choices: Collection[object]) -> None:
    """Check that a value is one of a few.

    Raises:
        InvalidOption: It is not.
    """
    texts = [choice for choice in choices if isinstance(choice, str)]
    if not (value in texts if isinstance(value, str) else value is None and None in choices):
        listed = ", ".join(map(str, choices))
        raise InvalidOption(f"unknown {name} {shown(value)}; choose one of {listed}")


def check_callable(value: object, name: str) -> None:
    """Check that a value can be called; None is none given.

    Raises:
        InvalidOption: It cannot.
    """
    if value is not None and not callable(value):
        raise InvalidOption(f"{name} is {shown(value)}, which is no function")


def check_seed(seed: object) -> int:
    """Return the seed of a generator: a whole number from 0 up.

    Raises:
        InvalidOption: It is none.
    """
    if isinstance(seed, bool) or not hasattr(seed, "__index__"):
        raise InvalidOption(f"seed is {shown(seed)}; it must be a whole number from 0 up")
    number: int = seed.__index__()
    if not 0 <= number < 2**128:
        raise InvalidOption(f"seed is {shown(seed)}; it must lie between 0 and 2^128")
    return number


def check_resamples(n_resamples: object) -> int:
    """Return a number of resamples that can give an interval.

    Raises:
        InvalidOption: It is below 100, above a million, or no whole number.
    """
    number = _as_float(n_resamples)
    if number is None or not number.is_integer() or not 100 <= number <= MOST_RESAMPLES:
        raise InvalidOption(
            f"n_resamples is {shown(n_resamples)}; at least 100 are needed, and at most a million"
        )
    return int(number)


def _as_float(value: object) -> float | None:
    """Return a number as a float, an endless one where it is too large; None for all else."""
    if value is None or isinstance(value, (str, bytes, bytearray, complex)):
        return None
    try:
        return float(value)  # type: ignore[arg-type]  # what is no number is caught
    except OverflowError:
        return math.inf if value > 0 else -math.inf  # type: ignore[operator]
    except (TypeError, ValueError):
        return None

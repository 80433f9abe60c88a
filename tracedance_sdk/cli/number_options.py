"""Numbers as options take them: finite, and small enough to be written down exactly anywhere."""

from __future__ import annotations

import math
from typing import Any, Final

import click

MOST: Final = 2**53 - 1
"""The largest whole number of an option; up to it, every reader of JSON reads the same number."""

MOST_SECONDS: Final = 604_800
"""The longest time limit: a week. Far longer ones are beyond what clocks can wait for."""

_LONGEST: Final = 400
"""Characters of a number that are read; those of any finite one with room to spare."""


def whole(least: int | None = None, most: int | None = None) -> click.ParamType[int]:
    """Return the type of an option that takes a whole number.

    Args:
        least: None for any from ``-MOST``.
        most: None for any up to ``MOST``.

    Example:
        >>> whole(1).convert("12", None, None)
        12
        >>> try:
        ...     whole(1).convert("99999999999999999999", None, None)
        ... except click.BadParameter as error:
        ...     print(error.message)
        '99999999999999999999' is too large; a whole number goes up to 9,007,199,254,740,991
    """
    return _Whole() if least is None and most is None else _WholeRange(least, most)


def number(
    least: float | None = None,
    most: float | None = None,
    *,
    above: bool = False,
    below: bool = False,
) -> click.ParamType[float]:
    """Return the type of an option that takes a finite number.

    Args:
        least: None for no bound.
        most: None for no bound.
        above: Whether `least` itself is refused.
        below: Whether `most` itself is refused.

    Example:
        >>> number(0).convert("0.5", None, None)
        0.5
        >>> try:
        ...     number(0).convert("nan", None, None)
        ... except click.BadParameter as error:
        ...     print(error.message)
        'nan' is not a finite number
    """
    return _NumberRange(least, most, min_open=above, max_open=below)


def seconds() -> click.ParamType[float]:
    """Return the type of an option that takes a time limit: above 0, a week at most."""
    return number(0, MOST_SECONDS, above=True)


class _Whole(click.types.IntParamType):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        _check_length(self, value, param, ctx)
        return _bounded(self, super().convert(value, param, ctx), param, ctx)


class _WholeRange(click.IntRange):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        _check_length(self, value, param, ctx)
        return _bounded(self, super().convert(value, param, ctx), param, ctx)


class _NumberRange(click.FloatRange):
    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        _check_length(self, value, param, ctx)
        try:
            is_finite = math.isfinite(float(value))
        except (TypeError, ValueError, OverflowError):
            is_finite = True  # no number at all, which is said below
        if not is_finite:
            self.fail(f"{str(value)!r} is not a finite number", param, ctx)
        return super().convert(value, param, ctx)


def _check_length(
    kind: click.ParamType[Any], value: Any, param: click.Parameter | None, ctx: click.Context | None
) -> None:
    if isinstance(value, str) and len(value) > _LONGEST:
        kind.fail(f"a text of {len(value):,} characters is no number", param, ctx)


def _bounded(
    kind: click.ParamType[Any], value: int, param: click.Parameter | None, ctx: click.Context | None
) -> int:
    if abs(value) > MOST:
        sized, up = ("large", f"up to {MOST:,}") if value > 0 else ("small", f"down to {-MOST:,}")
        kind.fail(f"'{value}' is too {sized}; a whole number goes {up}", param, ctx)
    return value

"""Krippendorff's alpha: any number of raters, missing ratings, several scales. Needs numpy."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

from tracedance_sdk.errors import InvalidOption, NotEnoughData
from tracedance_sdk.statistics.checking import check_enough, check_resamples, check_share
from tracedance_sdk.statistics.extra import load
from tracedance_sdk.statistics.intervals import Estimate, Interval

if TYPE_CHECKING:
    from numpy.typing import NDArray

Scale = Literal["nominal", "ordinal", "interval"]
"""Whether ratings are names, an order, or numbers whose differences mean something."""

_SCALES: Final = ("nominal", "ordinal", "interval")
_MOST_VALUES: Final = 200


def krippendorff_alpha(
    ratings: Sequence[Sequence[Hashable | None]],
    *,
    seed: int,
    scale: Scale = "nominal",
    n_resamples: int = 2_000,
    level: float = 0.95,
) -> Estimate:
    """Return Krippendorff's alpha, ``1 - D_o / D_e``, with an interval from resampled units.

    D_o is the mean squared distance between ratings of one unit, D_e that between any two
    ratings. The distance is 0 or 1 (nominal), the difference (interval), or the number of ratings
    between two ranks (ordinal).

    Args:
        ratings: For each unit its ratings, one for each rater, None where a rater gave none. The
            raters' order does not matter. Units with fewer than two ratings count for nothing.
        seed: Of the resampling.
        scale: See `Scale`; ordinal and interval ratings are numbers.
        n_resamples: At least 100.
        level: Confidence level in (0, 1).

    Returns:
        At most 1; 0 is chance, below is systematic disagreement. `n` counts units with two or
        more ratings. Resamples in which all ratings are the same, for which alpha is not defined,
        are left out. Units that all agree give an interval without width: resampling cannot see
        what did not occur.

    Raises:
        InvalidOption: An unknown scale, ratings that are no numbers where they must be, or more
            than 200 different ones.
        NotEnoughData: Fewer than two units with two ratings, or ratings that are all the same.
        MissingDependency: numpy is not installed.

    Source: Krippendorff, Computing Krippendorff's Alpha-Reliability (2011); the interval is the
    percentile bootstrap over units.

    Example:
        >>> krippendorff_alpha([[1, 1], [2, 2], [1, 2], [2, 2]], seed=1).value
        0.5333...
    """
    numpy = load("numpy")
    check_share(level, "level")
    check_resamples(n_resamples)
    values, counts = _counted(ratings, scale)
    value = _alpha(counts, numpy.ones(len(counts)), values, scale)
    if value is None:
        raise NotEnoughData("all ratings are the same; alpha is then not defined")
    generator = numpy.random.default_rng(seed)
    n_units = len(counts)
    even = numpy.full(n_units, 1 / n_units)
    drawn = (generator.multinomial(n_units, even) for _ in range(n_resamples))
    found = (_alpha(counts, times, values, scale) for times in drawn)
    resampled = [alpha for alpha in found if alpha is not None]
    check_enough(len(resampled), n_resamples // 2, what="resamples with different ratings")
    low, high = numpy.quantile(resampled, [(1 - level) / 2, (1 + level) / 2])
    return Estimate(value, Interval(float(low), float(high), level), n_units)


def _counted(
    ratings: Sequence[Sequence[Hashable | None]], scale: str
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the values in order and how often each unit has each, ``(n_units, n_values)``."""
    numpy = load("numpy")
    if scale not in _SCALES:
        raise InvalidOption(f"unknown scale {scale!r}; choose one of {', '.join(_SCALES)}")
    units = [[rating for rating in unit if rating is not None] for unit in ratings]
    units = [unit for unit in units if len(unit) > 1]
    check_enough(len(units), 2, what="units with two or more ratings")
    different = {rating for unit in units for rating in unit}
    if scale == "nominal":
        ordered: list[Any] = sorted(different, key=lambda rating: (str(type(rating)), repr(rating)))
    else:
        ordered = _numbers(different)
    if len(ordered) > _MOST_VALUES:
        raise InvalidOption(f"{len(ordered)} different ratings; round them to {_MOST_VALUES}")
    place = {rating: index for index, rating in enumerate(ordered)}
    counts = numpy.zeros((len(units), len(ordered)))
    for row, unit in enumerate(units):
        for rating in unit:
            counts[row, place[rating]] += 1
    values = numpy.arange(len(ordered)) if scale == "nominal" else numpy.array(ordered, dtype=float)
    return values, counts


def _numbers(ratings: set[Hashable]) -> list[Any]:
    for rating in ratings:
        if not isinstance(rating, (int, float)) or not abs(rating) < float("inf"):
            raise InvalidOption(f"the rating {rating!r} is no finite number")
    return sorted(ratings)


def _alpha(
    counts: NDArray[Any], times: NDArray[Any], values: NDArray[Any], scale: str
) -> float | None:
    """Return alpha of units that each stand so many times, or None where all ratings are the same.

    Args:
        counts: How often each unit has each value, ``(n_units, n_values)``.
        times: How often each unit stands in the sample, ``(n_units,)``.
        values: The values in order, ``(n_values,)``.
        scale: See `Scale`.
    """
    numpy = load("numpy")
    weights = (times / (counts.sum(axis=1) - 1))[:, None]
    pairs = (counts * weights).T @ counts - numpy.diag((counts * weights).sum(axis=0))
    marginals = times @ counts
    if scale == "nominal":
        distance = (values[:, None] != values[None, :]).astype(float)
    else:
        place = values if scale == "interval" else numpy.cumsum(marginals) - marginals / 2
        distance = (place[:, None] - place[None, :]) ** 2
    expected = marginals @ distance @ marginals
    if expected <= 0:
        return None
    return float(1 - (marginals.sum() - 1) * (pairs * distance).sum() / expected)

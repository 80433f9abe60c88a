"""Krippendorff's alpha: any number of raters, missing ratings, several scales. Needs numpy."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

from tracedance_sdk.errors import InvalidOption, NotEnoughData
from tracedance_sdk.statistics.checking import (
    check_choice,
    check_enough,
    check_level,
    check_number,
    hashables,
    items,
)
from tracedance_sdk.statistics.extra import load
from tracedance_sdk.statistics.intervals import Estimate, Interval, fisher_interval
from tracedance_sdk.statistics.proportions import wilson_interval
from tracedance_sdk.statistics.quantiles import student_quantile
from tracedance_sdk.statistics.rare_categories import kappa_and_variance, score_ends

if TYPE_CHECKING:
    from numpy.typing import NDArray

Scale = Literal["nominal", "ordinal", "interval"]
"""Whether ratings are names, an order, or numbers whose differences mean something."""

_SCALES: Final = ("nominal", "ordinal", "interval")
_MOST_VALUES: Final = 200
_ROUNDING: Final = 1e-12


def krippendorff_alpha(
    ratings: Sequence[Sequence[Hashable | None]], *, scale: Scale = "nominal", level: float = 0.95
) -> Estimate:
    """Return Krippendorff's alpha, ``1 - D_o / D_e``, with an interval over units.

    D_o is the mean squared distance between ratings of one unit, D_e that between any two
    ratings. The distance is 0 or 1 (nominal), the difference (interval), or the number of ratings
    between two ranks (ordinal).

    Args:
        ratings: For each unit its ratings, one for each rater, None where a rater gave none. The
            raters' order does not matter. Units with fewer than two ratings count for nothing.
        scale: See `Scale`; ordinal and interval ratings are numbers.
        level: Confidence level in (0, 1).

    Returns:
        At most 1; 0 is chance, below is systematic disagreement. `n` counts units with two or
        more ratings. The interval is the wider, at each end, of two:
        ``tanh(atanh(alpha) ± t(n - 1) s / (1 - alpha^2))`` with the standard error s by leaving
        out each unit in turn, and all alphas that lie within t(n - 1) of *their own* standard
        errors of the one found, those of a weighted kappa of the pairs of ratings. The first
        alone is too narrow where nearly all ratings are alike. Where all units agree the lower
        end also supposes that as many differ as Wilson's interval of the share of agreeing units
        allows.

    Raises:
        InvalidOption: An unknown scale, ratings that are no numbers where they must be, or more
            than 200 different ones.
        NotEnoughData: Fewer than two units with two ratings, or ratings that are all the same,
            but for one unit at most.
        MissingDependency: numpy is not installed.

    Source: Krippendorff, Computing Krippendorff's Alpha-Reliability (2011); Efron and Tibshirani,
    An Introduction to the Bootstrap (1993), chapter 11, for the standard error; `cohen_kappa` for
    the second interval.

    Example:
        >>> krippendorff_alpha([[1, 1], [2, 2], [1, 2], [2, 2]]).value
        0.5333...
    """
    level = check_level(level)
    values, counts = _counted(ratings, scale)
    value = _alpha(_pairs(counts), counts.sum(axis=0), values, scale)
    if value is None:
        raise NotEnoughData("all ratings are the same; alpha is then not defined")
    error = _left_out_error(counts, values, scale)
    n_units = len(counts)
    t = student_quantile(level, n_units - 1)
    low, high = _tried_ends(counts, values, scale, quantile=t)
    if error > 1e-12 and abs(value) < 1:
        found = fisher_interval(value, error / (1 - value**2), quantile=t, level=level)
        low, high = min(low, found.low), max(high, found.high)
    unseen = 1 - wilson_interval(n_units, n_units, level=level).low
    if value >= 1:
        marginals = counts.sum(axis=0)
        n_same = (marginals * (marginals - 1)).sum()
        n_pairs = marginals.sum() * (marginals.sum() - 1)
        low = min(low, float(1 - unseen * n_pairs / (n_pairs - n_same)))
    elif error <= 1e-12:
        high = max(high, value + unseen * (1 - value))
    low, high = max(-1.0, min(low, value)), min(1.0, max(high, value))
    return Estimate(value, Interval(low, high, level), n_units)


def _tried_ends(
    counts: NDArray[Any], values: NDArray[Any], scale: str, *, quantile: float
) -> tuple[float, float]:
    """Return the alphas that the pairs of ratings do not speak against; see `score_ends`.

    Pairs within a unit count as half as many independent ones as the unit has ratings.
    """
    pairs = _pairs(counts)
    distance = _distance(counts.sum(axis=0), values, scale)
    similarity = 1 - distance / distance.max()
    table = pairs * (counts.sum() / 2 / pairs.sum())
    return score_ends(
        table, lambda shares: kappa_and_variance(shares, similarity), quantile=quantile
    )


def _counted(
    ratings: Sequence[Sequence[Hashable | None]], scale: str
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the values in order and how often each unit has each, ``(n_units, n_values)``."""
    numpy = load("numpy")
    check_choice(scale, "scale", _SCALES)
    units = [
        [rating for rating in hashables(unit, "rating") if rating is not None]
        for unit in items(ratings, "ratings")
    ]
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
        check_number(rating, "a rating")
    return sorted(ratings)


def _left_out_error(counts: NDArray[Any], values: NDArray[Any], scale: str) -> float:
    """Return the standard error by leaving out each unit in turn; units alike only once."""
    numpy = load("numpy")
    different, times = numpy.unique(counts, axis=0, return_counts=True)
    pairs, marginals = _pairs(counts), counts.sum(axis=0)
    found = []
    for unit in different:
        left = pairs - _pairs(unit[None, :])
        alpha = _alpha(left, marginals - unit, values, scale)
        if alpha is None:
            raise NotEnoughData(
                "all ratings are the same but for one unit; alpha rests on that one"
            )
        found.append(alpha)
    alphas, n = numpy.array(found), times.sum()
    mean = (alphas * times).sum() / n
    return float(numpy.sqrt((n - 1) / n * (times * (alphas - mean) ** 2).sum()))


def _pairs(counts: NDArray[Any]) -> NDArray[Any]:
    """Return how often each two values stand in one unit, ``(n_values, n_values)``.

    All pairs of a unit weigh together as much as it has ratings.

    Args:
        counts: How often each unit has each value, ``(n_units, n_values)``.
    """
    numpy = load("numpy")
    weights = (1 / (counts.sum(axis=1) - 1))[:, None]
    found: NDArray[Any] = (counts * weights).T @ counts
    found -= numpy.diag((counts * weights).sum(axis=0))
    return found


def _alpha(
    pairs: NDArray[Any], marginals: NDArray[Any], values: NDArray[Any], scale: str
) -> float | None:
    """Return alpha of units, or None where all ratings are the same.

    Args:
        pairs: See `_pairs`.
        marginals: How often each value stands in all units, ``(n_values,)``.
        values: The values in order, ``(n_values,)``.
        scale: See `Scale`.
    """
    distance = _distance(marginals, values, scale)
    expected = marginals @ distance @ marginals
    if expected <= 0:
        return None
    value = float(1 - (marginals.sum() - 1) * (pairs * distance).sum() / expected)
    return 0.0 if abs(value) < _ROUNDING else value


def _distance(marginals: NDArray[Any], values: NDArray[Any], scale: str) -> NDArray[Any]:
    """Return the squared distance between any two values, ``(n_values, n_values)``."""
    numpy = load("numpy")
    if scale == "nominal":
        return (values[:, None] != values[None, :]).astype(float)  # type: ignore[no-any-return]
    place = values if scale == "interval" else numpy.cumsum(marginals) - marginals / 2
    return (place[:, None] - place[None, :]) ** 2  # type: ignore[no-any-return]

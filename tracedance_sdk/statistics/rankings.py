"""Rankings of models over benchmarks: intervals, who is really first, groups. Needs numpy."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from tracedance_sdk.errors import InvalidOption, NotEnoughData, shown
from tracedance_sdk.statistics.checking import (
    boolean,
    check_enough,
    check_level,
    check_resamples,
    check_seed,
    finite,
    items,
)
from tracedance_sdk.statistics.extra import load
from tracedance_sdk.statistics.intervals import Estimate, Interval

if TYPE_CHECKING:
    from numpy.typing import NDArray


Item = TypeVar("Item", bound=Hashable)


class RankedModel(NamedTuple):
    """One place of a ranking.

    Attributes:
        model: Its name.
        score: Mean over benchmarks of equal weight; `n` counts benchmarks.
        p_first: Share of resamples in which it is first; ties are shared out.
        group: From 1. Models of one group are not told apart from their neighbours.
    """

    model: str
    score: Estimate
    p_first: float
    group: int


class Ranking(NamedTuple):
    """Models from best to worst.

    Attributes:
        models: The highest score first; equal scores by name.
        lead: Score of the first minus that of the second.
    """

    models: tuple[RankedModel, ...]
    lead: Estimate


def common_items(runs: Mapping[str, Mapping[Item, object]]) -> list[Item]:
    """Return the items that all runs have, in the order of the first run.

    Scores of models are compared only on items for which every model has a valid answer.

    Args:
        runs: For each model its values by item. A value of None is no answer.

    Example:
        >>> common_items({"a": {1: True, 2: None, 3: False}, "b": {1: True, 2: True, 3: True}})
        [1, 3]
    """
    for model, values in _mapping(runs, "runs").items():
        _mapping(values, f"what {model!r} has")
    first, *others = runs.values() if runs else ({},)
    return [
        item
        for item, value in first.items()
        if value is not None and all(other.get(item) is not None for other in others)
    ]


def rank_models(
    scores: Mapping[str, Mapping[str, Sequence[float]]],
    *,
    seed: int,
    two_level: bool = False,
    n_resamples: int = 10_000,
    level: float = 0.95,
) -> Ranking:
    """Rank models by their mean over benchmarks, and say how sure each place is.

    Each resample draws benchmarks, the same for all models, and with `two_level` also instances
    within each, the same for all models. Intervals are percentiles of the resamples. Walking down
    the ranking, a new group begins where the interval of the difference between two neighbours
    lies above 0.

    Args:
        scores: For each model, for each benchmark, a value for each instance. All models have
            the same benchmarks with the same instances in the same order (see `common_items`).
        seed: Of the resampling.
        two_level: Resample instances within benchmarks too.
        n_resamples: At least 100.
        level: Confidence level in (0, 1) of each interval.

    Raises:
        InvalidOption: Models whose benchmarks or instances differ, an empty benchmark, a value
            that is no finite number, or wrong options.
        NotEnoughData: Fewer than two models or two benchmarks.
        MissingDependency: numpy is not installed.

    Source: bootstrap over benchmarks, Davison and Hinkley (1997), section 3.8.

    Example:
        >>> scores = {
        ...     "new": {"a": [1, 1], "b": [1, 0], "c": [1, 1]},
        ...     "old": {"a": [0, 1], "b": [0, 0], "c": [0, 1]},
        ... }
        >>> ranking = rank_models(scores, seed=1)
        >>> [(place.model, place.group) for place in ranking.models]
        [('new', 1), ('old', 2)]
    """
    numpy = load("numpy")
    level, n_resamples = check_level(level), check_resamples(n_resamples)
    seed, two_level = check_seed(seed), boolean(two_level, "two_level")
    tables = _tables(scores)
    means = numpy.array([table.mean(axis=1) for table in tables])
    overall = means.mean(axis=0)
    names = list(scores)
    order = sorted(range(len(names)), key=lambda index: (-overall[index], names[index]))
    resampled = _resample(tables, means, n_resamples, two_level=two_level, seed=seed)[:, order]
    overall = overall[order]
    is_first = resampled == resampled.max(axis=1, keepdims=True)
    p_first = (is_first / is_first.sum(axis=1, keepdims=True)).mean(axis=0)
    gaps = [
        _estimate(overall[i] - overall[j], resampled[:, i] - resampled[:, j], len(tables), level)
        for i, j in pairwise(range(len(order)))
    ]
    groups = [1]
    for gap in gaps:
        groups.append(groups[-1] + (gap.interval.low > 0))
    return Ranking(
        tuple(
            RankedModel(
                names[index],
                _estimate(overall[place], resampled[:, place], len(tables), level),
                float(p_first[place]),
                groups[place],
            )
            for place, index in enumerate(order)
        ),
        gaps[0],
    )


def _tables(scores: Mapping[str, Mapping[str, Sequence[float]]]) -> list[NDArray[Any]]:
    """Return for each benchmark a table, ``(n_models, n_instances)``."""
    numpy = load("numpy")
    for model, benchmarks in _mapping(scores, "scores").items():
        _mapping(benchmarks, f"what {model!r} has")
    check_enough(len(scores), 2, what="models")
    first_name, first = next(iter(scores.items()))
    check_enough(len(first), 2, what="benchmarks")
    for model, benchmarks in scores.items():
        if benchmarks.keys() != first.keys():
            raise InvalidOption(f"{model!r} and {first_name!r} have different benchmarks")
        for name, values in benchmarks.items():
            n_values = len(items(values, f"{model!r} on {name!r}"))
            if n_values != len(items(first[name], f"{first_name!r} on {name!r}")):
                raise InvalidOption(
                    f"{model!r} and {first_name!r} differ in the instances of {name!r}: "
                    f"{n_values} and {len(first[name])}"
                )
            if not n_values:
                raise NotEnoughData(f"benchmark {name!r} has no instances")
    return [
        numpy.array([finite(benchmarks[name]) for benchmarks in scores.values()]) for name in first
    ]


def _mapping(value: Any, name: str) -> Mapping[Any, Any]:
    if not isinstance(value, Mapping):
        raise InvalidOption(f"{name} is {shown(value)}, which is no mapping")
    return value


def _resample(
    tables: list[NDArray[Any]],
    means: NDArray[Any],
    n_resamples: int,
    *,
    two_level: bool,
    seed: int,
) -> NDArray[Any]:
    """Return resampled mean scores, ``(n_resamples, n_models)``."""
    numpy = load("numpy")
    generator = numpy.random.default_rng(seed)
    n = len(tables)
    drawn = generator.multinomial(n, numpy.full(n, 1 / n), size=n_resamples)
    if not two_level:
        scores: NDArray[Any] = drawn @ means / n
        return scores
    total: NDArray[Any] = numpy.zeros((n_resamples, means.shape[1]))
    for index, table in enumerate(tables):
        owner = numpy.repeat(numpy.arange(n_resamples), drawn[:, index])
        n_items = table.shape[1]
        counts = generator.multinomial(n_items, numpy.full(n_items, 1 / n_items), size=len(owner))
        numpy.add.at(total, owner, counts @ table.T / (n_items * n))
    return total


def _estimate(value: float, resampled: NDArray[Any], n: int, level: float) -> Estimate:
    low, high = load("numpy").quantile(resampled, [(1 - level) / 2, (1 + level) / 2])
    return Estimate(float(value), Interval(float(low), float(high), level), n)

"""Independent samples of the same few tasks: how much rates or scores differ, by exact tests."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from tracedance_sdk.errors import NotEnoughData
from tracedance_sdk.statistics.checking import (
    check_enough,
    check_level,
    check_resamples,
    check_same_length,
    check_sample,
    check_seed,
    finite,
    items,
)
from tracedance_sdk.statistics.extra import load
from tracedance_sdk.statistics.intervals import Difference, Interval, Significance
from tracedance_sdk.statistics.restricted import rate_bounds

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST_TRIALS: Final = 10**6
"""Up to here Fisher's test is exact and takes no time; beyond it `rate_difference` is right."""

_ROWS: Final = 2_000
_ROUNDING: Final = 1e-12

Values = Sequence[float]


def fisher_exact(old: tuple[int, int], new: tuple[int, int]) -> Significance:
    """Test whether two independent rates differ: Fisher's exact test.

    Right for up to a million trials on either side, where the z test of `rate_difference` needs
    many; for more take that.

    Args:
        old: Successes and trials of the first sample.
        new: Successes and trials of the second.

    Returns:
        The statistic is the difference, new minus old; `n` counts the trials of both.

    Raises:
        InvalidOption: Impossible counts, or more than a million trials on a side.
        NotEnoughData: A sample is empty.
        MissingDependency: scipy is not installed.

    Source: Fisher, Statistical Methods for Research Workers, 5th edition (1934), section 21.02;
    `scipy.stats.fisher_exact`.

    Example:
        >>> round(fisher_exact((0, 3), (3, 3)).p_value, 3)
        0.1
    """
    x1, n1 = check_sample(old, "old", what="trial", most=_MOST_TRIALS)
    x2, n2 = check_sample(new, "new", what="trial", most=_MOST_TRIALS)
    found = load("scipy.stats").fisher_exact([[x1, n1 - x1], [x2, n2 - x2]])
    return Significance(x2 / n2 - x1 / n1, min(1.0, float(found.pvalue)), n1 + n2)


def stratified_difference(
    old: Sequence[Values],
    new: Sequence[Values],
    *,
    seed: int = 0,
    n_resamples: int = 20_000,
    level: float = 0.95,
) -> Difference:
    """Return how much the runs of the same tasks differ, each task weighing the same.

    The tasks are fixed and their runs are the sample, so that what is found holds for these tasks
    alone; `clustered_rate_difference` speaks of tasks like these. The value is the mean over tasks
    of the differences of their means. The p value counts how often so large a difference comes
    when runs are dealt anew to old and new within each task; of passes and fails of one task it
    is that of Fisher's exact test.

    The interval of passes and fails holds all d with ``(value - d)^2 <= z^2 V(d)``, where ``V(d)``
    is the sum over S tasks of ``N / (N - 1) [p1 (1 - p1) / n1 + p2 (1 - p2) / n2] / S^2``, p1 and
    ``p2 = p1 + d`` the most likely rates of the task; at d = 0 that is the variance of dealing.
    Where a task ran more often on one side, tasks that move apart would be taken for less unsure
    than they are: interval and p value then keep to Welch's as well, whichever is the wider. The
    interval leaves out 0 if and only if the p value is at most ``1 - level``; an end that would
    contradict it is put at 0. The interval of scores is Welch's, without that promise.

    Args:
        old: For each task its runs' values: 0 and 1, or scores in any unit.
        new: The same tasks' other runs, in the same order of tasks.
        seed: Of the dealing.
        n_resamples: How often it is dealt, at least 100; the p value is at least
            ``1 / (n_resamples + 1)``.
        level: Confidence level in (0, 1).

    Returns:
        New minus old; `n` counts all runs.

    Raises:
        InvalidOption: Numbers of tasks that differ, a value that is no finite number, or wrong
            options.
        NotEnoughData: No task, a task without runs; of scores a task with a single run, or no
            value that differs from the others of its task.
        MissingDependency: numpy or scipy is not installed.

    Source: Miettinen and Nurminen, Statistics in Medicine 4 (1985), 213-226; Satterthwaite,
    Biometrics Bulletin 2 (1946), 110-114; Edgington and Onghena, Randomization Tests (2007),
    chapter 4.

    Example:
        >>> found = stratified_difference([[0, 0, 0, 1]], [[1, 1, 1, 1]])
        >>> found.value, round(found.p_value, 2)
        (0.75, 0.14)
    """
    level, n_resamples = check_level(level), check_resamples(n_resamples)
    seed = check_seed(seed)
    check_same_length(old, new, what="tasks of old and new")
    check_enough(len(old), 1, what="tasks")
    first = [finite(values, "old value") for values in items(old, "old")]
    second = [finite(values, "new value") for values in items(new, "new")]
    for values in (*first, *second):
        check_enough(len(values), 1, what="runs of a task")
    is_binary = {value for values in (*first, *second) for value in values} <= {0.0, 1.0}
    changes = [_mean(b) - _mean(a) for a, b in zip(first, second, strict=True)]
    value = _mean(changes)
    if is_binary and len(first) == 1:
        counts = [(round(sum(of)), len(of)) for of in (first[0], second[0])]
        p_value = fisher_exact(counts[0], counts[1]).p_value
    else:
        deal = _dealt_passes if is_binary else _dealt_scores
        p_value = _share_dealt(deal(first, second), value * len(first), seed, n_resamples)
    if is_binary:
        interval, p_value = _of_passes(first, second, value, level=level, p_value=p_value)
    else:
        interval = _welch(first, second, value, level)
    return Difference(value, interval, p_value, sum(map(len, (*first, *second))))


def _of_passes(
    old: list[list[float]], new: list[list[float]], value: float, *, level: float, p_value: float
) -> tuple[Interval, float]:
    """Return the interval and the p value, neither of which contradicts the other."""
    least = 0.0
    if len(old) > 1 and any(len(a) != len(b) for a, b in zip(old, new, strict=True)):
        error, freedom = _free_error(old, new)
        if error > 0:
            student = load("scipy.stats").t
            least = float(student.ppf((1 + level) / 2, freedom)) * error
            p_value = max(p_value, 2 * float(student.sf(abs(value) / error, freedom)))
    tables = Counter(
        (round(sum(a)), len(a), round(sum(b)), len(b)) for a, b in zip(old, new, strict=True)
    )
    low, high = rate_bounds(tables, value, level=level, least=least)
    if p_value > 1 - level + _ROUNDING:
        low, high = min(low, 0.0), max(high, 0.0)
    elif value > 0:
        low = max(low, math.nextafter(0.0, 1.0))
    else:
        high = min(high, -math.nextafter(0.0, 1.0))
    return Interval(low, high, level), p_value


def _free_error(old: list[list[float]], new: list[list[float]]) -> tuple[float, float]:
    """Return the standard error of a mean of differences, no rates alike, and its freedom."""
    parts = []
    for values in (*old, *new):
        if len(values) > 1:
            rate = _mean(values)
            parts.append((rate * (1 - rate) / (len(values) - 1), len(values) - 1))
    total = math.fsum(part for part, _ in parts)
    if total == 0:
        return 0.0, math.inf
    freedom = 1 / math.fsum((part / total) ** 2 / df for part, df in parts)
    return math.sqrt(total) / len(old), freedom


def _welch(old: list[list[float]], new: list[list[float]], value: float, level: float) -> Interval:
    parts = []
    for values in (*old, *new):
        check_enough(len(values), 2, what="runs of a task")
        mean = _mean(values)
        variance = math.fsum((item - mean) ** 2 for item in values) / (len(values) - 1)
        parts.append((variance / len(values), len(values) - 1))
    total = math.fsum(part for part, _ in parts)
    if total == 0:
        raise NotEnoughData("the scores of each task are all the same; no spread to judge by")
    freedom = 1 / math.fsum((part / total) ** 2 / df for part, df in parts)
    quantile = float(load("scipy.stats").t.ppf((1 + level) / 2, freedom))
    half = quantile * math.sqrt(total) / len(old)
    return Interval(value - half, value + half, level)


_Deal = Callable[[Any, int], "NDArray[Any]"]
"""Takes a generator and a number of rows, and gives sums over tasks of differences, ``(rows,)``."""


def _share_dealt(deal: _Deal, found: float, seed: int, n_resamples: int) -> float:
    """Return how often runs dealt anew differ as much, the dealing at hand included."""
    numpy = load("numpy")
    generator = numpy.random.default_rng(seed)
    least = abs(found) * (1 - 1e-9) - 1e-12
    hits = 0
    for start in range(0, n_resamples, _ROWS):
        sums = deal(generator, min(_ROWS, n_resamples - start))
        hits += int((abs(sums) >= least).sum())
    return (1 + hits) / (1 + n_resamples)


def _dealt_scores(old: list[list[float]], new: list[list[float]]) -> _Deal:
    numpy = load("numpy")
    pools = [(numpy.array(sorted([*a, *b])), len(b)) for a, b in zip(old, new, strict=True)]

    def deal(generator: Any, rows: int) -> NDArray[Any]:
        sums: NDArray[Any] = numpy.zeros(rows)
        for pool, size in pools:
            mixed = generator.permuted(numpy.tile(pool, (rows, 1)), axis=1)
            sums += mixed[:, :size].mean(axis=1) - mixed[:, size:].mean(axis=1)
        return sums

    return deal


def _dealt_passes(old: list[list[float]], new: list[list[float]]) -> _Deal:
    """Deal passes by the hypergeometric distribution, tasks of one shape together."""
    numpy = load("numpy")
    shapes = Counter(
        (round(sum(a) + sum(b)), len(a), len(b)) for a, b in zip(old, new, strict=True)
    )

    def deal(generator: Any, rows: int) -> NDArray[Any]:
        sums: NDArray[Any] = numpy.zeros(rows)
        for (passes, n_old, n_new), tasks in sorted(shapes.items()):
            fails = n_old + n_new - passes
            drawn = generator.hypergeometric(passes, fails, n_new, size=(rows, tasks)).sum(axis=1)
            sums += drawn / n_new - (passes * tasks - drawn) / n_old
        return sums

    return deal


def _mean(values: Values) -> float:
    return math.fsum(values) / len(values)

"""Repeated trials of tasks: pass@k, pass^k, self-agreement, the sampling floor.

Standard library only. The task is the unit that was sampled: every interval is over tasks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from tracedance_sdk.errors import InvalidOption, shown
from tracedance_sdk.statistics.checking import (
    check_count,
    check_counts,
    check_enough,
    check_level,
    items,
)
from tracedance_sdk.statistics.clustered import bounded_interval
from tracedance_sdk.statistics.intervals import Estimate, Interval
from tracedance_sdk.statistics.proportions import wilson_interval

_MOST_TRIALS: Final = 10**6
"""Most trials of one task; sums over them take time in their number."""

_MOST_EXACT: Final = 1_000
"""Trials up to which quotients of whole numbers are taken."""


class Trials(NamedTuple):
    """What came of one task.

    Attributes:
        passes: How many of its trials passed.
        n: How many trials there were.
    """

    passes: int
    n: int


def pass_at_k(passes: int, n: int, k: int) -> float:
    """Return the unbiased estimate that at least one of `k` trials of a task passes.

    ``1 - C(n - passes, k) / C(n, k)``

    Args:
        passes: Trials that passed.
        n: All trials.
        k: From 1 to `n`.

    Raises:
        InvalidOption: Impossible counts or k, or more than a million trials.
        NotEnoughData: No trials.

    Source: Chen et al., Evaluating Large Language Models Trained on Code (2021), equation 1.

    Example:
        >>> pass_at_k(1, 4, 2)
        0.5
    """
    passes, n, k = _check_k(passes, n, k)
    return 1 - _share_of_draws(n - passes, n, k)


def pass_hat_k(passes: int, n: int, k: int) -> float:
    """Return pass^k, the unbiased estimate that all of `k` trials of a task pass.

    ``C(passes, k) / C(n, k)``

    Args:
        passes: Trials that passed.
        n: All trials.
        k: From 1 to `n`.

    Raises:
        InvalidOption: Impossible counts or k, or more than a million trials.
        NotEnoughData: No trials.

    Source: Yao et al., tau-bench (2024), section 3.

    Example:
        >>> pass_hat_k(3, 4, 2)
        0.5
    """
    passes, n, k = _check_k(passes, n, k)
    return _share_of_draws(passes, n, k)


def mean_pass_at_k(tasks: Sequence[Trials], k: int, *, level: float = 0.95) -> Estimate:
    """Return pass@k averaged over tasks of equal weight, with an interval over tasks.

    Args:
        tasks: Passes and trials of each task, at least `k` trials each.
        k: At least 1.
        level: Confidence level in (0, 1).

    Returns:
        A rate in [0, 1]; `n` counts tasks. The interval of several tasks is that of
        `clustered_rate` with each task's estimate as one value; of one task, whose trials are
        then the sample, Wilson's interval of its rate with both ends put through
        ``1 - (1 - p)^k``, widened to hold the estimate.

    Raises:
        InvalidOption: A task with fewer than `k` trials, or impossible counts or level.
        NotEnoughData: No tasks.

    Source: see `pass_at_k` and `clustered_rate`.

    Example:
        >>> mean_pass_at_k([Trials(1, 4), Trials(4, 4)], 2).value
        0.75
    """
    return _over_tasks(tasks, k, level, pass_at_k, lambda rate: 1 - (1 - rate) ** k)


def mean_pass_hat_k(tasks: Sequence[Trials], k: int, *, level: float = 0.95) -> Estimate:
    """Return pass^k averaged over tasks of equal weight, with an interval over tasks.

    Args:
        tasks: Passes and trials of each task, at least `k` trials each.
        k: At least 1; with 1 this is the macro pass rate.
        level: Confidence level in (0, 1).

    Returns:
        A rate in [0, 1]; `n` counts tasks. The interval of several tasks is that of
        `clustered_rate` with each task's estimate as one value; of one task, whose trials are
        then the sample, Wilson's interval of its rate with both ends put through ``p^k``,
        widened to hold the estimate.

    Raises:
        InvalidOption: A task with fewer than `k` trials, or impossible counts or level.
        NotEnoughData: No tasks.

    Source: see `pass_hat_k` and `clustered_rate`.

    Example:
        >>> mean_pass_hat_k([Trials(3, 4), Trials(4, 4)], 2).value
        0.75
    """
    return _over_tasks(tasks, k, level, pass_hat_k, lambda rate: rate**k)


def self_agreement(tasks: Sequence[Trials], *, level: float = 0.95) -> Estimate:
    """Return how often two trials of one task have the same outcome.

    ``[C(x, 2) + C(m - x, 2)] / C(m, 2)`` for a task with x passes of m trials, averaged over
    tasks of equal weight: the share of matches that a perfect reproduction would reach.

    Args:
        tasks: Passes and trials of each task, at least two trials each.
        level: Confidence level in (0, 1).

    Returns:
        A rate in [0, 1] with an interval over tasks; `n` counts tasks. The number of pairs is
        `agreement_pairs`.

    Raises:
        InvalidOption: A task with fewer than two trials, or impossible counts or level.
        NotEnoughData: Fewer than two tasks.

    Source: the unbiased estimate of ``p^2 + (1 - p)^2``; interval as in `clustered_rate`.

    Example:
        >>> round(self_agreement([Trials(2, 4), Trials(4, 4)]).value, 3)
        0.667
    """
    tasks, level = _checked(tasks), check_level(level)
    check_enough(len(tasks), 2, what="tasks")
    values = [_agreement(task.passes, task.n) for task in tasks]
    return _mean_over_tasks(values, most=agreement_pairs(tasks), level=level)


def agreement_pairs(tasks: Sequence[Trials]) -> int:
    """Return how many pairs of trials of one task there are: the sum of C(m, 2).

    Raises:
        InvalidOption: Impossible counts.

    Example:
        >>> agreement_pairs([Trials(2, 4)] * 50)
        300
    """
    return sum(math.comb(task.n, 2) for task in _checked(tasks))


def sampling_floor(tasks: Sequence[Trials]) -> float:
    """Return the error that even a perfect predictor of pass rates is left with.

    ``E|X - Y| / m`` for independent X, Y ~ Binomial(m, p) with a task's rate p and its m trials,
    averaged over tasks of equal weight: the mean distance of two samples of the same agent.

    Args:
        tasks: Passes and trials of each task; the observed rate stands for p.

    Returns:
        A rate difference in [0, 1].

    Raises:
        InvalidOption: Impossible counts.
        NotEnoughData: No tasks, or a task without trials.

    Source: exact sum over both distributions.

    Example:
        >>> round(sampling_floor([Trials(1, 2)]), 6)
        0.375
    """
    tasks = _checked(tasks)
    check_enough(len(tasks), 1, what="tasks")
    return math.fsum(_floor_of(task.passes, task.n) for task in tasks) / len(tasks)


@lru_cache(maxsize=4096)
def _floor_of(passes: int, n: int) -> float:
    """Return E|X - Y| / n as ``2 sum_x F(x) (1 - F(x)) / n``, F the distribution function."""
    rate = passes / n
    if rate in (0, 1):
        return 0.0
    total, terms = 0.0, []
    spread = 10 * math.sqrt(n * rate * (1 - rate)) + 10  # beyond it F (1 - F) is nothing
    for x in range(max(0, int(n * rate - spread)), min(n, int(n * rate + spread))):
        log_choose = math.lgamma(n + 1) - math.lgamma(x + 1) - math.lgamma(n - x + 1)
        total += math.exp(log_choose + x * math.log(rate) + (n - x) * math.log1p(-rate))
        terms.append(total * (1 - total))
    return max(0.0, 2 * math.fsum(terms) / n)


def _agreement(passes: int, n: int) -> float:
    passes, n, _ = _check_k(passes, n, 2)
    return (math.comb(passes, 2) + math.comb(n - passes, 2)) / math.comb(n, 2)


def _over_tasks(
    tasks: Sequence[Trials],
    k: int,
    level: float,
    of_task: Callable[[int, int, int], float],
    of_rate: Callable[[float], float],
) -> Estimate:
    tasks, level = _checked(tasks), check_level(level)
    check_enough(len(tasks), 1, what="tasks")
    values = [of_task(task.passes, task.n, k) for task in tasks]
    if len(tasks) == 1:
        low, high, _ = wilson_interval(*tasks[0], level=level)
        ends = (of_rate(low), of_rate(high), values[0])
        return Estimate(values[0], Interval(min(ends), max(ends), level), 1)
    return _mean_over_tasks(values, most=sum(task.n for task in tasks) / k, level=level)


def _mean_over_tasks(values: Sequence[float], *, most: float, level: float) -> Estimate:
    mean = math.fsum(values) / len(values)
    weight = 1 / len(values)
    deviations = [(value - mean) * weight for value in values]
    interval = bounded_interval(mean, deviations, [weight] * len(values), n=most, level=level)
    return Estimate(mean, interval, len(values))


def _checked(tasks: Sequence[Trials]) -> list[Trials]:
    """Return tasks whose counts are possible."""
    checked = []
    for at, task in enumerate(items(tasks, "tasks")):
        pair = items(task, f"task {at}")
        if len(pair) != 2:
            raise InvalidOption(f"task {at} is {shown(task)}; give its passes and its trials")
        checked.append(Trials(*check_counts(*pair, what="trial", most=_MOST_TRIALS)))
    return checked


def _check_k(passes: int, n: int, k: int) -> tuple[int, int, int]:
    passes, n = check_counts(passes, n, what="trial", most=_MOST_TRIALS)
    try:
        return passes, n, check_count(k, "k", least=1, most=n)
    except InvalidOption:
        raise InvalidOption(
            f"k is {shown(k)}; with {n} trials of a task it lies between 1 and {n}"
        ) from None


def _share_of_draws(good: int, n: int, k: int) -> float:
    """Return C(good, k) / C(n, k): how often k of n, drawn without return, are all good."""
    if k > good:
        return 0.0
    if n <= _MOST_EXACT:
        return math.comb(good, k) / math.comb(n, k)
    # The product of (good - i) / (n - i) over k factors; as many over n - good instead of k.
    few, gone = sorted((k, n - good))
    return math.exp(math.fsum(math.log1p(-gone / (n - i)) for i in range(few)))

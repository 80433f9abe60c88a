"""Clustered values and repeated trials: against statsmodels, by definition, at their bounds."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tests.support.tables import AddRow
from tracedance_sdk.statistics import (
    Trials,
    clustered_rate,
    design_effect,
    macro_mean,
    mean_interval,
    mean_pass_at_k,
    mean_pass_hat_k,
    paired_difference,
    pass_at_k,
    pass_hat_k,
    sampling_floor,
    self_agreement,
    wilson_interval,
)

TASK = st.integers(2, 12).flatmap(lambda n: st.builds(Trials, st.integers(0, n), st.just(n)))
TASKS = st.lists(TASK, min_size=2, max_size=20)
ITEMS = st.lists(st.tuples(st.booleans(), st.integers(0, 5)), min_size=2, max_size=60).filter(
    lambda items: len({owner for _, owner in items}) > 1
)


def test_the_mean_of_clusters_of_one_size_is_that_of_statsmodels() -> None:
    generator = np.random.default_rng(3)
    clusters = generator.permutation(np.repeat(np.arange(10), 7))
    values = generator.normal(size=70) + clusters / 3
    found = mean_interval(values.tolist(), clusters.tolist())
    model = sm.OLS(values, np.ones(70)).fit(
        cov_type="cluster", cov_kwds={"groups": clusters}, use_t=True
    )
    assert found.value == pytest.approx(model.params[0])
    assert found.interval[:2] == pytest.approx(tuple(model.conf_int()[0]))
    assert found.n == 10


def test_the_mean_of_single_values_is_students() -> None:
    values = [3.0, 1.0, 4.0, 1.5, 9.0]
    found = mean_interval(values)
    expected = stats.t.interval(0.95, 4, np.mean(values), stats.sem(values))
    assert found.interval[:2] == pytest.approx(expected)


def test_the_paired_difference_is_students_paired_test() -> None:
    old, new = [3.0, 1.0, 4.0, 1.5, 9.0], [4.0, 1.5, 3.0, 5.0, 9.5]
    found = paired_difference(old, new)
    expected = stats.ttest_rel(new, old)
    assert found.p_value == pytest.approx(expected.pvalue)
    assert found.interval[:2] == pytest.approx(tuple(expected.confidence_interval()))


def test_macro_weighs_groups_and_micro_weighs_items() -> None:
    values, groups = [1, 1, 1, 1, 0, 0, 1, 0], ["a"] * 5 + ["b"] * 2 + ["c"]
    assert macro_mean(values, groups).value == pytest.approx((0.8 + 0.5 + 0) / 3)
    assert mean_interval(values, groups).value == 5 / 8
    assert macro_mean(values, groups).n == mean_interval(values, groups).n == 3


@given(ITEMS, st.randoms(use_true_random=False))
def test_a_clustered_rate_stays_within_bounds_in_any_order(
    items: list[tuple[bool, int]], shuffler: random.Random
) -> None:
    found = clustered_rate([a for a, _ in items], [b for _, b in items])
    assert 0 <= found.interval.low <= found.value <= found.interval.high <= 1
    assert found.interval.low < found.interval.high
    shuffler.shuffle(items)
    again = clustered_rate([a for a, _ in items], [b for _, b in items])
    assert again.value == pytest.approx(found.value)
    assert again.interval == pytest.approx(found.interval)


def test_trials_that_all_agree_count_as_one_each() -> None:
    outcomes = [task % 2 == 0 for task in range(40) for _ in range(5)]
    tasks = [task for task in range(40) for _ in range(5)]
    assert design_effect(outcomes, tasks) == pytest.approx(5 * 40 / 39)
    found, naive = clustered_rate(outcomes, tasks).interval, wilson_interval(100, 200)
    once = wilson_interval(20, 40)
    assert found.half_width > 2 * naive.half_width
    assert found.half_width == pytest.approx(once.half_width, rel=0.05)


@pytest.mark.parametrize("outcome", [False, True])
def test_outcomes_that_are_all_the_same_count_as_one_for_each_cluster(outcome: bool) -> None:
    found = clustered_rate([outcome] * 60, [task // 3 for task in range(60)])
    once = wilson_interval(20 * outcome, 20)
    assert found.interval.half_width == pytest.approx(once.half_width, rel=0.15)
    assert found.interval.half_width >= once.half_width


FEW_CLUSTERS = {
    "8 clusters of 20, 0.1, icc 0.6": (8, [20], 0.1, 0.6),
    "8 clusters of 20, 0.9, icc 0.6": (8, [20], 0.9, 0.6),
    "8 clusters of 20, 0.1, icc 0.2": (8, [20], 0.1, 0.2),
    "15 clusters of 20, 0.1, icc 0.6": (15, [20], 0.1, 0.6),
    "15 clusters of 5, 0.9, icc 0.6": (15, [5], 0.9, 0.6),
    "30 clusters of 20, 0.1, icc 0.6": (30, [20], 0.1, 0.6),
    "8 clusters of 1 to 10, 0.5, icc 0.6": (8, [1, 2, 3, 10], 0.5, 0.6),
    "15 clusters of 1 to 10, 0.5, icc 0.6": (15, [1, 2, 3, 10], 0.5, 0.6),
}


@pytest.mark.parametrize("name", FEW_CLUSTERS)
def test_of_few_clusters_that_are_much_alike_the_interval_is_not_too_narrow(
    name: str, add_row: AddRow
) -> None:
    n_clusters, sizes, rate, icc = FEW_CLUSTERS[name]
    draw, spread, held, n_samples = np.random.default_rng(2026), 1 / icc - 1, 0, 1_000
    for _ in range(n_samples):
        of_cluster = draw.choice(sizes, n_clusters)
        rates = draw.beta(rate * spread, (1 - rate) * spread, n_clusters).repeat(of_cluster)
        owners = np.arange(n_clusters).repeat(of_cluster)
        found = clustered_rate(draw.binomial(1, rates).tolist(), owners.tolist())
        held += found.interval.contains(rate)
    add_row("clustered_rate, coverage", clusters=name, holds=f"{100 * held / n_samples:.1f} %")
    assert held / n_samples >= 0.95 - 0.015


@given(TASK, st.data())
def test_pass_at_k_and_pass_hat_k_count_choices_of_trials(
    task: Trials, data: st.DataObject
) -> None:
    k = data.draw(st.integers(1, task.n))
    outcomes = [True] * task.passes + [False] * (task.n - task.passes)
    choices = list(itertools.combinations(outcomes, k))
    assert pass_at_k(*task, k) == pytest.approx(sum(map(any, choices)) / len(choices))
    assert pass_hat_k(*task, k) == pytest.approx(sum(map(all, choices)) / len(choices))


@given(st.integers(2, 9), st.integers(0, 8), st.data())
def test_the_estimators_are_unbiased(n: int, tenths: int, data: st.DataObject) -> None:
    k, rate = data.draw(st.integers(1, n)), Fraction(tenths, 8)
    chance = [math.comb(n, x) * rate**x * (1 - rate) ** (n - x) for x in range(n + 1)]
    hat = sum(float(chance[x]) * pass_hat_k(x, n, k) for x in range(n + 1))
    at = sum(float(chance[x]) * pass_at_k(x, n, k) for x in range(n + 1))
    same = sum(float(chance[x]) * self_agreement([Trials(x, n)] * 2).value for x in range(n + 1))
    assert hat == pytest.approx(float(rate**k))
    assert at == pytest.approx(float(1 - (1 - rate) ** k))
    assert same == pytest.approx(float(rate**2 + (1 - rate) ** 2))


@given(TASKS, st.randoms(use_true_random=False))
def test_means_over_tasks_are_bounded_ordered_and_the_same_in_any_order(
    tasks: list[Trials], shuffler: random.Random
) -> None:
    most = min(task.n for task in tasks)
    hats = [mean_pass_hat_k(tasks, k) for k in range(1, most + 1)]
    ats = [mean_pass_at_k(tasks, k) for k in range(1, most + 1)]
    for one in (*hats, *ats, self_agreement(tasks)):
        assert 0 <= one.interval.low <= one.value + 1e-12
        assert one.value - 1e-12 <= one.interval.high <= 1
        assert one.interval.low < one.interval.high
    assert [one.value for one in hats] == sorted((one.value for one in hats), reverse=True)
    assert [one.value for one in ats] == sorted(one.value for one in ats)
    shuffler.shuffle(tasks)
    assert mean_pass_hat_k(tasks, most).interval == pytest.approx(hats[-1].interval)


def test_pass_hat_1_of_tasks_of_one_size_is_the_clustered_rate() -> None:
    tasks = [Trials(0, 4), Trials(1, 4), Trials(4, 4), Trials(3, 4), Trials(2, 4)]
    outcomes = [trial < task.passes for task in tasks for trial in range(task.n)]
    owners = [index for index, task in enumerate(tasks) for _ in range(task.n)]
    found, expected = mean_pass_hat_k(tasks, 1), clustered_rate(outcomes, owners)
    assert found.value == pytest.approx(expected.value)
    assert found.interval == pytest.approx(expected.interval)


def test_the_trials_of_a_single_task_are_the_sample() -> None:
    found = mean_pass_hat_k([Trials(9, 10)], 3)
    low, high, _ = wilson_interval(9, 10)
    assert found.value == pytest.approx(math.comb(9, 3) / math.comb(10, 3))
    assert found.interval[:2] == pytest.approx((low**3, high**3))
    assert mean_pass_hat_k([Trials(1, 4)], 4).interval.low == 0


@given(st.integers(1, 10), st.data())
def test_the_sampling_floor_is_the_double_sum(n: int, data: st.DataObject) -> None:
    passes = data.draw(st.integers(0, n))
    chance = stats.binom.pmf(range(n + 1), n, passes / n)
    expected = sum(chance[x] * chance[y] * abs(x - y) for x in range(n + 1) for y in range(n + 1))
    assert sampling_floor([Trials(passes, n)]) == pytest.approx(expected / n, abs=1e-12)
    assert sampling_floor([Trials(passes, n)]) == pytest.approx(
        sampling_floor([Trials(n - passes, n)])
    )


def test_a_thousand_trials_are_no_trouble() -> None:
    task = Trials(4_000, 10_000)
    assert pass_hat_k(*task, 10) == pytest.approx(0.4**10, rel=0.02)
    # E|X - Y| of two normals is 2 s / sqrt(pi).
    assert sampling_floor([task]) == pytest.approx(2 * math.sqrt(0.24 / 10_000 / math.pi), rel=1e-3)

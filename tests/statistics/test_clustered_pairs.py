"""Clustered pairs and independent samples: exact where they say so, right on simulated data."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from tests.support.tables import AddRow
from tracedance_sdk.errors import InvalidOption, NotEnoughData
from tracedance_sdk.statistics import (
    clustered_rate_difference,
    fisher_exact,
    mcnemar,
    paired_difference,
    paired_rate_difference,
    sign_flip_test,
    stratified_difference,
)

N_SAMPLES: Final = 2_000

outcomes = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=25)


@given(outcomes)
def test_without_clusters_flipped_signs_are_mcnemars_exact_test(
    pairs: list[tuple[bool, bool]],
) -> None:
    old, new = zip(*pairs, strict=True)
    assert sign_flip_test(old, new).p_value == pytest.approx(mcnemar(old, new).p_value)


@given(
    st.lists(
        st.tuples(st.integers(-4, 4), st.integers(0, 5)),
        min_size=1,
        max_size=12,
    )
)
def test_counted_signs_are_all_signs(changes: list[tuple[int, int]]) -> None:
    found = sign_flip_test(
        [0] * len(changes), [c / 3 for c, _ in changes], clusters=[g for _, g in changes]
    )
    totals = [sum(c for c, g in changes if g == own) for own in {g for _, g in changes}]
    signs = list(itertools.product((1, -1), repeat=len(totals)))
    sums = [abs(sum(s * t for s, t in zip(sign, totals, strict=True))) for sign in signs]
    expected = sum(value >= abs(sum(totals)) for value in sums) / len(signs)
    assert found.p_value == pytest.approx(expected)
    assert (found.n, found.p_value >= 2.0 ** (1 - found.n)) == (len(totals), True)


def test_drawn_signs_come_near_the_binomial_and_are_the_same_for_a_seed() -> None:
    old, new = [0] * 60, [1] * 38 + [-1] * 22
    found = sign_flip_test(old, new, seed=3)
    assert found.p_value == pytest.approx(stats.binomtest(22, 60).pvalue, abs=0.003)
    assert found == sign_flip_test(old, new, seed=3)
    assert sign_flip_test(old, [1] * 60, n_resamples=999).p_value == 0.001


@given(outcomes, st.randoms())
def test_the_order_of_pairs_and_of_sides_is_of_no_consequence(
    pairs: list[tuple[bool, bool]], dice: Any
) -> None:
    listed = [(float(a), float(b), index % 4) for index, (a, b) in enumerate(pairs)]
    if len(listed) < 2:
        return

    def found(rows: list[tuple[float, float, int]]) -> Any:
        old, new, owners = zip(*rows, strict=True)
        return clustered_rate_difference(old, new, clusters=owners)

    first = found(listed)
    low, high, _ = first.interval
    assert -1 <= low <= first.value <= high <= 1
    swapped = found([(b, a, owner) for a, b, owner in listed])
    assert (swapped.interval.low, swapped.p_value) == pytest.approx((-high, first.p_value))
    dice.shuffle(listed)
    assert found(listed)[1][:2] == pytest.approx((low, high))


def test_each_pair_its_own_cluster_gives_nearly_the_interval_of_pairs() -> None:
    old, new = [1.0] * 120 + [0.0] * 80, [1.0] * 100 + [0.0] * 60 + [1.0] * 40
    plain = paired_rate_difference([x > 0 for x in old], [x > 0 for x in new])
    found = clustered_rate_difference(old, new)
    assert found.interval[:2] == pytest.approx(plain.interval[:2], abs=0.003)
    assert found.p_value == pytest.approx(plain.p_value, abs=0.01)


def test_an_interval_has_width_where_nothing_changed_and_where_all_changed_alike() -> None:
    same = clustered_rate_difference([1.0] * 10, [1.0] * 10)
    assert same.p_value == 1
    assert same.interval.low < -0.2 < 0.2 < same.interval.high
    rose = clustered_rate_difference([0.0] * 10, [0.5] * 10)
    assert rose.interval.low < 0.4
    assert rose.interval.high > 0.6
    assert rose.p_value == 2**-9
    assert paired_difference([0.0] * 10, [0.5] * 10).interval.half_width == 0


def test_independent_samples_are_as_scipy_has_them() -> None:
    assert fisher_exact((8, 10), (1, 9)).p_value == stats.fisher_exact([[8, 2], [1, 8]])[1]
    old, new = [0.2, 0.4, 0.4, 0.8], [0.6, 0.8, 1.0]
    found = stratified_difference([old], [new])
    welch = stats.ttest_ind(new, old, equal_var=False).confidence_interval()
    assert found.interval[:2] == pytest.approx(tuple(welch))
    assert found.value == pytest.approx(0.35)
    counted = stats.permutation_test(
        (new, old), lambda x, y: np.mean(x) - np.mean(y), n_resamples=np.inf
    )
    assert found.p_value == pytest.approx(counted.pvalue, abs=0.02)
    assert stratified_difference([[0] * 3], [[1] * 3]).p_value == pytest.approx(0.1)


def test_tasks_weigh_the_same_and_runs_are_dealt_only_within_a_task() -> None:
    old, new = [[0, 0, 0, 0], [1, 1]], [[1, 1, 1, 1], [1, 1, 1, 1, 1, 1, 1, 1]]
    found = stratified_difference(old, new, seed=1)
    assert found.value == 0.5
    assert found.p_value == pytest.approx(2 / 70, abs=0.004)
    assert found == stratified_difference(old, new, seed=1)
    assert -1 <= found.interval.low < 0.5 < found.interval.high <= 1


REFUSED: list[tuple[str, Callable[[], Any], type[Exception], str]] = [
    ("no pairs", lambda: sign_flip_test([], []), NotEnoughData, "0 pairs"),
    ("lengths", lambda: sign_flip_test([1], []), InvalidOption, "1 and 0"),
    ("few", lambda: sign_flip_test([1], [1], n_resamples=9), InvalidOption, "n_resamples is 9"),
    ("share", lambda: clustered_rate_difference([0, 2], [0, 1]), InvalidOption, "outcome 1 is 2"),
    ("one", lambda: clustered_rate_difference([0], [1]), NotEnoughData, "at least 2"),
    ("empty", lambda: fisher_exact((0, 0), (1, 2)), NotEnoughData, "no trial"),
    ("no task", lambda: stratified_difference([], []), NotEnoughData, "0 tasks"),
    ("no run", lambda: stratified_difference([[]], [[1]]), NotEnoughData, "0 runs of a task"),
    ("single", lambda: stratified_difference([[0.5]], [[1, 0]]), NotEnoughData, "1 runs"),
    ("alike", lambda: stratified_difference([[2, 2]], [[3, 3]]), NotEnoughData, "all the same"),
]


@pytest.mark.parametrize(("_name", "call", "error", "text"), REFUSED, ids=[r[0] for r in REFUSED])
def test_what_cannot_be_computed_is_refused(
    _name: str, call: Callable[[], Any], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text):
        call()


def logistic(values: Any) -> Any:
    return 1 / (1 + np.exp(-values))


class World:
    """Clusters of subjects tried several times; old and new differ at random in each cluster."""

    def __init__(self, n_clusters: int, size: int, trials: int, shift: float, base: float) -> None:
        self.shape, self.trials, self.shift, self.base = (n_clusters, size), trials, shift, base

    def rates(self, draw: np.random.Generator, n_clusters: int) -> tuple[Any, Any]:
        hard, moved = draw.normal(0, 1, n_clusters), draw.normal(0, 0.4, n_clusters)
        middle = self.base + hard
        return logistic(middle - moved), logistic(middle + self.shift + moved)

    def truth(self, draw: np.random.Generator) -> float:
        old, new = self.rates(draw, 400_000)
        return float((new - old).mean())

    def sample(self, draw: np.random.Generator) -> tuple[list[float], list[float], list[int]]:
        n_clusters, size = self.shape
        sides = [
            (draw.binomial(self.trials, rate[:, None].repeat(size, 1)) / self.trials).ravel()
            for rate in self.rates(draw, n_clusters)
        ]
        owners = np.arange(n_clusters).repeat(size)
        return sides[0].tolist(), sides[1].tolist(), owners.tolist()


WORLDS = {
    "20 tasks, 5 trials": World(20, 1, 5, 0.0, 0.5),
    "12 groups of 6 tasks": World(12, 6, 1, 0.0, 1.0),
    "30 groups of 3 tasks, 3 trials, better": World(30, 3, 3, 0.8, 0.0),
    "40 groups of 3 tasks, nearly all pass, worse": World(40, 3, 1, -1.0, 2.5),
}


@pytest.mark.parametrize("name", WORLDS)
def test_the_interval_holds_the_truth_and_the_test_errs_no_more_than_it_says(name: str) -> None:
    world, draw = WORLDS[name], np.random.default_rng(2026)
    truth, found = world.truth(draw), []
    for _ in range(N_SAMPLES):
        old, new, owners = world.sample(draw)
        trials = len(old) * world.trials
        found.append(clustered_rate_difference(old, new, clusters=owners, trials=trials))
    coverage = sum(item.interval.contains(truth) for item in found) / N_SAMPLES
    refused = sum(item.p_value <= 0.05 for item in found) / N_SAMPLES
    assert 0.95 - 0.015 <= coverage <= 0.985
    if world.shift:
        assert refused >= 0.4
    else:
        assert refused <= 0.05 + 0.015


@pytest.mark.parametrize("shift", [0.0, 1.0], ids=["no change", "better"])
def test_runs_of_fixed_tasks_are_told_apart_as_often_as_said(shift: float) -> None:
    draw = np.random.default_rng(2026)
    hard = np.array([-1.0, 0.3, 1.5])
    rates = logistic(hard), logistic(hard + shift)
    truth, found = float((rates[1] - rates[0]).mean()), []
    for _ in range(N_SAMPLES):
        old, new = (draw.binomial(1, rate[:, None].repeat(12, 1)).tolist() for rate in rates)
        found.append(stratified_difference(old, new, n_resamples=500))
    coverage = sum(item.interval.contains(truth) for item in found) / N_SAMPLES
    refused = sum(item.p_value <= 0.05 for item in found) / N_SAMPLES
    assert 0.95 - 0.015 <= coverage <= 0.985
    assert refused <= 0.05 + 0.015 if not shift else refused >= 0.25


FEW_RUNS = {
    "4 tasks, 2 runs": ([0.5] * 4, [0.6] * 4, 2, 2),
    "10 tasks, 2 runs": ([0.5] * 10, [0.5] * 10, 2, 2),
    "10 tasks, 10 runs": ([0.5] * 10, [0.6] * 10, 10, 10),
    "10 tasks, 3 and 5 runs": ([0.5] * 10, [0.6] * 10, 3, 5),
    "10 tasks, 2 and 10 runs, that move apart": ([0.5] * 10, [0.1, 0.9] * 5, 2, 10),
    "4 tasks, 10 runs, nearly all pass": ([0.95] * 4, [0.85] * 4, 10, 10),
    "1 task, 10 runs": ([0.5], [0.7], 10, 10),
}


@pytest.mark.parametrize("name", FEW_RUNS)
def test_of_few_runs_the_interval_holds_the_truth_and_says_what_the_test_says(
    name: str, add_row: AddRow
) -> None:
    old_rates, new_rates, n_old, n_new = FEW_RUNS[name]
    draw, held, n_samples = np.random.default_rng(2026), 0, 800
    truth = float(np.mean(new_rates) - np.mean(old_rates))
    for _ in range(n_samples):
        old = [draw.binomial(1, rate, n_old).tolist() for rate in old_rates]
        new = [draw.binomial(1, rate, n_new).tolist() for rate in new_rates]
        found = stratified_difference(old, new, n_resamples=300)
        held += found.interval.contains(truth)
        assert found.interval.contains(0) == (found.p_value > 0.05)
    add_row("stratified_difference, coverage", runs=name, holds=f"{100 * held / n_samples:.1f} %")
    assert held / n_samples >= 0.95 - 0.015


@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from([0, 1]), min_size=1, max_size=6),
            st.lists(st.sampled_from([0, 1]), min_size=1, max_size=6),
        ),
        min_size=1,
        max_size=6,
    ),
    st.sampled_from([0.8, 0.9, 0.95]),
)
def test_an_interval_of_passes_leaves_out_0_where_the_test_refutes_it(
    tasks: list[tuple[list[int], list[int]]], level: float
) -> None:
    old, new = zip(*tasks, strict=True)
    found = stratified_difference(old, new, n_resamples=200, level=level)
    low, high, _ = found.interval
    assert -1 <= low <= found.value + 1e-9
    assert found.value - 1e-9 <= high <= 1
    assert (low <= 0 <= high) == (found.p_value > 1 - level + 1e-12)
    back = stratified_difference(new, old, n_resamples=200, level=level).interval
    if len({*map(len, old), *map(len, new)}) == 1 and len(old) == 1:
        assert (-back.high, -back.low) == pytest.approx((low, high), abs=1e-9)


def test_the_ends_are_where_the_score_test_begins_to_refute_by_its_definition() -> None:
    found = stratified_difference([[1] * 7 + [0] * 13], [[1] * 13 + [0] * 5])
    for end in found.interval[:2]:

        def unlikely(rate: float, end: float = end) -> float:
            return -float(stats.binom.logpmf(7, 20, rate) + stats.binom.logpmf(13, 18, rate + end))

        bounds = (max(0.0, -end) + 1e-9, min(1.0, 1 - end) - 1e-9)
        rate = optimize.minimize_scalar(unlikely, bounds=bounds, options={"xatol": 1e-9}).x
        variance = 38 / 37 * (rate * (1 - rate) / 20 + (rate + end) * (1 - rate - end) / 18)
        assert abs(found.value - end) / variance**0.5 == pytest.approx(1.96, abs=1e-3)

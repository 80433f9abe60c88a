"""Tests, their correction, sequential stopping and planning: oracles, bounds, error rates."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import samplesize_proportions_2indep_onetail

from tracedance_sdk.statistics import (
    Confusion,
    always_valid_interval,
    corrected_rate,
    holm,
    least_runs_to_pass,
    more_runs_for_half_width,
    pairs_for_difference,
    runs_for_difference,
    runs_for_half_width,
    sequential_test,
    switch_error,
    wilcoxon_signed_rank,
    wilson_interval,
)

COUNTS = st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@settings(max_examples=25)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_is_that_of_statsmodels(p_values: list[float]) -> None:
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1])


def test_holm_of_nothing_is_nothing() -> None:
    assert holm([]) == ()


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=60))
def test_wilcoxon_is_that_of_scipy_and_turns_round(pairs: list[tuple[int, int]]) -> None:
    old, new = [a for a, _ in pairs], [b for _, b in pairs]
    found, back = wilcoxon_signed_rank(old, new), wilcoxon_signed_rank(new, old)
    assert found == back
    assert 0 < found.p_value <= 1
    assert found.n == sum(a != b for a, b in pairs)
    if found.n > 20:
        # Whatever way the two take for ties, they tell the same.
        expected = stats.wilcoxon(new, old, zero_method="wilcox", method="approx").pvalue
        assert found.p_value == pytest.approx(expected, abs=0.02)


@given(COUNTS)
def test_the_always_valid_interval_holds_wilsons(counts: tuple[int, int]) -> None:
    wide, narrow = always_valid_interval(*counts), wilson_interval(*counts)
    assert 0 <= wide.low <= counts[0] / counts[1] <= wide.high <= 1
    assert wide.half_width > narrow.half_width
    mirrored = always_valid_interval(counts[1] - counts[0], counts[1])
    assert wide[:2] == pytest.approx((1 - mirrored.high, 1 - mirrored.low), abs=1e-9)


def test_no_runs_say_nothing() -> None:
    assert always_valid_interval(0, 0) == (0, 1, 0.95)
    assert sequential_test([], min_rate=0.8) == ("undecided", 0, 0, 1.0, 1.0, (0, 1, 0.9))


@given(st.lists(st.booleans(), min_size=1, max_size=40), st.sampled_from([0.3, 0.5, 0.8, 0.95]))
def test_the_evidence_is_the_mean_likelihood_ratio(outcomes: list[bool], rate: float) -> None:
    state = sequential_test(outcomes, min_rate=rate)
    x, n = state.passes, state.n
    at = rate**x * (1 - rate) ** (n - x)
    above, _ = integrate.quad(lambda p: p**x * (1 - p) ** (n - x), rate, 1, epsabs=0)
    below, _ = integrate.quad(lambda p: p**x * (1 - p) ** (n - x), 0, rate, epsabs=0)
    assert state.evidence_above == pytest.approx(above / (1 - rate) / at, rel=1e-6)
    assert state.evidence_below == pytest.approx(below / rate / at, rel=1e-6)
    assert state.decision == (
        "undecided"
        if max(state.evidence_above, state.evidence_below) < 20
        else "above"
        if state.evidence_above > state.evidence_below
        else "below"
    )


@pytest.mark.parametrize("rate", [0.5, 0.8, 0.95])
def test_looking_after_every_run_is_wrong_less_often_than_allowed(rate: float) -> None:
    generator = np.random.default_rng(17)
    runs = generator.random((2_000, 120)) < rate
    found = [sequential_test(row.tolist(), min_rate=rate, alpha=0.05).decision for row in runs]
    # At the wanted rate itself either answer is the error that alpha bounds.
    assert found.count("above") / len(found) <= 0.05
    assert found.count("below") / len(found) <= 0.05


def test_a_rate_far_from_the_wanted_one_is_soon_told() -> None:
    generator = np.random.default_rng(17)
    for true, decision, within in ((0.5, "below", 60), (0.97, "above", 90)):
        found = [
            sequential_test((generator.random(400) < true).tolist(), min_rate=0.8)
            for _ in range(300)
        ]
        assert sum(state.decision == decision for state in found) >= 295
        assert float(np.mean([state.n for state in found])) < within


def test_a_decision_stays_whatever_comes_after() -> None:
    early = sequential_test([False] * 5 + [True] * 100, min_rate=0.8)
    assert (early.decision, early.n, early.passes) == ("below", 3, 0)


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.8, 0.95, 0.99])
def test_the_least_number_of_runs_to_pass_is_the_least(rate: float) -> None:
    least = least_runs_to_pass(min_rate=rate)
    assert sequential_test([True] * least, min_rate=rate).decision == "above"
    assert sequential_test([True] * (least - 1), min_rate=rate).decision == "undecided"


@given(st.floats(0.01, 0.4), st.floats(0, 1))
def test_the_planned_number_is_the_smallest_that_gives_the_width(
    half_width: float, rate: float
) -> None:
    n = runs_for_half_width(half_width, expected_rate=rate)
    assert n <= runs_for_half_width(half_width)
    x = round(rate * n)
    if x == rate * n:
        assert wilson_interval(x, n).half_width <= half_width + 1e-12


def test_more_runs_are_those_that_are_still_missing() -> None:
    assert more_runs_for_half_width(50, 100, half_width=0.1) == 0
    more = more_runs_for_half_width(5, 10, half_width=0.1)
    assert 10 + more == runs_for_half_width(0.1) == 93
    # Five passes of five promise no rate of 1.
    assert 5 + more_runs_for_half_width(5, 5, half_width=0.1) > 2 * runs_for_half_width(
        0.1, expected_rate=1.0
    )


@pytest.mark.parametrize(("old", "new"), [(0.8, 0.9), (0.5, 0.6), (0.3, 0.15)])
def test_the_planned_number_shows_a_difference_as_often_as_wanted(old: float, new: float) -> None:
    n = runs_for_difference(old, new)
    expected = samplesize_proportions_2indep_onetail(
        abs(old - new), min(old, new), 0.8, alpha=0.05, alternative="two-sided"
    )
    assert n == pytest.approx(expected, abs=1)
    generator = np.random.default_rng(3)
    x1, x2 = generator.binomial(n, old, 4_000), generator.binomial(n, new, 4_000)
    pooled = (x1 + x2) / (2 * n)
    z = abs(x1 - x2) / n / np.sqrt(pooled * (1 - pooled) * 2 / n)
    assert (z > 1.96).mean() == pytest.approx(0.8, abs=0.025)


def test_the_planned_number_of_pairs_shows_a_gain_as_often_as_wanted() -> None:
    n = pairs_for_difference(0.2, 0.1)
    counts = np.random.default_rng(3).multinomial(n, [0.2, 0.1, 0.7], size=4_000)
    z = abs(counts[:, 0] - counts[:, 1]) / np.sqrt(counts[:, 0] + counts[:, 1])
    assert (z > 1.96).mean() == pytest.approx(0.8, abs=0.025)


@given(COUNTS, st.integers(1, 60), st.integers(1, 60), st.data())
def test_a_corrected_rate_is_within_bounds(
    counts: tuple[int, int], tp: int, tn: int, data: st.DataObject
) -> None:
    calibration = Confusion(tp, data.draw(st.integers(0, tn - 1)), 0, tn)
    found = corrected_rate(*counts, calibration=calibration)
    assert 0 <= found.corrected.interval.low <= found.corrected.value
    assert found.corrected.value <= found.corrected.interval.high <= 1
    assert found.raw.value == counts[0] / counts[1]


def test_a_judge_who_never_errs_is_hardly_corrected() -> None:
    found = corrected_rate(40, 100, calibration=Confusion(10_000, 0, 0, 10_000))
    assert found.corrected.value == pytest.approx(found.raw.value)
    assert found.corrected.interval[:2] == pytest.approx(tuple(found.raw.interval[:2]), abs=0.005)


def test_rogan_and_gladens_own_formula_is_undone() -> None:
    true, sensitivity, specificity = 0.3, 0.9, 0.8
    apparent = true * sensitivity + (1 - true) * (1 - specificity)
    calibration = Confusion(tp=90, fp=20, fn=10, tn=80)
    found = corrected_rate(round(1000 * apparent), 1000, calibration=calibration)
    assert found.corrected.value == pytest.approx(true, abs=1e-9)
    assert (found.sensitivity.value, found.specificity.value) == (0.9, 0.8)


def test_a_switch_in_which_no_task_moves_has_no_direction() -> None:
    found = switch_error([0.5, 1.0], [0.25, 1.0], [0.75, 1.0])
    assert (found.n_moved, found.n_right, found.direction) == (0, 0, None)
    assert (found.error, found.no_change_error) == (0.25, 0.125)


def test_the_direction_of_a_switch_counts_ties_as_wrong() -> None:
    old, replayed, new = [0.0, 1.0, 0.25, 0.5], [1.0, 1.0, 0.0, 0.75], [0.5, 0.5, 1.0, 0.5]
    found = switch_error(old, replayed, new)
    assert (found.n_moved, found.n_right) == (3, 1)
    assert found.direction is not None
    assert found.direction.interval == wilson_interval(1, 3)
    assert found.error == pytest.approx((0.5 + 0.5 + 1.0 + 0.25) / 4)


def test_simulated_agents_show_the_floor_under_the_error() -> None:
    generator = np.random.default_rng(23)
    rates = generator.beta(1, 1, 4_000)
    new, replayed = generator.binomial(4, rates) / 4, generator.binomial(4, rates) / 4
    old = generator.binomial(4, generator.permutation(rates)) / 4
    found = switch_error(old.tolist(), replayed.tolist(), new.tolist())
    x = np.arange(5)
    chance = stats.binom.pmf(x[:, None], 4, rates)
    floor = np.einsum("in,jn,ij->", chance, chance, abs(x[:, None] - x) / 4) / len(rates)
    assert found.error == pytest.approx(floor, abs=0.01)
    assert found.no_change_error > 1.5 * found.error
    assert found.direction is not None
    assert found.direction.value > 0.8
    assert math.isfinite(found.direction.interval.low)

"""Judges whose faults were planted: a taste for the own model, scores that promise too much."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import confint_proportions_2indep

from tracedance_sdk.statistics import (
    Estimate,
    Interval,
    clustered_coefficient,
    cohen_kappa,
    estimate_difference,
    paired_difference,
    reliability_curve,
    self_preference,
    spearman,
    wilson_interval,
)

Panel = tuple[list[float], list[float], list[bool], list[int]]


def panel(preference: float, *, leniency: float = 0.0, n: int = 400) -> Panel:
    """Return a judge's scores, its peers', whose answer it was, and of which instance."""
    draw = random.Random(7)
    rows = []
    for instance in range(n):
        for model in ("own", "a", "b"):
            worth = draw.gauss(3, 0.8)
            score = worth + leniency + preference * (model == "own") + draw.gauss(0, 0.5)
            rows.append((score, worth + draw.gauss(0, 0.3), model == "own", instance))
    judge, peers, own, instances = zip(*rows, strict=True)
    return list(judge), list(peers), list(own), list(instances)


@pytest.mark.parametrize("planted", [0.0, 0.22, 0.5, -0.3])
@pytest.mark.parametrize("leniency", [0.0, 0.7])
def test_a_planted_preference_is_found_whatever_the_leniency(
    planted: float, leniency: float
) -> None:
    judge, peers, own, instances = panel(planted, leniency=leniency)
    found = self_preference(judge, peers, own, clusters=instances)
    assert found.value == pytest.approx(planted, abs=0.08)
    assert found.interval.contains(planted)
    assert (found.p_value < 0.001) is (planted != 0)
    assert found.n == 400


def test_without_clusters_the_preference_is_two_means_apart() -> None:
    judge, peers, own, _ = panel(0.22, n=30)
    gaps = [a - b for a, b in zip(judge, peers, strict=True)]
    mine = [gap for gap, is_own in zip(gaps, own, strict=True) if is_own]
    others = [gap for gap, is_own in zip(gaps, own, strict=True) if not is_own]
    found = self_preference(judge, peers, own)
    assert found.value == pytest.approx(sum(mine) / 30 - sum(others) / 60)
    assert found.n == 90


def test_one_response_of_each_side_an_instance_is_the_paired_difference() -> None:
    # With both in every instance and as many of each, the clustered error is the paired one.
    judge, peers = [3.0, 4.0, 5.0, 4.0, 2.0, 4.0], [3.0, 3.0, 4.0, 4.0, 2.0, 2.0]
    found = self_preference(judge, peers, [False, True] * 3, clusters=[0, 0, 1, 1, 2, 2])
    paired = paired_difference([0.0, 1.0, 0.0], [1.0, 0.0, 2.0])
    assert found.value == pytest.approx(paired.value)
    assert found.interval == pytest.approx(paired.interval)
    assert found.p_value == pytest.approx(paired.p_value)


def test_an_overconfident_judges_curve_shows_the_planted_rates() -> None:
    draw = random.Random(3)
    scores = [draw.choice([0.1, 0.5, 0.9]) for _ in range(3_000)]
    passed = [draw.random() < 0.2 + 0.4 * score for score in scores]
    curve = reliability_curve(scores, passed, n_bins=5)
    assert [part.low for part in curve.bins] == [0.0, 0.4, 0.8]
    for part in curve.bins:
        planted = 0.2 + 0.4 * part.mean_score
        assert part.passed.interval.contains(planted)
    # |0.1 - 0.24|, |0.5 - 0.40|, |0.9 - 0.56|, each a third of the items.
    assert curve.error == pytest.approx((0.14 + 0.10 + 0.34) / 3, abs=0.02)


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1), st.integers(1, 12))
def test_every_item_lies_in_one_bin(items: list[tuple[float, bool]], n_bins: int) -> None:
    scores, passed = [score for score, _ in items], [outcome for _, outcome in items]
    curve = reliability_curve(scores, passed, n_bins=n_bins)
    assert sum(part.passed.n for part in curve.bins) == len(items)
    assert 0 <= curve.error <= 1
    for part in curve.bins:
        assert part.low - 1e-6 <= part.mean_score <= part.high + 1e-6
    if n_bins == 1:
        assert curve.error == pytest.approx(abs(sum(scores) - sum(passed)) / len(items), abs=1e-9)


def test_clusters_of_one_give_the_coefficients_own_interval() -> None:
    first, second = [1, 2, 3, 4, 5, 6], [2, 1, 4, 3, 6, 5]

    def rho(kept: object) -> Estimate:
        found = spearman(first, second)
        return Estimate(found.value, found.interval, found.n)

    assert clustered_coefficient(rho, range(6)) == rho(None)


def test_items_said_twice_count_once() -> None:
    judge = [True, True, False, False, True, False, True, False] * 3
    human = [True, True, False, True, True, False, False, False] * 3

    def kappa(kept: object) -> Estimate:
        assert isinstance(kept, (list, range))
        return cohen_kappa([judge[at] for at in kept], [human[at] for at in kept])

    once = kappa(range(24))
    doubled = clustered_coefficient(lambda kept: kappa([at % 24 for at in kept]), [*range(24)] * 2)
    assert doubled.value == pytest.approx(once.value)
    assert doubled.n == 24
    quicker = clustered_coefficient(
        lambda kept: kappa([at % 24 for at in kept]),
        [*range(24)] * 2,
        without=lambda out: kappa([at % 24 for at in range(48) if at not in out]).value,
    )
    assert quicker == doubled
    naive = kappa([*range(24), *range(24)])
    assert doubled.interval.half_width > 1.2 * naive.interval.half_width


def test_the_difference_of_two_rates_is_newcombes() -> None:
    old = Estimate(0.5, wilson_interval(20, 40), 40)
    new = Estimate(0.7, wilson_interval(42, 60), 60)
    found = estimate_difference(old, new)
    assert found.interval[:2] == pytest.approx(
        confint_proportions_2indep(42, 60, 20, 40, method="newcomb")
    )
    assert found.n == 40
    turned = estimate_difference(new, old)
    assert turned.interval[:2] == pytest.approx((-found.interval.high, -found.interval.low))


def test_no_drift_between_equal_estimates() -> None:
    same = Estimate(0.6, Interval(0.5, 0.7), 50)
    found = estimate_difference(same, same)
    assert found.value == 0
    assert found.interval.low == pytest.approx(-found.interval.high)

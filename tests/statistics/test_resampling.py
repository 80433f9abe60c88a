"""Bootstrap and rankings: seeded, against scipy and against what is known of the models."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tracedance_sdk.statistics import (
    BootstrapMethod,
    bootstrap_interval,
    common_items,
    macro_mean,
    mean_interval,
    rank_models,
    two_level_bootstrap,
)

METHODS: list[BootstrapMethod] = ["percentile", "bca"]


@pytest.mark.parametrize("method", METHODS)
def test_the_bootstrap_of_a_mean_is_that_of_scipy(method: BootstrapMethod) -> None:
    values = np.random.default_rng(1).exponential(size=60)
    found = bootstrap_interval(values.tolist(), seed=2, method=method)
    expected = stats.bootstrap(
        (values,), np.mean, method=method, n_resamples=10_000, rng=np.random.default_rng(9)
    ).confidence_interval
    assert found.value == pytest.approx(values.mean())
    assert found.interval[:2] == pytest.approx(tuple(expected), abs=0.02)


@pytest.mark.parametrize("method", METHODS)
def test_a_statistic_of_ones_own_is_taken_over_whole_clusters(method: BootstrapMethod) -> None:
    values, clusters = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.5, 9.0], [1, 1, 1, 2, 3, 3, 4, 5]
    own = bootstrap_interval(
        values, lambda drawn: drawn.mean(), seed=4, clusters=clusters, method=method,
        n_resamples=500,
    )  # fmt: skip
    built_in = bootstrap_interval(values, seed=4, clusters=clusters, method=method, n_resamples=500)
    assert own.value == pytest.approx(built_in.value)
    assert own.interval == pytest.approx(built_in.interval)
    assert own.n == 5


def test_clusters_widen_the_bootstrap_as_they_widen_the_formula() -> None:
    generator = np.random.default_rng(5)
    values = np.repeat(generator.normal(size=40), 5) + generator.normal(size=200) / 4
    clusters = np.repeat(np.arange(40), 5).tolist()
    within = bootstrap_interval(values.tolist(), seed=1).interval
    across = bootstrap_interval(values.tolist(), seed=1, clusters=clusters).interval
    formula = mean_interval(values.tolist(), clusters).interval
    assert across.half_width > 1.8 * within.half_width
    assert across.half_width == pytest.approx(formula.half_width, rel=0.1)


def test_two_levels_are_wider_than_clusters_alone() -> None:
    generator = np.random.default_rng(5)
    values = generator.normal(size=300)
    clusters = np.repeat(np.arange(60), 5).tolist()
    one = bootstrap_interval(values.tolist(), seed=1, clusters=clusters).interval
    two = two_level_bootstrap(values.tolist(), clusters, seed=1).interval
    # Items that are their clusters' only spread are counted twice: once too often, so sqrt(2).
    assert two.half_width == pytest.approx(one.half_width * (1 + 4 / 5) ** 0.5, rel=0.05)


def test_two_levels_take_macro_and_micro_means() -> None:
    values, clusters = [1, 1, 1, 1, 0, 0, 1, 0], ["a"] * 5 + ["b"] * 2 + ["c"]
    macro = two_level_bootstrap(values, clusters, seed=1)
    micro = two_level_bootstrap(values, clusters, seed=1, macro=False)
    assert macro.value == pytest.approx(macro_mean(values, clusters).value)
    assert micro.value == pytest.approx(5 / 8)
    for found in (macro, micro):
        assert 0 <= found.interval.low <= found.value <= found.interval.high <= 1


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30), st.integers(0, 9))
def test_the_same_seed_gives_the_same_interval(values: list[float], seed: int) -> None:
    first, second = (
        bootstrap_interval(values, seed=seed, method="percentile", n_resamples=100)
        for _ in range(2)
    )
    assert first == second
    slack = max(1e-9 * max(map(abs, values)), 1e-100)  # what is nearer to 0 counts as 0
    assert min(values) - slack <= first.interval.low <= first.interval.high
    assert first.interval.high <= max(values) + slack


def test_values_that_are_all_the_same_give_an_interval_without_width() -> None:
    assert bootstrap_interval([2.0, 2.0, 2.0], seed=1).interval[:2] == (2, 2)


def simulated(gaps: list[float], seed: int, n_benchmarks: int) -> dict[str, dict[str, list[bool]]]:
    generator = np.random.default_rng(seed)
    hardness = generator.normal(0, 0.1, n_benchmarks)
    return {
        f"model-{index}": {
            f"b{at}": (generator.random(40) < 0.4 + gap + hardness[at]).tolist()
            for at in range(n_benchmarks)
        }
        for index, gap in enumerate(gaps)
    }


def test_models_with_known_gaps_fall_into_their_groups() -> None:
    scores = simulated([0.0, 0.25, 0.0, 0.25, -0.2], seed=3, n_benchmarks=60)
    ranking = rank_models(scores, seed=1, n_resamples=4_000)
    found = {place.model: place.group for place in ranking.models}
    assert found == {"model-1": 1, "model-3": 1, "model-0": 2, "model-2": 2, "model-4": 3}
    assert [place.score.value for place in ranking.models] == sorted(
        (place.score.value for place in ranking.models), reverse=True
    )
    assert sum(place.p_first for place in ranking.models) == pytest.approx(1)
    assert ranking.lead.interval.low < 0 < ranking.lead.interval.high


def test_a_clear_leader_is_first_in_nearly_all_resamples() -> None:
    ranking = rank_models(simulated([0.0, 0.15, 0.0], seed=3, n_benchmarks=60), seed=1)
    first = ranking.models[0]
    assert (first.model, first.group, first.score.n) == ("model-1", 1, 60)
    assert first.p_first > 0.999
    assert ranking.lead.interval.contains(0.15)
    assert ranking.lead.interval.low > 0


def test_equal_models_share_the_first_place_by_name() -> None:
    scores = {name: {"a": [1, 0], "b": [0, 0], "c": [1, 1]} for name in ("z", "y", "x")}
    ranking = rank_models(scores, seed=1, n_resamples=200)
    assert [(place.model, place.group) for place in ranking.models] == [
        ("x", 1),
        ("y", 1),
        ("z", 1),
    ]
    assert [place.p_first for place in ranking.models] == pytest.approx([1 / 3] * 3)
    assert ranking.lead.interval[:2] == (0, 0)


def test_two_level_ranking_is_wider() -> None:
    scores = simulated([0.0, 0.1], seed=3, n_benchmarks=30)
    one = rank_models(scores, seed=1, n_resamples=2_000).models[0].score.interval
    two = rank_models(scores, seed=1, n_resamples=2_000, two_level=True).models[0].score.interval
    assert two.half_width > 1.1 * one.half_width


def test_common_items_are_those_that_every_model_answered() -> None:
    runs: dict[str, dict[str, int | None]] = {
        "a": {"x": 0, "y": None, "z": 5},
        "b": {"z": 1, "x": 0, "y": 2},
        "c": {"x": 1, "z": 0},
    }
    assert common_items(runs) == ["x", "z"]
    assert common_items({}) == []

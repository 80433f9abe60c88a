"""Published numbers come out: the figures of the TraceDance and Ancha papers, and tau-bench's."""

from __future__ import annotations

import gzip
import json
import random
from collections import defaultdict

import pytest

from tests.support.shared_data import shared_data
from tracedance_sdk.statistics import (
    Confusion,
    ReplayedVerdict,
    Trials,
    agreement_pairs,
    cohen_kappa,
    compare_replay,
    confusion,
    mean_pass_at_k,
    mean_pass_hat_k,
    sampling_floor,
    self_agreement,
    wilson_interval,
)

MODEL_MEANS = (33.5, 29.3, 28.6, 28.5, 27.2, 23.5, 23.3, 23.3, 22.9)
"""Overall pass rates in percent of the nine models of TraceDance's table."""


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [pytest.param(75, 100, 65.7, 82.5, id="match"), pytest.param(47, 58, 69.1, 89.1, id="clean")],
)
def test_wilson_gives_the_published_intervals(
    successes: int, n: int, low: float, high: float
) -> None:
    interval = wilson_interval(successes, n)
    assert (round(100 * interval.low, 1), round(100 * interval.high, 1)) == (low, high)


def test_the_panel_against_the_humans_is_the_published_table() -> None:
    panel = Confusion(tp=17, fp=21, fn=11, tn=119)
    assert panel.n == 168
    assert round(100 * panel.agreement().value, 1) == 81.0
    assert round(panel.kappa().value, 3) == 0.400
    assert round(100 * panel.recall().value, 1) == 60.7
    assert round(100 * panel.precision().value, 1) == 44.7


def test_the_panel_item_by_item_gives_the_same_table() -> None:
    counts = {(True, True): 17, (True, False): 21, (False, True): 11, (False, False): 119}
    pairs = [pair for pair, times in counts.items() for _ in range(times)]
    random.Random(5).shuffle(pairs)
    judge, human = [a for a, _ in pairs], [b for _, b in pairs]
    assert confusion(judge, human) == Confusion(17, 21, 11, 119)
    assert round(cohen_kappa(judge, human).value, 3) == 0.400


def test_the_two_annotators_agree_at_kappa_0_314() -> None:
    annotators = Confusion(tp=6, fp=8, fn=8, tn=62)
    assert annotators.n == 84
    assert round(annotators.kappa().value, 3) == 0.314
    assert round(100 * annotators.agreement().value) == 81


def test_the_models_mean_is_26_7() -> None:
    assert round(sum(MODEL_MEANS) / len(MODEL_MEANS), 1) == 26.7


def test_the_reproduction_of_production_is_the_published_one() -> None:
    # 44 failures of which 36 fail again, 56 passes of which 39 pass again; of the 75 that match,
    # 47 are among the 58 tests without a simulated answer.
    same = [(False, False)] * 36 + [(True, True)] * 39
    other = [(False, True)] * 8 + [(True, False)] * 17
    rows = [ReplayedVerdict(*pair, simulated=at >= 47) for at, pair in enumerate(same)]
    rows += [ReplayedVerdict(*pair, simulated=at >= 11) for at, pair in enumerate(other)]
    found = compare_replay(rows)
    assert (found.match.value, found.match.n) == (0.75, 100)
    assert found.match_recorded is not None
    assert found.match_simulated is not None
    assert found.fails_again is not None
    assert found.passes_again is not None
    assert round(100 * found.match_recorded.value, 1) == 81.0
    assert [round(100 * end, 1) for end in found.match_recorded.interval[:2]] == [69.1, 89.1]
    assert round(100 * found.match_simulated.value, 1) == 66.7
    assert found.fails_again.value == 36 / 44
    assert found.passes_again.value == 39 / 56
    assert (found.production_passes, found.replay_passes) == (56, 47)


@pytest.fixture(scope="module")
def airline() -> list[Trials]:
    """Return passes and trials of tau-bench's fifty airline tasks with gpt-4o."""
    source = shared_data("tau-bench") / "historical_trajectories" / "gpt-4o-airline.json.gz"
    passes: dict[int, int] = defaultdict(int)
    trials: dict[int, int] = defaultdict(int)
    for run in json.loads(gzip.decompress(source.read_bytes())):
        trials[run["task_id"]] += 1
        passes[run["task_id"]] += run["reward"] == 1.0
    return [Trials(passes[task], trials[task]) for task in sorted(trials)]


def test_tau_benchs_agreement_with_itself_and_its_floor(airline: list[Trials]) -> None:
    assert sum(task.passes for task in airline) == 84
    assert agreement_pairs(airline) == 300
    found = self_agreement(airline)
    assert round(found.value, 4) == 0.7067
    assert found.n == 50
    assert found.interval.low < 0.7067 < found.interval.high
    assert round(sampling_floor(airline), 4) == 0.1285


def test_tau_benchs_pass_hat_k_falls_from_its_pass_rate(airline: list[Trials]) -> None:
    values = [mean_pass_hat_k(airline, k).value for k in (1, 2, 3, 4)]
    assert values[0] == pytest.approx(84 / 200)
    # The definition, counted: all k of the trials of a task, over all choices of k trials.
    assert values[1] == pytest.approx(sum(t.passes * (t.passes - 1) for t in airline) / 12 / 50)
    assert values[3] == sum(task.passes == 4 for task in airline) / 50
    assert values == sorted(values, reverse=True)
    assert mean_pass_at_k(airline, 4).value == sum(task.passes > 0 for task in airline) / 50


def test_the_floor_is_what_drawing_two_samples_gives(airline: list[Trials]) -> None:
    numpy = pytest.importorskip("numpy")
    generator = numpy.random.default_rng(11)
    rates = numpy.array([task.passes / task.n for task in airline])
    draws = generator.binomial(4, rates, size=(2, 20_000, len(rates)))
    simulated = abs(draws[0] - draws[1]).mean() / 4
    assert sampling_floor(airline) == pytest.approx(simulated, abs=0.0005)

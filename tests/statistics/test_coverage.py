"""Every interval holds the truth about as often as it says: 2,000 simulated samples of each.

The page on statistics has the same table; its figures are those found here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import pytest

from tests.docs.pages import page, section, table
from tests.support.tables import AddRow
from tracedance_sdk.errors import NotEnoughData
from tracedance_sdk.statistics import (
    Confusion,
    Estimate,
    Interval,
    Trials,
    bootstrap_interval,
    clustered_coefficient,
    clustered_rate,
    cohen_kappa,
    corrected_rate,
    estimate_difference,
    kendall,
    krippendorff_alpha,
    mean_interval,
    mean_pass_at_k,
    mean_pass_hat_k,
    non_inferior_rate,
    paired_difference,
    paired_rate_difference,
    rank_models,
    rate_difference,
    self_agreement,
    self_preference,
    spearman,
    two_level_bootstrap,
    wilson_interval,
)

N_SAMPLES: Final = 2_000
TOLERANCE: Final = 0.015
MOST_ABOVE: Final = 0.02

Generator = np.random.Generator
Sample = Callable[[Generator], tuple[Interval, float]]
"""Draws a sample and returns its interval with the true value."""


def wilson(draw: Generator) -> tuple[Interval, float]:
    rate = draw.uniform(0.05, 0.95)
    return wilson_interval(int(draw.binomial(50, rate)), 50), rate


def newcombe(draw: Generator) -> tuple[Interval, float]:
    old, new = draw.uniform(0.1, 0.9, 2)
    counts = (int(draw.binomial(50, old)), 50), (int(draw.binomial(60, new)), 60)
    return rate_difference(*counts).interval, new - old


def tango(draw: Generator) -> tuple[Interval, float]:
    shares = draw.dirichlet([2, 1, 1, 2])
    counts = draw.multinomial(60, shares)
    old = np.repeat([True, False, True, False], counts)
    new = np.repeat([True, True, False, False], counts)
    return paired_rate_difference(old.tolist(), new.tolist()).interval, shares[1] - shares[2]


def score(draw: Generator) -> tuple[Interval, float]:
    old, new = draw.uniform(0.1, 0.9, 2)
    counts = (int(draw.binomial(50, old)), 50), (int(draw.binomial(60, new)), 60)
    return non_inferior_rate(*counts, margin=0.1, alpha=0.025).interval, new - old


def clustered(draw: Generator) -> tuple[Interval, float]:
    rates = draw.beta(1, 1, 30)
    outcomes = draw.random((30, 5)) < rates[:, None]
    owners = np.repeat(np.arange(30), 5).tolist()
    return clustered_rate(outcomes.ravel().tolist(), owners).interval, 0.5


def clustered_mean(draw: Generator) -> tuple[Interval, float]:
    values = draw.normal(size=(20, 1)) + draw.normal(size=(20, 5))
    owners = np.repeat(np.arange(20), 5).tolist()
    return mean_interval(values.ravel().tolist(), owners).interval, 0.0


def student(draw: Generator) -> tuple[Interval, float]:
    old = draw.normal(size=12)
    new = old + draw.normal(0.3, 0.5, size=12)
    return paired_difference(old.tolist(), new.tolist()).interval, 0.3


def tasks_of(draw: Generator, n: int) -> list[Trials]:
    return [Trials(int(x), n) for x in draw.binomial(n, draw.beta(1, 1, 50))]


def pass_hat(draw: Generator) -> tuple[Interval, float]:
    return mean_pass_hat_k(tasks_of(draw, 4), 3).interval, 1 / 4


def pass_at(draw: Generator) -> tuple[Interval, float]:
    return mean_pass_at_k(tasks_of(draw, 5), 2).interval, 2 / 3


def agreement_with_itself(draw: Generator) -> tuple[Interval, float]:
    return self_agreement(tasks_of(draw, 4)).interval, 2 / 3


def kappa(draw: Generator) -> tuple[Interval, float]:
    shares = np.array([0.25, 0.1, 0.15, 0.5])
    cells = draw.choice(4, 100, p=shares)
    expected = 0.35 * 0.4 + 0.65 * 0.6
    truth = (0.75 - expected) / (1 - expected)
    return cohen_kappa((cells // 2).tolist(), (cells % 2).tolist()).interval, truth


def weighted_kappa(draw: Generator) -> tuple[Interval, float]:
    distance = abs(np.subtract.outer(np.arange(6), np.arange(6)))
    shares = np.exp(-0.9 * distance)
    shares /= shares.sum()
    cells = draw.choice(36, 100, p=shares.ravel())
    chance = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    truth = 1 - (distance * shares).sum() / (distance * chance).sum()
    found = cohen_kappa(
        (cells // 6).tolist(), (cells % 6).tolist(), weights="linear", labels=range(6)
    )
    return found.interval, float(truth)


def clustered_kappa(draw: Generator) -> tuple[Interval, float]:
    # Some tasks are easy to judge and some are hard: agreement is 0.95 or 0.55, 0.75 on average.
    human = draw.random((30, 4)) < 0.5
    judge = human ^ (draw.random((30, 4)) < draw.choice([0.05, 0.45], (30, 1)))
    codes = (2 * judge + human).ravel()

    def of(kept: Sequence[int]) -> Estimate:
        # Kappa by its definition, without an interval of its own to lean on.
        _, fn, fp, tp = shares = np.bincount(codes[kept], minlength=4) / len(kept)
        expected = (tp + fp) * (tp + fn) + (1 - tp - fp) * (1 - tp - fn)
        value = float((shares[0] + tp - expected) / (1 - expected))
        return Estimate(value, Interval(value, value), len(kept))

    return clustered_coefficient(of, np.repeat(np.arange(30), 4).tolist()).interval, 0.5


def drift(draw: Generator) -> tuple[Interval, float]:
    def judged(n: int, error: float) -> Estimate:
        human = draw.random(n) < 0.5
        judge = human ^ (draw.random(n) < error)
        return cohen_kappa(judge.tolist(), human.tolist())

    return estimate_difference(judged(60, 0.1), judged(100, 0.2)).interval, -0.2


def preference(draw: Generator) -> tuple[Interval, float]:
    # Forty instances answered by four models, the first of which is the judge's own.
    hardness = draw.normal(size=(40, 1))
    judge = hardness * 1.5 + draw.normal(size=(40, 4)) + [0.5, 0.2, 0.2, 0.2]
    peers = hardness + draw.normal(size=(40, 4))
    own = np.tile([True, False, False, False], 40).tolist()
    found = self_preference(
        judge.ravel().tolist(),
        peers.ravel().tolist(),
        own,
        clusters=np.repeat(np.arange(40), 4).tolist(),
    )
    return found.interval, 0.3


def alpha(draw: Generator) -> tuple[Interval, float]:
    # Three raters who each turn a fair coin's side over with chance 0.15: alpha is (1 - 0.3)^2.
    truth = draw.random((80, 1)) < 0.5
    ratings = truth ^ (draw.random((80, 3)) < 0.15)
    return krippendorff_alpha(ratings.tolist()).interval, 0.49


def normal_pairs(draw: Generator) -> Any:
    return draw.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], 40).T.tolist()


def spearmans(draw: Generator) -> tuple[Interval, float]:
    return spearman(*normal_pairs(draw)).interval, 6 / math.pi * math.asin(0.3)


def kendalls(draw: Generator) -> tuple[Interval, float]:
    return kendall(*normal_pairs(draw)).interval, 2 / math.pi * math.asin(0.6)


def rogan_gladen(draw: Generator) -> tuple[Interval, float]:
    truth = draw.uniform(0.1, 0.9)
    tp, tn = int(draw.binomial(80, 0.85)), int(draw.binomial(80, 0.8))
    passes = int(draw.binomial(300, truth * 0.85 + (1 - truth) * 0.2))
    calibration = Confusion(tp, 80 - tn, 80 - tp, tn)
    return corrected_rate(passes, 300, calibration=calibration).corrected.interval, truth


def bca(draw: Generator) -> tuple[Interval, float]:
    values = draw.exponential(size=150)
    return bootstrap_interval(values.tolist(), seed=1, n_resamples=1_000).interval, 1.0


def percentile(draw: Generator) -> tuple[Interval, float]:
    values = draw.normal(size=100)
    found = bootstrap_interval(values.tolist(), seed=1, n_resamples=1_000, method="percentile")
    return found.interval, 0.0


def cluster_bootstrap(draw: Generator) -> tuple[Interval, float]:
    values = draw.normal(size=(80, 1)) + draw.normal(size=(80, 3))
    owners = np.repeat(np.arange(80), 3).tolist()
    found = bootstrap_interval(values.ravel().tolist(), seed=1, clusters=owners, n_resamples=1_000)
    return found.interval, 0.0


def two_levels(draw: Generator) -> tuple[Interval, float]:
    # Benchmarks that differ much more than the chance within them.
    values = 2 * draw.normal(size=(50, 1)) + draw.normal(size=(50, 5))
    owners = np.repeat(np.arange(50), 5).tolist()
    found = two_level_bootstrap(values.ravel().tolist(), owners, seed=1, n_resamples=500)
    return found.interval, 0.0


def ranking(draw: Generator) -> tuple[Interval, float]:
    hardness = draw.normal(0, 0.1, 60)
    scores = {
        model: {
            str(at): (draw.random(8) < min(max(0.5 + gap + hardness[at], 0), 1)).tolist()
            for at in range(60)
        }
        for model, gap in (("old", 0.0), ("new", 0.1))
    }
    found = rank_models(scores, seed=1, n_resamples=500)
    first = found.models[0].model
    return found.lead.interval, 0.1 if first == "new" else -0.1


SIMULATIONS: Final[dict[str, Sample]] = {
    "`wilson_interval`, 50 trials": wilson,
    "`rate_difference`, 50 and 60 trials": newcombe,
    "`paired_rate_difference`, 60 subjects": tango,
    "`non_inferior_rate`, 50 and 60 trials": score,
    "`clustered_rate`, 30 clusters of 5": clustered,
    "`mean_interval`, 20 clusters of 5": clustered_mean,
    "`paired_difference`, 12 pairs": student,
    "`mean_pass_hat_k`, k = 3, 50 tasks of 4": pass_hat,
    "`mean_pass_at_k`, k = 2, 50 tasks of 5": pass_at,
    "`self_agreement`, 50 tasks of 4": agreement_with_itself,
    "`cohen_kappa`, 100 items": kappa,
    "`cohen_kappa`, linear, 100 items": weighted_kappa,
    "`clustered_coefficient`, kappa, 30 clusters of 4": clustered_kappa,
    "`estimate_difference`, kappas of 60 and 100 items": drift,
    "`self_preference`, 40 instances, 4 models": preference,
    "`krippendorff_alpha`, 80 units, 3 raters": alpha,
    "`spearman`, 40 items": spearmans,
    "`kendall`, 40 items": kendalls,
    "`corrected_rate`, 300 judged, 160 calibrated": rogan_gladen,
    "`bootstrap_interval`, bca, 150 skewed values": bca,
    "`bootstrap_interval`, percentile, 100 values": percentile,
    "`bootstrap_interval`, bca, 80 clusters of 3": cluster_bootstrap,
    "`two_level_bootstrap`, 50 clusters of 5": two_levels,
    "`rank_models`, lead, 60 benchmarks": ranking,
}


def rare_passes(prevalence: float, kappa: float) -> np.ndarray[Any, Any]:
    both = prevalence**2 + kappa * prevalence * (1 - prevalence)
    one = prevalence - both
    return np.array([[1 - both - 2 * one, one], [one, both]])


def skewed_scores() -> np.ndarray[Any, Any]:
    # Scores of 0 to 5 of which most are 4 and 5.
    habits = np.array([0.015, 0.02, 0.03, 0.05, 0.3, 0.585])
    distance = abs(np.subtract.outer(np.arange(6), np.arange(6)))
    shares = np.outer(habits, habits) * np.exp(-0.9 * distance)
    found: np.ndarray[Any, Any] = shares / shares.sum()
    return found


def even_scores() -> np.ndarray[Any, Any]:
    # Scores of 0 to 5, each as frequent as the others, mostly alike.
    distance = abs(np.subtract.outer(np.arange(6), np.arange(6)))
    shares = np.exp(-0.7 * distance)
    found: np.ndarray[Any, Any] = shares / shares.sum()
    return found


def rated(
    shares: np.ndarray[Any, Any], n: int, of: Callable[[list[int], list[int]], Any]
) -> Sample:
    # The truth is the same coefficient of some 4,000 items in exactly these shares.
    size = len(shares)
    exact = np.repeat(np.arange(size**2), np.rint(shares.ravel() * 4_000).astype(int))
    truth = of(*(half.tolist() for half in np.divmod(exact, size))).value
    rounded = np.bincount(exact, minlength=size**2) / len(exact)

    def sample(draw: Generator) -> tuple[Interval, float]:
        items = np.repeat(np.arange(size**2), draw.multinomial(n, rounded))
        first, second = (half.tolist() for half in np.divmod(items, size))
        return of(first, second).interval, truth

    return sample


def quadratic(first: list[int], second: list[int]) -> Estimate:
    return cohen_kappa(first, second, weights="quadratic", labels=range(6))


def interval_alpha(first: list[int], second: list[int]) -> Estimate:
    return krippendorff_alpha(list(zip(first, second, strict=True)), scale="interval")


def uneven_mean(draw: Generator) -> tuple[Interval, float]:
    sizes = draw.choice([1, 2, 3, 10], 10)
    owners = np.repeat(np.arange(10), sizes)
    values = draw.normal(size=10)[owners] + draw.normal(size=len(owners))
    return mean_interval(values.tolist(), owners.tolist()).interval, 0.0


def skewed_pairs(draw: Generator) -> tuple[Interval, float]:
    old = draw.normal(size=12)
    new = old + draw.exponential(size=12)
    return paired_difference(old.tolist(), new.tolist()).interval, 1.0


HARDER: Final[dict[str, Callable[[], Sample]]] = {
    "`cohen_kappa`, 50 items, 5 % pass, kappa 0": lambda: rated(
        rare_passes(0.05, 0), 50, cohen_kappa
    ),
    "`cohen_kappa`, 50 items, 15 % pass, kappa 0": lambda: rated(
        rare_passes(0.15, 0), 50, cohen_kappa
    ),
    "`cohen_kappa`, 50 items, 5 % pass, kappa 0.4": lambda: rated(
        rare_passes(0.05, 0.4), 50, cohen_kappa
    ),
    "`cohen_kappa`, 100 items, 5 % pass, kappa 0.8": lambda: rated(
        rare_passes(0.05, 0.8), 100, cohen_kappa
    ),
    "`cohen_kappa`, quadratic, 30 items, skewed scores": lambda: rated(
        skewed_scores(), 30, quadratic
    ),
    "`kendall`, 50 items, 20 % pass": lambda: rated(rare_passes(0.2, 0.4), 50, kendall),
    "`spearman`, 50 items, 20 % pass": lambda: rated(rare_passes(0.2, 0.4), 50, spearman),
    "`kendall`, 50 items, 5 % pass": lambda: rated(rare_passes(0.05, 0.4), 50, kendall),
    "`kendall`, 40 items, skewed scores": lambda: rated(skewed_scores(), 40, kendall),
    "`spearman`, 40 items, skewed scores": lambda: rated(skewed_scores(), 40, spearman),
    "`mean_interval`, 10 clusters of 1 to 10": lambda: uneven_mean,
    "`krippendorff_alpha`, interval, 30 units, skewed scores": lambda: rated(
        skewed_scores(), 30, interval_alpha
    ),
    "`krippendorff_alpha`, interval, 100 units, skewed scores": lambda: rated(
        skewed_scores(), 100, interval_alpha
    ),
    "`krippendorff_alpha`, interval, 30 units, even scores": lambda: rated(
        even_scores(), 30, interval_alpha
    ),
    "`paired_difference`, 12 pairs, exponential": lambda: skewed_pairs,
}
TOO_NARROW: Final = {
    "`cohen_kappa`, 100 items, 5 % pass, kappa 0.8",
    "`paired_difference`, 12 pairs, exponential",
}
"""What the page owns up to."""


def coverage_of(sample: Sample) -> tuple[float, int]:
    """Return how often the interval holds the truth, and of how many samples there is one."""
    draw, found = np.random.default_rng(2026), []
    for _ in range(N_SAMPLES):
        try:
            interval, truth = sample(draw)
        except NotEnoughData:
            continue
        found.append(interval.contains(truth))
    return sum(found) / len(found), len(found)


@pytest.mark.parametrize("name", HARDER)
def test_rare_skewed_and_uneven_samples_have_the_coverage_the_page_shows(
    name: str, add_row: AddRow
) -> None:
    coverage, n_found = coverage_of(HARDER[name]())
    add_row("coverage of 95 % intervals, harder", interval=name, holds=f"{100 * coverage:.1f} %")
    assert n_found >= 0.85 * N_SAMPLES
    assert (coverage < 0.95 - TOLERANCE) == (name in TOO_NARROW)
    shown = dict(table(section(page("statistics.md"), "Rare, skewed and uneven samples")))
    assert float(shown[name].removesuffix(" %")) == pytest.approx(100 * coverage, abs=0.25)


def test_the_page_lists_every_harder_simulation() -> None:
    shown = table(section(page("statistics.md"), "Rare, skewed and uneven samples"))
    assert [name for name, _ in shown] == list(HARDER)


@pytest.mark.parametrize("name", SIMULATIONS)
def test_a_95_percent_interval_holds_the_truth_95_times_in_100(name: str, add_row: AddRow) -> None:
    coverage, n_found = coverage_of(SIMULATIONS[name])
    add_row("coverage of 95 % intervals", interval=name, holds=f"{100 * coverage:.1f} %")
    assert n_found >= 0.99 * N_SAMPLES
    assert 0.95 - TOLERANCE <= coverage <= 0.95 + MOST_ABOVE
    shown = dict(table(section(page("statistics.md"), "How well the intervals hold")))
    assert float(shown[name].removesuffix(" %")) == pytest.approx(100 * coverage, abs=0.25)


def test_the_page_lists_every_simulation() -> None:
    shown = table(section(page("statistics.md"), "How well the intervals hold"))
    assert [name for name, _ in shown] == list(SIMULATIONS)

"""Rates and their differences: against statsmodels and scipy, and at their bounds."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import brentq, minimize_scalar
from scipy.special import xlogy
from statsmodels.stats.proportion import (
    confint_proportions_2indep,
    proportion_confint,
    proportions_ztest,
)

from tracedance_sdk.statistics import (
    Interval,
    mcnemar,
    non_inferior_paired_rate,
    non_inferior_rate,
    paired_rate_difference,
    rate_difference,
    wilson_interval,
)
from tracedance_sdk.statistics.quantiles import student_quantile, two_sided_student

COUNTS = st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
LEVELS = st.sampled_from([0.5, 0.9, 0.95, 0.99])
OUTCOMES = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60)


@given(COUNTS, LEVELS)
def test_wilson_is_that_of_statsmodels(counts: tuple[int, int], level: float) -> None:
    low, high = proportion_confint(*counts, alpha=1 - level, method="wilson")
    assert wilson_interval(*counts, level=level)[:2] == pytest.approx((low, high), abs=1e-12)


@given(COUNTS, LEVELS)
def test_wilson_mirrors_passes_and_fails_and_holds_the_rate(
    counts: tuple[int, int], level: float
) -> None:
    successes, n = counts
    found = wilson_interval(successes, n, level=level)
    mirrored = wilson_interval(n - successes, n, level=level)
    assert 0 <= found.low <= successes / n <= found.high <= 1
    assert found.low < found.high
    assert (found.low, found.high) == pytest.approx((1 - mirrored.high, 1 - mirrored.low))


@given(st.integers(1, 3000), st.floats(0.01, 0.9999))
def test_students_quantile_is_that_of_scipy(df: int, level: float) -> None:
    assert student_quantile(level, df) == pytest.approx(
        stats.t.ppf((1 + level) / 2, df), rel=1e-7, abs=1e-9
    )


@given(st.integers(1, 3000), st.floats(-60, 60))
def test_students_tails_are_those_of_scipy(df: int, t: float) -> None:
    assert two_sided_student(t, df) == pytest.approx(2 * stats.t.sf(abs(t), df), abs=1e-8)


@given(COUNTS, COUNTS)
def test_newcombes_interval_and_the_z_test_are_those_of_statsmodels(
    old: tuple[int, int], new: tuple[int, int]
) -> None:
    found = rate_difference(old, new)
    ends = confint_proportions_2indep(*new, *old, method="newcomb", compare="diff")
    assert found.interval[:2] == pytest.approx(ends, abs=1e-12)
    if 0 < old[0] + new[0] < old[1] + new[1]:
        _, p_value = proportions_ztest([new[0], old[0]], [new[1], old[1]])
        assert found.p_value == pytest.approx(p_value, abs=1e-12)
    else:
        assert found.p_value == 1


def likeliest_difference_score(old: tuple[int, int], new: tuple[int, int], d: float) -> float:
    """Return the score statistic with the rates found by maximising the likelihood directly.

    statsmodels 0.15 is no oracle here: its cubic has the successes where Miettinen and Nurminen
    have the number of trials.
    """
    (x1, n1), (x2, n2) = old, new

    def unlikelihood(p1: float) -> float:
        p2 = p1 + d
        found = xlogy(x1, p1) + xlogy(n1 - x1, 1 - p1) + xlogy(x2, p2) + xlogy(n2 - x2, 1 - p2)
        return -float(found)

    bounds = (max(0.0, -d), min(1.0, 1 - d))
    p1 = minimize_scalar(unlikelihood, bounds=bounds, method="bounded", options={"xatol": 1e-12}).x
    variance = p1 * (1 - p1) / n1 + (p1 + d) * (1 - p1 - d) / n2
    variance *= (n1 + n2) / (n1 + n2 - 1)
    return float((x2 / n2 - x1 / n1 - d) / math.sqrt(variance))


@pytest.mark.parametrize("margin", [0.02, 0.1, 0.3])
@pytest.mark.parametrize(
    ("old", "new"),
    [((45, 50), (47, 50)), ((5, 10), (3, 12)), ((90, 100), (89, 100)), ((10, 10), (28, 40))],
)
def test_non_inferiority_is_the_score_test_at_the_margin(
    old: tuple[int, int], new: tuple[int, int], margin: float
) -> None:
    found = non_inferior_rate(old, new, margin=margin, alpha=0.025)
    expected = stats.norm.sf(likeliest_difference_score(old, new, -margin))
    assert found.p_value == pytest.approx(expected, abs=1e-6)
    low, high, level = found.interval
    assert level == 0.95
    assert likeliest_difference_score(old, new, low) == pytest.approx(1.96, abs=1e-4)
    assert likeliest_difference_score(old, new, high) == pytest.approx(-1.96, abs=1e-4)


@given(COUNTS, COUNTS, st.floats(0.01, 0.5))
def test_non_inferiority_holds_exactly_when_the_interval_says_so(
    old: tuple[int, int], new: tuple[int, int], margin: float
) -> None:
    found = non_inferior_rate(old, new, margin=margin)
    assert -1 <= found.interval.low <= found.value <= found.interval.high <= 1
    assert 0 <= found.p_value <= 1
    if abs(found.interval.low + margin) > 1e-9:
        assert found.holds is (found.interval.low > -margin)


def likeliest_score(better: int, worse: int, n: int, d: float) -> float:
    """Return Tango's T with the nuisance share found by maximising the likelihood directly."""

    def slope(share: float) -> float:
        rest = 1 - 2 * share - d
        return better / (share + d) + worse / share - 2 * (n - better - worse) / rest

    low, high = max(0.0, -d) + 1e-12, (1 - d) / 2 - 1e-12
    share = brentq(slope, low, high, xtol=1e-15)
    return float((better - worse - n * d) / math.sqrt(n * (2 * share + d * (1 - d))))


@pytest.mark.parametrize(("better", "worse", "n"), [(7, 3, 40), (1, 12, 50), (20, 19, 60)])
def test_tangos_ends_are_where_the_score_test_begins_to_refuse(
    better: int, worse: int, n: int
) -> None:
    same = n - better - worse
    old = [False] * better + [True] * worse + [True] * same
    new = [True] * better + [False] * worse + [True] * same
    low, high, _ = paired_rate_difference(old, new).interval
    assert likeliest_score(better, worse, n, low) == pytest.approx(1.959964, abs=1e-5)
    assert likeliest_score(better, worse, n, high) == pytest.approx(-1.959964, abs=1e-5)


@given(OUTCOMES)
def test_a_paired_change_turns_round_with_its_arguments(pairs: list[tuple[bool, bool]]) -> None:
    old, new = [a for a, _ in pairs], [b for _, b in pairs]
    there, back = paired_rate_difference(old, new), paired_rate_difference(new, old)
    assert there.value == -back.value
    assert there.p_value == back.p_value
    assert there.interval[:2] == pytest.approx((-back.interval.high, -back.interval.low), abs=1e-9)
    assert -1 <= there.interval.low <= there.value <= there.interval.high <= 1
    assert there.interval.low < there.interval.high


@given(OUTCOMES)
def test_mcnemar_is_the_exact_test_of_statsmodels(pairs: list[tuple[bool, bool]]) -> None:
    from statsmodels.stats.contingency_tables import mcnemar as oracle

    old, new = [a for a, _ in pairs], [b for _, b in pairs]
    table = [[pairs.count((a, b)) for b in (True, False)] for a in (True, False)]
    found = mcnemar(old, new)
    expected = oracle(table, exact=True) if found.n else None
    assert found.p_value == pytest.approx(1.0 if expected is None else expected.pvalue)


@given(OUTCOMES, st.floats(0.02, 0.4))
def test_a_wider_margin_is_easier_to_keep(pairs: list[tuple[bool, bool]], margin: float) -> None:
    old, new = [a for a, _ in pairs], [b for _, b in pairs]
    narrow = non_inferior_paired_rate(old, new, margin=margin)
    wide = non_inferior_paired_rate(old, new, margin=min(0.99, 1.5 * margin))
    assert narrow.interval == wide.interval
    assert wide.p_value <= narrow.p_value + 1e-12
    assert wide.holds or not narrow.holds


@pytest.mark.parametrize(
    ("old", "new"),
    [((0, 10), (0, 10)), ((10, 10), (10, 10)), ((0, 10), (10, 10)), ((1, 1), (0, 1))],
)
def test_rates_at_their_bounds_give_numbers(old: tuple[int, int], new: tuple[int, int]) -> None:
    found = non_inferior_rate(old, new, margin=0.1)
    change = rate_difference(old, new)
    for number in (*found.interval, found.p_value, *change.interval, change.p_value):
        assert math.isfinite(number)
    assert found.interval.low < found.interval.high


def test_an_interval_is_frozen_and_says_what_it_holds() -> None:
    interval = Interval(0.25, 0.75)
    assert (interval.half_width, interval.level) == (0.25, 0.95)
    assert interval.contains(0.25)
    assert not interval.contains(0.76)
    assert interval.within(0.3, 0.6) == (0.3, 0.6, 0.95)
    with pytest.raises(AttributeError):
        interval.low = 0.0  # type: ignore[misc]  # that this is refused is the test

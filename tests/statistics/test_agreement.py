"""Agreement of raters: against scikit-learn, statsmodels, krippendorff, and published data."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tracedance_sdk.errors import NotEnoughData
from tracedance_sdk.statistics import (
    Confusion,
    Scale,
    Weights,
    cohen_kappa,
    confusion,
    confusion_matrix,
    jaccard,
    kendall,
    krippendorff_alpha,
    leniency,
    percent_agreement,
    span_agreement,
    span_overlap,
    spearman,
)

FIRST = [int(digit) for digit in "4011145300123210440022532233144541133451"]
SECOND = [int(digit) for digit in "5003344302232202430132523345335531143550"]
"""Forty items rated 0 to 5 by two raters; made up."""

RATERS: list[list[int | None]] = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]
UNITS = [list(unit) for unit in zip(*RATERS, strict=True)]
"""Krippendorff (2011), section C: four raters, twelve units, missing ratings."""

PAIRS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=40)
TABLES = st.builds(Confusion, *[st.integers(0, 40)] * 4)


@given(TABLES)
def test_an_interval_of_kappa_has_width_and_nothing_is_a_zero_below_zero(table: Confusion) -> None:
    try:
        value, (low, high, _), _ = table.kappa()
    except NotEnoughData:
        return
    assert -1 <= low <= value <= high <= 1
    assert high - low > 1e-3
    assert not any(f"{number:.9f}" == "-0.000000000" for number in (value, low, high))


@pytest.mark.parametrize("scale", ["nominal", "ordinal", "interval"])
@given(pairs=PAIRS)
def test_an_interval_of_alpha_has_width(scale: Scale, pairs: list[tuple[int, int]]) -> None:
    try:
        value, (low, high, _), _ = krippendorff_alpha(pairs, scale=scale)
    except NotEnoughData:
        return
    assert -1 <= low <= value <= high <= 1
    assert high - low > 1e-3


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        pytest.param(None, 0.22561429635145203, id="plain"),
        pytest.param("linear", 0.5678595543551654, id="linear"),
        pytest.param("quadratic", 0.7908745247148289, id="quadratic"),
    ],
)
def test_kappa_is_that_of_scikit_learn(weights: Weights | None, expected: float) -> None:
    # cohen_kappa_score(FIRST, SECOND, weights=weights), scikit-learn 1.9.1
    assert cohen_kappa(FIRST, SECOND, weights=weights).value == pytest.approx(expected)


@pytest.mark.parametrize(
    ("scale", "expected"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_alpha_of_krippendorffs_own_data_is_the_published_one(
    scale: Scale, expected: float
) -> None:
    found = krippendorff_alpha(UNITS, scale=scale)
    assert round(found.value, 3) == expected
    assert found.n == 11
    assert found.interval.low < found.value < found.interval.high


@pytest.mark.parametrize(
    ("scale", "expected"),
    [
        ("nominal", 0.22373393801965225),
        ("ordinal", 0.7958218908782967),
        ("interval", 0.7910555421976437),
    ],
)
def test_alpha_of_two_raters_is_that_of_the_krippendorff_package(
    scale: Scale, expected: float
) -> None:
    # krippendorff.alpha([FIRST, SECOND], level_of_measurement=scale), krippendorff 0.9.0
    units = list(zip(FIRST, SECOND, strict=True))
    assert krippendorff_alpha(units, scale=scale).value == pytest.approx(expected)


@given(PAIRS, st.sampled_from([None, "linear", "quadratic"]), st.randoms(use_true_random=False))
def test_kappa_is_bounded_and_knows_no_order_of_items_or_raters(
    pairs: list[tuple[int, int]], weights: Weights | None, shuffler: random.Random
) -> None:
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    try:
        found = cohen_kappa(a, b, weights=weights)
    except NotEnoughData:
        assert len({*a, *b}) == 1
        return
    assert -1 <= found.interval.low <= found.value + 1e-12
    assert found.value - 1e-12 <= found.interval.high <= 1
    turned = cohen_kappa(b, a, weights=weights)
    shuffler.shuffle(pairs)
    again = cohen_kappa([x for x, _ in pairs], [y for _, y in pairs], weights=weights)
    assert turned.value == pytest.approx(found.value)
    assert again.interval == pytest.approx(found.interval)


@given(
    PAIRS, st.randoms(use_true_random=False), st.sampled_from(["nominal", "ordinal", "interval"])
)
def test_alpha_is_bounded_and_knows_no_order_of_units_or_raters(
    pairs: list[tuple[int, int]], shuffler: random.Random, scale: Scale
) -> None:
    try:
        found = krippendorff_alpha(pairs, scale=scale)
    except NotEnoughData:
        patterns = [sorted(pair) for pair in pairs]
        most = max(map(patterns.count, patterns))
        assert most >= len(pairs) - 1
        return
    assert found.interval.low <= found.value <= found.interval.high <= 1
    assert all(map(math.isfinite, (found.value, *found.interval)))
    turned = [pair[::-1] if shuffler.random() < 0.5 else pair for pair in pairs]
    shuffler.shuffle(turned)
    again = krippendorff_alpha(turned, scale=scale)
    assert again.value == pytest.approx(found.value)
    assert again.interval == pytest.approx(found.interval)


def test_alpha_does_not_care_for_units_with_one_rating() -> None:
    assert krippendorff_alpha([*UNITS, [5, None], [None]]) == krippendorff_alpha(UNITS)


@pytest.mark.parametrize("n", [5, 20, 200])
def test_raters_who_always_agree_are_not_taken_for_certain(n: int) -> None:
    ratings = [index % 2 for index in range(n)]
    kappa = cohen_kappa(ratings, ratings)
    alpha = krippendorff_alpha([[one, one] for one in ratings])
    for found in (kappa, alpha):
        assert found.value == found.interval.high == 1
        assert 1 - 9 / n < found.interval.low < 1 - 3 / n


@given(TABLES)
def test_the_rates_of_a_confusion_are_those_of_its_items(table: Confusion) -> None:
    judge = [True] * (table.tp + table.fp) + [False] * (table.fn + table.tn)
    human = [True] * table.tp + [False] * table.fp + [True] * table.fn + [False] * table.tn
    assert confusion(judge, human) == table
    if table.n:
        assert table.agreement() == percent_agreement(judge, human)
    if table.tp:
        precision, recall = table.precision().value, table.recall().value
        assert table.f1() == pytest.approx(2 * precision * recall / (precision + recall))
    if table.tn + table.fp:
        mirrored = Confusion(table.tn, table.fn, table.fp, table.tp)
        assert table.specificity() == mirrored.recall()


def test_a_confusion_matrix_has_the_labels_in_order() -> None:
    found = confusion_matrix(FIRST, SECOND)
    assert found.labels == (0, 1, 2, 3, 4, 5)
    assert found.counts[2] == (0, 0, 2, 4, 0, 0)
    assert sum(map(sum, found.counts)) == 40
    mixed = confusion_matrix(["pass", None, 3], ["pass", None, None])
    assert mixed.labels == (None, 3, "pass")
    assert confusion_matrix(["a"], ["b"], labels=["b", "a", "c"]).counts[1] == (1, 0, 0)


def test_leniency_is_the_mean_the_judge_is_above() -> None:
    found = leniency([4, 5, 3, 4], [3, 3, 3, 4])
    assert (found.value, found.n) == (0.75, 4)
    assert found.interval.low < 0.75 < found.interval.high


SCORES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=5, max_size=40)


@given(SCORES)
def test_rank_correlations_are_those_of_scipy(pairs: list[tuple[int, int]]) -> None:
    a, b = [x for x, _ in pairs], [y for _, y in pairs]
    if min(a) == max(a) or min(b) == max(b):
        with pytest.raises(NotEnoughData):
            spearman(a, b)
        return
    rho, tau = spearman(a, b), kendall(a, b)
    assert rho.value == pytest.approx(stats.spearmanr(a, b).statistic)
    assert tau.value == pytest.approx(stats.kendalltau(a, b).statistic)
    for found in (rho, tau):
        assert -1 <= found.interval.low <= found.value <= found.interval.high <= 1
        assert found.interval.low < found.interval.high
        assert 0 <= found.p_value <= 1


def test_a_perfect_order_of_few_items_is_not_taken_for_certain() -> None:
    few, many = list(range(6)), list(range(60))
    assert spearman(few, few).interval.low < 0.9 < spearman(many, many).interval.low
    assert kendall(few, few).interval.low < 0.9 < kendall(many, many).interval.low
    assert spearman(few, few[::-1]).interval[:2] == pytest.approx(
        (-1, -spearman(few, few).interval.low)
    )


def test_spans_are_matched_one_to_one() -> None:
    mine, theirs = [(1, 4), (10, 12), (20, 29)], [(11, 12), (2, 4), (26, 35)]
    found = span_agreement(mine, theirs)
    assert found.pairs == ((0, 1), (1, 0))
    assert found.f1 == 2 * 2 / 6
    assert found.overlaps == (0.75, 2 / 3)
    assert found.histogram() == (0, 0, 0, 0, 0, 0, 1, 1, 0, 0)
    assert span_agreement(mine, theirs, threshold=0.2).pairs == ((0, 1), (1, 0), (2, 2))


SPANS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 6)).map(lambda s: (s[0], s[0] + s[1])), max_size=8
)


@given(SPANS, SPANS)
def test_the_overlap_of_spans_is_that_of_their_steps(
    first: list[tuple[int, int]], second: list[tuple[int, int]]
) -> None:
    for a in first:
        for b in second:
            steps = [set(range(start, end + 1)) for start, end in (a, b)]
            assert span_overlap(a, b) == jaccard(*steps) == span_overlap(b, a)
    if first or second:
        found = span_agreement(first, second)
        assert 0 <= found.f1 <= 1
        assert (
            len({i for i, _ in found.pairs}) == len({j for _, j in found.pairs}) == len(found.pairs)
        )
    if first:
        assert span_agreement(first, first).f1 == 1

"""Coefficients from counts are those of statistics, and leave out items one by one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracedance_sdk.errors import NotEnoughData
from tracedance_sdk.judging.coefficients import (
    RankTable,
    ScoreSums,
    alpha_value,
    kappa_value,
    whole_without,
)
from tracedance_sdk.statistics import (
    Confusion,
    Estimate,
    confusion,
    kendall,
    krippendorff_alpha,
    spearman,
)

PAIRS = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=4, max_size=40)


def same(quick: Callable[[], float], slow: Callable[[], Estimate]) -> None:
    """Both give the same value, or both none; alpha's interval may need more than its value."""
    try:
        value = quick()
    except NotEnoughData:
        with pytest.raises(NotEnoughData):
            slow()
        return
    try:
        found = slow()
    except NotEnoughData as error:
        assert "but for one unit" in str(error)  # noqa: PT017 - a case, not what is expected
        return
    assert value == pytest.approx(found.value)


@given(PAIRS)
def test_kappa_and_alpha_of_counts_are_those_of_statistics(pairs: list[tuple[bool, bool]]) -> None:
    table = confusion([a for a, _ in pairs], [b for _, b in pairs])
    same(lambda: kappa_value(table), table.kappa)
    same(lambda: alpha_value(table), lambda: krippendorff_alpha(pairs))


THIRDS = st.integers(0, 15).map(lambda n: round(n / 3, 2))


@given(st.lists(st.tuples(THIRDS, THIRDS), min_size=3, max_size=30))
def test_alpha_of_sums_is_that_of_statistics(pairs: list[tuple[float, float]]) -> None:
    same(ScoreSums.of(pairs).alpha, lambda: krippendorff_alpha(pairs, scale="interval"))


@given(st.lists(st.tuples(THIRDS, THIRDS), min_size=5, max_size=30), st.data())
def test_rank_correlations_of_a_table_are_those_of_statistics(
    pairs: list[tuple[float, float]], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(pairs) - 5))
    sides = [[pair[side] for pair in pairs[cut:]] for side in (0, 1)]
    table = RankTable(pairs).less(pairs[:cut])
    for quick, slow in ((table.spearman, spearman), (table.kendall, kendall)):
        if any(len(set(side)) == 1 for side in sides):
            with pytest.raises(NotEnoughData):
                quick()
        else:
            assert quick() == pytest.approx(slow(*sides).value, abs=1e-9)


@given(PAIRS, st.data())
def test_what_is_left_out_is_as_if_it_had_not_been_there(
    pairs: list[tuple[bool, bool]], data: st.DataObject
) -> None:
    cut = data.draw(st.integers(0, len(pairs)))
    whole = confusion([a for a, _ in pairs], [b for _, b in pairs])
    rest = pairs[cut:]
    assert whole_without(whole, pairs[:cut]) == confusion(
        [a for a, _ in rest], [b for _, b in rest]
    )
    numbers = [(float(a), float(b)) for a, b in pairs]
    assert ScoreSums.of(numbers).less(ScoreSums.of(numbers[:cut])) == ScoreSums.of(numbers[cut:])


def test_without_items_there_is_no_kappa() -> None:
    with pytest.raises(NotEnoughData):
        kappa_value(Confusion(0, 0, 0, 0))

"""Other passing rules: the published ones on planted score matrices."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracedance_sdk.judging import PASSING_RULES, ScoredItem, rule_outcomes


@pytest.mark.parametrize(
    ("scores", "passing"),
    [
        pytest.param((4, 4, 5), "mean >= 3|mean >= 3.5|mean >= 4|all >= 4|majority >= 4", id="445"),
        pytest.param((2, 2, 2), "", id="222"),
        pytest.param((3, 4, 4), "mean >= 3|mean >= 3.5|majority >= 4", id="344"),
        pytest.param((2, 5, 5), "mean >= 3|mean >= 3.5|mean >= 4|majority >= 4", id="255"),
        pytest.param((0, 4, 4), "majority >= 4", id="044"),
        pytest.param((5, 5, 4), "|".join(PASSING_RULES), id="554"),
        pytest.param((4, 3), "mean >= 3|mean >= 3.5", id="half is no majority"),
    ],
)
def test_each_rule_on_a_planted_item(scores: tuple[int, ...], passing: str) -> None:
    item = ScoredItem({f"j{n}": score for n, score in enumerate(scores)})
    found = {rule.rule: rule.pass_rate for rule in rule_outcomes([item])}
    assert [name for name in PASSING_RULES if found[name]] == [*filter(None, passing.split("|"))]
    assert {name: bool(rate) for name, rate in found.items() if name not in PASSING_RULES} == {
        f"j{n} >= 4": score >= 4 for n, score in enumerate(scores)
    }


THIRDS = st.integers(0, 15).map(lambda n: Fraction(n, 3))


@given(st.lists(THIRDS, min_size=1, max_size=5))
def test_a_mean_of_thirds_passes_as_the_fractions_do(scores: list[Fraction]) -> None:
    mean = sum(scores, Fraction(0)) / len(scores)
    for bound, name in ((3, "mean >= 3"), (Fraction(7, 2), "mean >= 3.5"), (4, "mean >= 4")):
        assert PASSING_RULES[name]([float(score) for score in scores]) is (mean >= bound)


def test_the_order_of_groups_and_the_gap_are_reported_for_each_rule() -> None:
    items = [
        *[ScoredItem({"a": 4, "b": 4}, owner="valid call")] * 3,
        ScoredItem({"a": 1, "b": 1}, owner="valid call"),
        *[ScoredItem({"a": 3, "b": 4}, owner="check first")] * 4,
    ]
    found = {rule.rule: rule for rule in rule_outcomes(items)}
    assert found["mean >= 4"].order == (("valid call", 0.75), ("check first", 0.0))
    assert found["mean >= 4"].gap == 0.75
    assert found["mean >= 3"].order == (("check first", 1.0), ("valid call", 0.75))
    assert found["b >= 4"].gap == 0.25
    assert rule_outcomes([ScoredItem({"a": 4})])[0].gap is None


def test_people_are_compared_where_they_said_something() -> None:
    # The mean says what people say; the first judge passes everything.
    kinds = [((5, 4), True), ((4, 1), False), ((5, 5), True), ((4, 0), False)]
    items = [ScoredItem({"a": a, "b": b}, human) for (a, b), human in kinds]
    items.append(ScoredItem({"a": 0, "b": 0}))
    found = {rule.rule: rule for rule in rule_outcomes(items)}
    assert found["mean >= 4"].measures["kappa"].value == 1
    assert found["mean >= 4"].measures["kappa"].n == 4
    assert found["mean >= 4"].pass_rate == 0.4
    assert found["a >= 4"].measures["kappa"].value == 0
    assert found["a >= 4"].measures["precision"].value == 0.5


def test_without_scores_there_are_no_rules() -> None:
    assert rule_outcomes([]) == ()

"""The arithmetic of panels: means, passing, and what missing judges leave open."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.grading import Verdict
from tracedance_sdk.judging import JudgeIdentity, JudgeScores, PanelScore, RubricScore, panel_score

PASS, FAIL, OPEN = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE


def panel(*judges: int | tuple[int | None, ...] | None, pass_from: float = 4) -> PanelScore:
    found = []
    for n, scores in enumerate(judges):
        given_scores = scores if isinstance(scores, tuple) else (scores,)
        repeats = tuple(
            RubricScore(score, missing_reason=None if score is not None else "empty", repeat=place)
            for place, score in enumerate(given_scores)
        )
        found.append(JudgeScores(JudgeIdentity(f"m{n}", "p", "r"), repeats))
    return panel_score(found, pass_from=pass_from)


@pytest.mark.parametrize(
    ("scores", "mean", "verdict"),
    [
        ((4, 4, 5), 13 / 3, PASS),  # worked case of the evaluation protocol
        ((2, 2, 2), 2.0, FAIL),  # the same
        ((3, 4, 4), 11 / 3, FAIL),
        ((4, 4, 4), 4.0, PASS),
        ((5,), 5.0, PASS),
        ((3,), 3.0, FAIL),
        ((0, 0), 0.0, FAIL),
        ((3, 5), 4.0, PASS),
        ((5, 5, 5, 5, 0), 4.0, PASS),
        ((5, 5, 5, 4, 0), 3.8, FAIL),
    ],
    ids=str,
)
def test_the_mean_decides(scores: tuple[int, ...], mean: float, verdict: Verdict) -> None:
    found = panel(*scores)
    assert found.mean == pytest.approx(mean)
    assert (found.verdict, found.raw_verdict) == (verdict, verdict)
    assert (found.missing_reason, found.n_missing, found.n_scores) == (None, 0, len(scores))


@pytest.mark.parametrize(
    ("scores", "verdict", "raw"),
    [
        ((5, 5, None), OPEN, PASS),
        ((4, 4, None), OPEN, PASS),
        ((3, 4, None), OPEN, FAIL),
        ((2, 4, None), FAIL, FAIL),
        ((2, 2, None), FAIL, FAIL),
        ((5, 5, 5, 5, None), PASS, PASS),
        ((5, None), OPEN, PASS),
        ((2, None), FAIL, FAIL),
        ((5, None, None), OPEN, PASS),
        ((1, None, None), FAIL, FAIL),
    ],
    ids=str,
)
def test_a_missing_judge_leaves_open_what_it_could_change(
    scores: tuple[int | None, ...], verdict: Verdict, raw: Verdict
) -> None:
    found = panel(*scores)
    present = [score for score in scores if score is not None]
    assert (found.verdict, found.raw_verdict) == (verdict, raw)
    assert found.mean == pytest.approx(sum(present) / len(present))
    assert found.n_missing == len(scores) - len(present)
    assert (found.missing_reason is None) is (verdict is not OPEN)


def test_what_is_open_is_said() -> None:
    assert panel(5, 5, None).missing_reason == (
        "1 of 3 judges is missing, whose scores could change the verdict"
    )
    assert panel(5, None, None).missing_reason == (
        "2 of 3 judges are missing, whose scores could change the verdict"
    )


def test_where_nobody_gave_a_score_there_is_none() -> None:
    found = panel(None, None)
    assert found[:3] == (None, None, None)
    assert found.missing_reason == "no score from all 2 judges: empty"
    assert panel(None).missing_reason == "no score from the judge: empty"


@pytest.mark.parametrize(
    ("judges", "mean", "spread"),
    [
        (((5, 3), (4, 4)), 4.0, 2),
        # Each judge counts once, however many of its repetitions are there.
        (((5, 5, 5), (2, None, None)), 3.5, 0),
        (((5, None), (3, None)), 4.0, None),
        (((0, 5, 2),), 7 / 3, 5),
        ((4, 4), 4.0, None),
    ],
    ids=str,
)
def test_repetitions_are_averaged_within_a_judge_first(
    judges: tuple[int | tuple[int | None, ...] | None, ...], mean: float, spread: int | None
) -> None:
    found = panel(*judges)
    assert found.mean == pytest.approx(mean)
    assert found.spread == spread


@pytest.mark.parametrize(
    ("scores", "pass_from"), [((4, 4, 4, 4, 5), 4.2), ((4, 4, 4, 4, 4, 4, 4, 4, 4, 5), 4.1)]
)
def test_a_mean_at_the_passing_score_passes_whatever_floats_make_of_it(
    scores: tuple[int, ...], pass_from: float
) -> None:
    assert Fraction(sum(scores), len(scores)) != Fraction(pass_from)
    assert panel(*scores, pass_from=pass_from).verdict is PASS


@pytest.mark.parametrize("pass_from", [-0.1, 5.1, float("nan")])
def test_a_passing_score_out_of_range_is_refused(pass_from: float) -> None:
    with pytest.raises(InvalidOption, match="the passing score is from 0 to 5"):
        panel(4, pass_from=pass_from)


def test_a_panel_without_judges_is_refused() -> None:
    with pytest.raises(InvalidOption, match="at least one judge"):
        panel()


scores_or_none = st.lists(st.one_of(st.none(), st.integers(0, 5)), min_size=1, max_size=4)


@given(scores=scores_or_none, pass_from=st.sampled_from([0, 2.5, 3, 3.67, 4, 4.5, 5]))
def test_a_verdict_stands_exactly_when_no_score_of_the_missing_could_change_it(
    scores: list[int | None], pass_from: float
) -> None:
    gaps = scores.count(None)
    outcomes = set()
    for filled in product(range(6), repeat=gaps):
        rest = iter(filled)
        whole = [next(rest) if score is None else score for score in scores]
        outcomes.add(panel(*whole, pass_from=pass_from).verdict)
    found = panel(*scores, pass_from=pass_from)
    if gaps == len(scores):
        assert found.verdict is None
    else:
        assert found.verdict is (outcomes.pop() if len(outcomes) == 1 else OPEN)


@given(scores=scores_or_none, order=st.randoms(use_true_random=False))
def test_the_order_of_judges_changes_nothing(scores: list[int | None], order: Random) -> None:
    shuffled = list(scores)
    order.shuffle(shuffled)
    assert panel(*scores) == panel(*shuffled)

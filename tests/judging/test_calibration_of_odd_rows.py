"""Rows that anybody may have written: what cannot be used is left out or one clear error."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.judged_sets import judged_set, label, rows_of
from tracedance_sdk.errors import InvalidOption, NotEnoughData, TraceDanceError
from tracedance_sdk.grading import ResultRow, ResultSet
from tracedance_sdk.judging import calibrate, judged_items, rated_items, rubrics_of

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["r", "s", ""]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=4,
)
EXTRAS = st.dictionaries(
    st.sampled_from(
        ("rubric", "rubric_score", "rubric_sha256", "pass_from", "judges", "judge", "missing")
    ),
    VALUES,
)
GRADERS = st.sampled_from(("judge:m", "judge:r:m", "judge:r:n", "rubric:r", "rubric:s", "spec:x"))


@st.composite
def odd_rows(draw: st.DrawFn) -> ResultRow:
    fields = {
        "subject": {"trace_id": draw(st.sampled_from("abc"))},
        "grader": draw(GRADERS),
        "score": draw(st.none() | st.floats(0, 1)),
        "verdict": draw(st.sampled_from((None, "pass", "fail", "inconclusive"))),
        "evidence": draw(st.lists(VALUES, max_size=2)),
    }
    return ResultRow.model_validate(fields | draw(EXTRAS))


@given(
    st.lists(odd_rows(), max_size=8), st.dictionaries(st.sampled_from(("judges", "mode")), VALUES)
)
def test_odd_rows_end_in_figures_or_one_clear_error(
    rows: list[ResultRow], manifest: dict[str, Any]
) -> None:
    results = ResultSet(manifest, tuple(rows))
    labels = [label(name, "ann", score) for name, score in zip("abc", (5, 1, 4), strict=True)]
    report, problem = None, ""
    try:
        judged = judged_items(results, rubric=next(iter(rubrics_of(results)), None))
        report = calibrate(rated_items(judged, labels))
    except TraceDanceError as error:
        problem = str(error)
    if report is None:
        assert problem
        assert "\n" not in problem
        return
    assert report.calibration.judges
    for found in report.agreement.measures.values():
        assert all(math.isfinite(x) for x in (found.value, found.low, found.high) if x is not None)


def test_a_passing_score_of_0_is_0() -> None:
    rows = [
        row.model_copy(update={"pass_from": 0, "verdict": "pass", "raw_verdict": "pass"})
        if row.grader.startswith("rubric:")
        else row
        for row in rows_of("t", {"a": [1]})
    ]
    assert judged_items(judged_set([rows])).pass_from == 0


def test_rows_that_do_not_say_who_judged_are_refused() -> None:
    fields = {"subject": {}, "grader": "rubric:r", "rubric": "r", "rubric_score": 3}
    row = ResultRow.model_validate(fields)
    with pytest.raises(NotEnoughData, match="does not say who judged"):
        judged_items(judged_set([[row]]))


def test_rows_that_stand_there_twice_count_once() -> None:
    once = [rows_of(name, {"a": [score]}) for name, score in (("t", 5), ("u", 1))]
    again = judged_items(judged_set([*once, once[0]]))
    assert again.ratings == judged_items(judged_set(once)).ratings
    assert again.missing == {"a row that stands there twice, counted once": 2}


def test_rows_that_contradict_each_other_are_refused() -> None:
    rows = [*rows_of("t", {"a": [5]}), *rows_of("t", {"a": [1]})]
    with pytest.raises(InvalidOption, match=r"lines 1 and 3 of rows.jsonl contradict each other"):
        judged_items(judged_set([rows]))
    repeats = rows_of("t", {"a": [5, 1]})
    assert judged_items(judged_set([repeats])).ratings


def test_judges_of_one_name_with_other_prompts_are_refused() -> None:
    rows = [
        ResultRow.model_validate(
            {
                "subject": {"trace_id": name},
                "grader": "judge:r:m",
                "rubric": "r",
                "score": 1,
                "judge": {"prompt_sha256": name * 64},
            }
        )
        for name in "ab"
    ]
    with pytest.raises(InvalidOption, match="2 judges under the name 'm': their prompt_sha256"):
        judged_items(judged_set([rows]))


@pytest.mark.parametrize("score", [9, math.nan, "4", True])
def test_scores_that_cannot_be_are_refused(score: Any) -> None:
    row = rows_of("t", {"a": [5]})[0].model_copy(update={"rubric_score": score})
    with pytest.raises(InvalidOption, match=r"line 1 of rows.jsonl: a number from 0 to 5 is"):
        judged_items(judged_set([[row]]))


@pytest.mark.parametrize(("kind", "told"), [("float", "nan"), ("int", "9" * 30)])
def test_a_number_that_json_cannot_hold_is_shown_as_one(kind: str, told: str) -> None:
    stub = {"$type": kind, "$repr": told}
    row = rows_of("t", {"a": [5]})[0].model_copy(update={"rubric_score": stub})
    with pytest.raises(InvalidOption, match=rf"from 0 to 5 is needed, got {told} @ "):
        judged_items(judged_set([[row]]))


def test_rows_with_several_passing_scores_need_a_choice() -> None:
    rows = [
        [
            row.model_copy(update={"pass_from": score}) if row.grader.startswith("rubric:") else row
            for row in rows_of(name, {"a": [4]})
        ]
        for name, score in (("t", 3.0), ("u", 4.0))
    ]
    with pytest.raises(InvalidOption, match=r"different scores: \[3.0, 4.0\]; give --pass-from"):
        judged_items(judged_set(rows))
    chosen = judged_items(judged_set(rows), pass_from=4.5)
    assert [rating.passed for rating in chosen.ratings.values()] == [False, False]

"""Rows that contradict themselves are told, with what cannot be true; sound ones pass."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.grading import ResultRow, Subject, sound_rows
from tracedance_sdk.grading.self_contradictions import self_contradiction
from tracedance_sdk.judging import (
    JudgedItem,
    JudgeIdentity,
    JudgeScores,
    PanelFinding,
    RubricScore,
    load_rubric,
    panel_score,
    rows_of_panel,
)
from tracedance_sdk.trace import Trace

PANEL: dict[str, Any] = {
    "grader": "rubric:tone",
    "score": 0.8,
    "rubric_score": 4.0,
    "pass_from": 4.0,
    "judges": {"a": 3.0, "b": 5.0},
    "verdict": "pass",
    "raw_verdict": "pass",
}


def row(**changed: Any) -> ResultRow:
    return ResultRow(**{"subject": Subject(trace_id="t"), **PANEL, **changed})


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (
            {"verdict": "fail"},
            "verdict is fail, raw_verdict pass, and no missing_reason tells why",
        ),
        (
            {"verdict": "fail", "raw_verdict": "fail"},
            "raw_verdict is fail, and rubric_score 4 reaches pass_from 4",
        ),
        (
            {"pass_from": 4.5},
            "raw_verdict is pass, and rubric_score 4 is below pass_from 4.5",
        ),
        (
            {"verdict": "fail", "raw_verdict": None},
            "verdict is fail, and rubric_score 4 reaches pass_from 4",
        ),
        ({"judges": {"a": 1.0, "b": 5.0}}, "rubric_score 4 is not the mean of its judges, 3"),
        ({"judges": {"a": None}}, "rubric_score is 4, and none of its judges gave a score"),
        ({"score": 0.4}, "score 0.4 is not a fifth of rubric_score 4"),
        (
            {"grader": "judge:tone:m#1", "verdict": None, "raw_verdict": None, "score": 1.0},
            "score 1 is not a fifth of rubric_score 4",
        ),
        ({"subject": Subject(turn=-1)}, "subject.turn is -1, and turns are counted from 0"),
        (
            {"grader": "spec:x", "subject": Subject(turn=-3)},
            "subject.turn is -3, and turns are counted from 0",
        ),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_figures_that_cannot_all_be_true_are_told(changed: dict[str, Any], told: str) -> None:
    assert self_contradiction(row(**changed)) == told
    with pytest.raises(InvalidOption) as error:
        sound_rows([row(subject=Subject(trace_id="u")), row(**changed)], where="the set")
    assert str(error.value) == f"the set: line 2 of rows.jsonl: {told}"


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"verdict": "inconclusive", "judges": {"a": 4.0, "b": None}},
        {"verdict": "fail", "missing_reason": "gate: score 0.80 is below 0.90"},
        {"pass_from": None, "raw_verdict": None, "verdict": "fail"},
        {"rubric_score": None, "judges": None, "score": None, "verdict": None},
        {"score": None},
        {"rubric_score": 4.33, "score": 0.866, "judges": {"a": 4.33}},
        {"verdict": "error", "raw_verdict": "error"},
        {"grader": "spec:x", "verdict": "fail", "score": 0.1},
    ],
    ids=str,
)
def test_sound_rows_pass(changed: dict[str, Any]) -> None:
    assert self_contradiction(row(**changed)) is None


@given(
    st.lists(
        st.lists(st.none() | st.integers(0, 5), min_size=3, max_size=3), min_size=1, max_size=5
    ),
    st.sampled_from([0, 1.7, 3.6, 4, 4.2, 13 / 3, 5]),
)
def test_no_panel_contradicts_itself(scores: list[list[int | None]], pass_from: float) -> None:
    judges = tuple(
        JudgeScores(
            JudgeIdentity(f"m{number}", "p", "r"),
            tuple(
                RubricScore(score, repeat=repeat, missing=None if score is not None else "empty")
                for repeat, score in enumerate(of)
            ),
        )
        for number, of in enumerate(scores)
    )
    rubric = load_rubric("honest-claims").model_copy(update={"pass_from": pass_from})
    item = JudgedItem(Subject(trace_id="t", turn=0), Trace(id="t"))
    finding = PanelFinding(item, rubric, judges, panel_score(judges, pass_from=pass_from))
    assert [self_contradiction(found) for found in rows_of_panel([finding])] == [None] * (
        3 * len(judges) + 1
    )

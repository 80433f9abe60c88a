"""Calls that came to no end, clocks that ran backwards, graders that say nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.grading.runs import CUT_OFF, FAILED, action, graded, run
from tracedance_sdk.grading import Grade, Verdict, evaluate
from tracedance_sdk.grading.callables import contrary_grades
from tracedance_sdk.trace import Trace, Turn, Usage, mask_text

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize("result", [CUT_OFF, None])
@pytest.mark.parametrize(
    ("criterion", "verdict"),
    [
        ({"type": "counts", "of": "pay", "min": 1}, Verdict.INCONCLUSIVE),
        ({"type": "counts", "of": "pay", "min": 2}, Verdict.FAIL),
        ({"type": "counts", "of": "pay", "max": 0}, Verdict.FAIL),
        ({"type": "order", "first": "pay", "then": "send"}, Verdict.INCONCLUSIVE),
        (
            {"type": "trajectory", "mode": "superset", "reference": ["pay"]},
            Verdict.INCONCLUSIVE,
        ),
        (
            {"type": "trajectory", "mode": "strict", "reference": ["pay", "send"]},
            Verdict.INCONCLUSIVE,
        ),
        (
            {"type": "trajectory", "mode": "subset", "reference": ["pay", "send"]},
            Verdict.PASS,
        ),
        ({"type": "required_actions", "actions": ["pay"]}, Verdict.INCONCLUSIVE),
    ],
    ids=str,
)
def test_a_call_without_an_end_is_not_enough(
    result: Any, criterion: dict[str, Any], verdict: Verdict
) -> None:
    trace = run(action("pay", result=result), "send")
    assert graded(trace, **criterion).verdict is verdict


def test_a_run_that_ends_before_it_starts_has_no_duration() -> None:
    trace = Trace(id="t", started_at=NOON, ended_at=NOON - timedelta(seconds=100))
    assert graded(trace, type="budget", max_duration_ms=10).verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize(
    "usage",
    [
        {"input_tokens": -5, "output_tokens": 1, "cost_usd": -1.0},
        {"input_tokens": 1, "output_tokens": -5, "cost_usd": -0.5},
    ],
)
def test_usage_below_zero_was_not_measured(usage: dict[str, Any]) -> None:
    turn = Turn(index=0, role="assistant", origin="agent", usage=Usage(**usage))
    trace = Trace(id="t", turns=(turn,))
    for limit in ("max_tokens", "max_cost_usd"):
        assert graded(trace, type="budget", **{limit: 10}).verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("result", [[], (), "", None, {}])
def test_a_grader_that_returns_nothing_is_in_error(result: Any) -> None:
    assert evaluate(Trace(id="t"), lambda trace: result).verdict is Verdict.ERROR


@pytest.mark.parametrize(
    ("verdicts", "contrary"),
    [
        ([Verdict.PASS], [Verdict.FAIL]),
        ([Verdict.FAIL], [Verdict.PASS]),
        ([Verdict.PASS, Verdict.CRITICAL], [Verdict.PASS, Verdict.PASS]),
        ([Verdict.PASS, Verdict.PASS], [Verdict.FAIL, Verdict.FAIL]),
        ([Verdict.INCONCLUSIVE], [Verdict.INCONCLUSIVE]),
        ([Verdict.ERROR], [Verdict.ERROR]),
    ],
)
def test_the_contrary_of_a_graders_answer(verdicts: list[Verdict], contrary: list[Verdict]) -> None:
    grades = [Grade(criterion=str(i), type="x", verdict=v) for i, v in enumerate(verdicts)]
    assert [grade.verdict for grade in contrary_grades(grades)] == contrary


@pytest.mark.parametrize(
    ("later", "verdict"),
    [
        ([action("undo")], Verdict.PASS),
        ([action("log", requested_by="tool", parent_call_id="1"), action("undo")], Verdict.PASS),
        ([action("undo", requested_by="tool", parent_call_id="1")], Verdict.CRITICAL),
        ([action("undo", result=FAILED)], Verdict.CRITICAL),
        ([action("undo", result=CUT_OFF)], Verdict.INCONCLUSIVE),
        ([action("log"), action("undo")], Verdict.CRITICAL),
    ],
)
def test_only_the_actions_after_a_violation_make_it_good(
    later: list[Any], verdict: Verdict
) -> None:
    rule = {"action": "rm", "unless_followed_by": {"action": "undo", "within": 1}}
    report = evaluate(run("rm", *later), {"id": "t", "critical_errors": [rule]})
    assert report.verdict is verdict


def test_a_masked_tool_may_be_the_one_with_the_rule() -> None:
    called = run(action(mask_text("token", "4be1a0c2"), {"a": 2}))
    for inputs, verdict in (({"a": 1}, Verdict.INCONCLUSIVE), ({"a": 2}, Verdict.PASS)):
        rule = {"action": "pay", "acceptable_inputs": [inputs]}
        assert evaluate(called, {"id": "t", "actions": [rule]}).verdict is verdict

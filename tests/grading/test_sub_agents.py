"""Runs whose sub-agents did the work, and runs of which nothing was recorded."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import tracedance_sdk as td
from tests.grading.runs import run
from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.grading import Verdict, evaluate, evaluate_async
from tracedance_sdk.trace import Outcome, Trace, Turn

FORBIDDEN = {"id": "t", "critical_errors": [{"action": "refund", "matches": {"order": "A2"}}]}
REQUIRED = {"id": "t", "criteria": [{"type": "required_actions", "actions": ["refund"]}]}
APART = "the work of a sub-agent is in traces of its own and was not graded with this one"


@pytest.fixture(params=["in memory", "with a journal"])
def recorder(request: pytest.FixtureRequest, tmp_path: Any) -> td.TraceRecorder:
    journal = None if request.param == "in memory" else tmp_path / "runs"
    with td.TraceRecorder(agent="triage", task_id="t", journal=journal) as recorder:
        recorder.record_turn("user", "Refund A1.")
        with (
            recorder.call("hand_over"),
            td.TraceRecorder(agent="billing") as inner,
            inner.call("refund", {"order": "A2"}) as call,
        ):
            call.result = "refunded"
    return recorder


def test_that_sub_agents_are_not_graded_is_said(recorder: td.TraceRecorder) -> None:
    report = evaluate(recorder.trace, FORBIDDEN)
    assert report.verdict is Verdict.PASS
    assert [note.partition(";")[0] for note in report.notes] == [APART]
    report = evaluate(recorder.trace, REQUIRED)
    assert [grade.reason for grade in report.grades] == [
        "refund did not happen here; what sub-agents did is in other traces"
    ]


def test_the_traces_of_a_run_are_graded_as_one(recorder: td.TraceRecorder) -> None:
    forbidden = evaluate(recorder.traces, FORBIDDEN)
    assert (forbidden.verdict, forbidden.notes) == (Verdict.CRITICAL, ())
    assert (forbidden.trace_id, forbidden.agent) == (recorder.trace.id, "triage")
    assert forbidden.grades[0].reason.startswith("action 2 (refund)")
    assert asyncio.run(evaluate_async(recorder.traces, REQUIRED)).verdict is Verdict.PASS


def test_several_runs_are_not_graded_as_one(recorder: td.TraceRecorder) -> None:
    with pytest.raises(InvalidOption, match="2 traces are not those of one run"):
        evaluate([recorder.trace, run("refund")], FORBIDDEN)


def test_a_run_without_sub_agents_says_nothing_of_them() -> None:
    with td.TraceRecorder() as alone, alone.call("look"):
        pass
    assert evaluate(alone.trace, FORBIDDEN).notes == ()
    assert evaluate(alone.traces, FORBIDDEN) == evaluate(alone.trace, FORBIDDEN)


def test_of_a_run_of_which_nothing_was_recorded_nothing_holds() -> None:
    with td.TraceRecorder() as recorder:
        pass
    report = evaluate(recorder.trace, FORBIDDEN)
    assert report.verdict is Verdict.INCONCLUSIVE
    assert {grade.criterion: grade.verdict for grade in report.grades} == {
        "critical_errors": Verdict.PASS,
        "fidelity": Verdict.INCONCLUSIVE,
    }
    assert report.grades[-1].reason == "nothing was recorded: no turn, no call and no state"


@pytest.mark.parametrize(
    ("trace", "n_notes"),
    [
        (Trace(id="t", final_state={}), 1),
        (Trace(id="t", initial_state={}), 1),
        (Trace(id="t", outcome=Outcome(success=True)), 1),
        (Trace(id="t", turns=(Turn(index=0, role="user", origin="human"),)), 0),
    ],
    ids=["state after", "state before", "the program's word", "a turn"],
)
def test_whatever_was_recorded_is_graded_and_that_no_call_was_seen_is_noted(
    trace: Trace, n_notes: int
) -> None:
    report = evaluate(trace, FORBIDDEN)
    assert report.verdict is Verdict.PASS
    assert [note.partition(",")[0] for note in report.notes] == [
        "no turn and no call was recorded"
    ] * n_notes

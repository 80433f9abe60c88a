"""The four fixtures of TraceEval's revenue-mail task give its published table.

Source: TraceEval README and fixtures; the text and the table stand in the project's notes on
recording and grading, section A.9.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.grading.runs import FAILED, action, run
from tracedance_sdk.grading import Report, Verdict, evaluate, exit_code, read_spec
from tracedance_sdk.trace import Call, Trace

TEXT = "Total revenue: $482500"
OPEN = action("open_spreadsheet", {"name": "Q3 Revenue"})
RANGE = action("select_range", {"range": "B4:B11"})
SUM = action("calculate_sum", {})
SAM = action("select_contact", {"name": "Sam"})
JOHN = action("select_contact", {"name": "John"})
SEND = action("send_email", {})


def compose(text: str) -> Call:
    return action("compose_email", {"body": text})


def state(**email: Any) -> dict[str, Any]:
    sheet = {"name": "Q3 Revenue", "revenueRange": "B4:B11", "revenueTotal": 482500}
    return {"spreadsheet": sheet, "email": {"sent": False, **email}}


def recorded(*actions: Call, recipient: str = "Sam", body: str = TEXT) -> Trace:
    final = state(recipient=recipient, body=body, sent=True)
    return run(*actions, initial=state(), final=final, task_id="revenue-email")


RUNS = {
    "critical-error": recorded(OPEN, RANGE, SUM, JOHN, SAM, compose(TEXT), SEND),
    "efficient": recorded(OPEN, RANGE, SUM, SAM, compose(TEXT), SEND),
    "failed": recorded(
        OPEN,
        action("select_range", {"range": "A1:A5"}),
        action("calculate_sum", {}, result=FAILED),
        JOHN,
        compose("Total revenue: $100"),
        SEND,
        recipient="John",
        body="Total revenue: $100",
    ),
    "inefficient": recorded(
        OPEN, action("select_range", {"range": "A1:Z100"}), RANGE, SUM, SAM, compose(TEXT), SEND
    ),
}

EXPECTED = {"email": {"recipient": "Sam", "body": TEXT, "sent": True}}
TRACEEVAL = {
    "task": {
        "id": "revenue-email",
        "description": "Find the Q3 total and mail it to Sam.",
        "initialState": state(),
        "expectedState": EXPECTED,
    },
    "requiredOutcomes": [
        {"id": "mail", "name": "Mail", "description": "sent", "expectedState": EXPECTED}
    ],
    "actionCriteria": [
        {
            "id": "inputs",
            "name": "Inputs",
            "description": "right inputs",
            "rules": [
                {"actionType": "open_spreadsheet", "acceptableInputs": [{"name": "Q3 Revenue"}]},
                {"actionType": "select_range", "acceptableInputs": [{"range": "B4:B11"}]},
                {"actionType": "calculate_sum"},
                {"actionType": "select_contact", "acceptableInputs": [{"name": "Sam"}]},
                {"actionType": "compose_email", "acceptableInputs": []},
                {"actionType": "send_email"},
            ],
        }
    ],
    "criticalErrorCriteria": [
        {
            "id": "john",
            "name": "John",
            "description": "never John",
            "actionType": "select_contact",
            "matches": {"name": "John"},
        }
    ],
}
SPEC = read_spec(TRACEEVAL)


def row(report: Report) -> tuple[bool, bool, bool, str, bool]:
    groups = (report.outcome, report.actions, report.critical_errors)
    marks = [group.verdict is Verdict.PASS for group in groups]
    return marks[0], marks[1], marks[2], report.verdict.value, report.passed


def numbers(report: Report, dimension: str) -> list[int | None]:
    return [
        item.action
        for grade in report.grades
        if grade.dimension == dimension
        for item in grade.evidence
    ]


@pytest.mark.parametrize(
    ("name", "expected", "action_numbers", "critical_numbers"),
    [
        ("critical-error", (True, False, False, "critical", False), [4], [4]),
        ("efficient", (True, True, True, "pass", True), [], []),
        ("failed", (False, False, False, "critical", False), [2, 4], [4]),
        ("inefficient", (True, False, True, "fail", False), [2], []),
    ],
)
def test_the_published_table(
    name: str,
    expected: tuple[Any, ...],
    action_numbers: list[int],
    critical_numbers: list[int],
) -> None:
    report = evaluate(RUNS[name], SPEC)
    assert row(report) == expected
    assert numbers(report, "actions") == action_numbers
    assert numbers(report, "critical_errors") == critical_numbers


def test_one_of_four_passes_and_the_exit_code_says_so() -> None:
    verdicts = [evaluate(trace, SPEC).verdict for trace in RUNS.values()]
    assert sum(verdict is Verdict.PASS for verdict in verdicts) == 1
    assert exit_code(verdicts) == 1
    assert evaluate(RUNS["efficient"], SPEC).trajectory_score is None


@pytest.mark.parametrize("position", range(7))
def test_a_critical_action_stays_on_record_wherever_it_is_and_whatever_follows(
    position: int,
) -> None:
    good = RUNS["efficient"].calls
    actions = [*good[:position], JOHN, *good[position:], SAM]
    plain = [call.model_copy(update={"id": ""}) for call in actions]
    report = evaluate(recorded(*plain), SPEC)
    assert report.verdict is Verdict.CRITICAL
    assert numbers(report, "critical_errors") == [position + 1]
    assert report.critical_errors.grades[0].evidence[0].call_id == str(position + 1)


def test_without_acceptable_inputs_for_the_contact_the_actions_pass_beside_a_critical_error() -> (
    None
):
    # TraceEval's sample report shows this; its table does not, and the table is golden.
    document = {**TRACEEVAL, "actionCriteria": []}
    report = evaluate(RUNS["critical-error"], read_spec(document))
    assert report.actions.verdict is Verdict.PASS
    assert report.actions.reason == "not specified"
    assert report.verdict is Verdict.CRITICAL

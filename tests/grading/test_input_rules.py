"""Acceptable inputs and critical errors."""

from __future__ import annotations

from typing import Any

import pytest
from inline_snapshot import snapshot

from tests.grading.runs import (
    CUT_OFF,
    FAILED,
    OK,
    UNCLEAR,
    action,
    graded,
    run,
    texts,
)
from tracedance_sdk.grading import Verdict
from tracedance_sdk.trace import UNKNOWN, mask_text

MASKED = mask_text("name", "00ff")


@pytest.mark.parametrize(
    ("rules", "call", "verdict"),
    [
        pytest.param([], action("a", {"x": 1}), "pass", id="no rule, no violation"),
        pytest.param([{"action": "b"}], action("a"), "pass", id="no rule for this tool"),
        pytest.param([{"action": "a"}], action("a", {"x": 1}), "pass", id="any input"),
        pytest.param(
            [{"action": "a", "acceptable_inputs": []}], action("a", {"x": 1}), "pass", id="empty"
        ),
        pytest.param(
            [{"action": "a", "acceptable_inputs": [{"x": 2}, {"x": 1}]}],
            action("a", {"x": 1, "y": 2}),
            "pass",
            id="one of several, further keys",
        ),
        pytest.param(
            [{"action": "a", "acceptable_inputs": [{"x": 2}]}],
            action("a", {"x": 1}, result=FAILED),
            "fail",
            id="a failed attempt counts",
        ),
        pytest.param(
            [{"action": "a"}, {"action": "a", "acceptable_inputs": [{"x": 2}]}],
            action("a", {"x": 1}),
            "pass",
            id="the first rule decides",
        ),
        pytest.param(
            [{"action": {"$glob": "a*"}, "acceptable_inputs": [{"x": {"$range": {"max": 1}}}]}],
            action("abc", {"x": 2}),
            "fail",
            id="conditions on name and input",
        ),
        pytest.param(
            [{"action": "a", "acceptable_inputs": [{"x": 2}]}],
            action("a", {"x": MASKED}),
            "inconclusive",
            id="masked",
        ),
        pytest.param(
            [{"action": "a", "acceptable_inputs": [{"x": 2}]}],
            action("a", UNKNOWN, unknown=True),
            "inconclusive",
            id="unknown",
        ),
        pytest.param(
            [{"action": "a", "acceptable_inputs": [{"x": 2}], "negate": True}],
            action("a", {"x": 2}),
            "fail",
            id="negated",
        ),
        pytest.param(
            [{"action": "a", "acceptable_inputs": [{"x": 2}], "severity": "critical"}],
            action("a", {"x": 1}),
            "critical",
            id="critical rule",
        ),
        pytest.param(
            [{"action": "a", "acceptable_inputs": [{"x": 2}], "severity": "minor"}],
            action("a", {"x": 1}),
            "pass",
            id="minor rule",
        ),
    ],
)
def test_acceptable_inputs(rules: list[Any], call: Any, verdict: str) -> None:
    assert graded(run(call), type="acceptable_inputs", rules=rules).verdict == verdict


def test_a_simulated_users_calls_and_nested_ones_are_no_actions() -> None:
    rules = [{"action": "a", "acceptable_inputs": [{"x": 1}]}]
    others = [
        action("a", {"x": 2}, requested_by="user"),
        action("a", {"x": 2}, requested_by="tool", parent_call_id="1"),
    ]
    assert graded(run(*others), type="acceptable_inputs", rules=rules).passed


@pytest.mark.parametrize(
    ("rule", "call", "verdict"),
    [
        pytest.param({"matches": {}}, action("pay", {"x": 1}), "critical", id="every call"),
        pytest.param({}, action("pay", UNKNOWN, unknown=True), "critical", id="whatever it is"),
        pytest.param({"matches": {"x": 1}}, action("pay", {"x": 1, "y": 1}), "critical", id="yes"),
        pytest.param({"matches": {"x": 1}}, action("pay", {"x": 2}), "pass", id="no"),
        pytest.param({"matches": {"x": {"y": 1}}}, action("pay", {"x": {"y": 1, "z": 1}}), "pass",
                     id="nested values are equal or not"),
        pytest.param({"matches": {"x": 1}}, action("pay", {"x": MASKED}), "inconclusive",
                     id="masked"),
        pytest.param({"matches": {"x": 1}}, action("pay", UNKNOWN, unknown=True), "inconclusive",
                     id="unknown"),
        pytest.param({"success": True}, action("pay", result=FAILED), "pass", id="success filter"),
        pytest.param({"success": False}, action("pay", result=FAILED), "critical", id="failures"),
        pytest.param({"success": True}, action("pay", result=UNCLEAR), "inconclusive",
                     id="success not recorded"),
        pytest.param({"success": True}, action("pay", result=CUT_OFF), "inconclusive",
                     id="interrupted"),
        pytest.param({}, action("pay", result=CUT_OFF), "critical", id="begun is done"),
        pytest.param({"matches": {"x": 1}, "negate": True}, action("pay", {"x": 2}), "critical",
                     id="anything but"),
        pytest.param({"matches": {"x": 1}, "negate": True}, action("pay", {"x": 1}), "pass",
                     id="anything but, kept"),
        pytest.param({"severity": "major"}, action("pay"), "fail", id="major"),
        pytest.param({"severity": "minor"}, action("pay"), "pass", id="minor"),
        pytest.param({}, action("pay", requested_by="user"), "pass", id="the user's own call"),
        pytest.param({}, action("pay", requested_by="tool", parent_call_id="0"), "critical",
                     id="a call inside a call"),
    ],
)  # fmt: skip
def test_critical_errors(rule: dict[str, Any], call: Any, verdict: str) -> None:
    rules = [{"action": "pay", **rule}]
    assert graded(run(call), type="critical_errors", rules=rules).verdict == verdict


def test_one_call_may_break_several_rules_and_all_are_listed() -> None:
    rules = [
        {"action": "pay", "description": "no payments"},
        {"action": {"$glob": "p*"}, "matches": {"to": {"$regex": "^evil"}}},
    ]
    trace = run(action("pay", {"to": "evil corp"}), action("post", {"to": "evil"}))
    report = graded(trace, type="critical_errors", rules=rules)
    assert texts(report) == snapshot(
        [
            "action 1 (pay): no payments",
            "action 1 (pay): {'$glob': 'p*'} {'to': {'$regex': '^evil'}} must not happen",
            "action 2 (post): {'$glob': 'p*'} {'to': {'$regex': '^evil'}} must not happen",
        ]
    )
    assert [item.call_id for item in report.grades[0].evidence] == ["1", "1", "2"]


def test_conditions_on_the_state_at_the_time() -> None:
    rule = {"action": "send", "when": {"state": {"approved": {"$not": True}}}}
    approve = action(
        "approve", state_change=[{"op": "replace", "path": "/approved", "value": True}]
    )
    send = action("send", state_change=[])
    early = run(send, approve, initial={"approved": False})
    late = run(approve, send, initial={"approved": False})
    criterion: dict[str, Any] = {"type": "critical_errors", "rules": [rule]}
    assert graded(early, **criterion).verdict is Verdict.CRITICAL
    assert graded(late, **criterion).verdict is Verdict.PASS
    unrecorded = run(action("approve"), send, initial={"approved": False})
    assert graded(unrecorded, **criterion).verdict is Verdict.INCONCLUSIVE
    assert graded(run(send), **criterion).verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize(
    ("followers", "verdict", "severity"),
    [
        ((), "critical", "critical"),
        (("undo",), "pass", "minor"),
        (("other", "undo"), "pass", "minor"),
        (("other", "other", "undo"), "critical", "critical"),
    ],
)
def test_unless_followed_by_lessens_a_violation_and_keeps_it_on_record(
    followers: tuple[str, ...], verdict: str, severity: str
) -> None:
    rule = {"action": "delete", "unless_followed_by": {"action": "undo", "within": 2}}
    report = graded(run("delete", *followers), type="critical_errors", rules=[rule])
    assert report.verdict == verdict
    grade = report.grades[0]
    assert (grade.severity, grade.evidence[0].action) == (severity, 1)
    assert grade.verdict is not Verdict.PASS


def test_a_remedy_that_may_have_failed_leaves_the_matter_open() -> None:
    rule = {"action": "delete", "unless_followed_by": {"action": "undo", "success": True}}
    trace = run("delete", action("undo", result=UNCLEAR))
    report = graded(trace, type="critical_errors", rules=[rule])
    assert report.verdict is Verdict.INCONCLUSIVE
    mended = run("delete", action("undo", result=OK))
    assert graded(mended, type="critical_errors", rules=[rule]).passed

"""Replies, recorded outcomes, invariants, required fidelity, severity and negation."""

# ruff: noqa: E501 - messages are one line, however long

from __future__ import annotations

from typing import Any

import pytest
from inline_snapshot import snapshot

from tests.grading.runs import FAILED, action, graded, run, texts
from tracedance_sdk.grading import Verdict, evaluate
from tracedance_sdk.trace import (
    Call,
    Fidelity,
    Note,
    Outcome,
    Reasoning,
    Text,
    Trace,
    Turn,
    assess,
    mask_text,
)

PASS, FAIL, OPEN = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE
MASKED = mask_text("name", "00ff")


@pytest.mark.parametrize(
    ("replies", "criterion", "expected"),
    [
        (["It is 1,234."], {"contains": "1234"}, FAIL),
        (["It is 1,234."], {"contains": "1234", "normalize": ["remove_commas"]}, PASS),
        (["Total: FIVE"], {"contains": "five", "normalize": ["fold_case"]}, PASS),
        (["a  b\nc"], {"contains": "a b c", "normalize": ["collapse_space"]}, PASS),
        (["one", "two"], {"contains": ["one", "two"]}, PASS),
        (["one"], {"contains": ["one", "two"]}, FAIL),
        (["one", "two"], {"contains": "one", "replies": "last"}, FAIL),
        (["one", "one more"], {"contains": "one", "replies": "every"}, PASS),
        (["one", "two"], {"contains": "one", "replies": "every"}, FAIL),
        ([], {"contains": "one", "replies": "every"}, FAIL),
        (["order 77"], {"regex": "[0-9]{2}$"}, PASS),
        (["order"], {"regex": "[0-9]"}, FAIL),
        (["hi"], {"contains": "hi", "negate": True}, FAIL),
        (["ho"], {"contains": "hi", "negate": True}, PASS),
        ([f"hi {MASKED}"], {"contains": "hi"}, PASS),
        ([f"ho {MASKED}"], {"contains": "hi"}, OPEN),
        ([f"ho {MASKED}"], {"contains": "HI", "normalize": ["fold_case"]}, OPEN),
        ([f"ho {MASKED}"], {"contains": "name"}, OPEN),
        ([f"ho {MASKED}", "hi"], {"contains": "hi"}, PASS),
        ([f"ho {MASKED}"], {"regex": "hi"}, OPEN),
        ([f"ho {MASKED}"], {"contains": "hi", "negate": True}, OPEN),
    ],
)
def test_replies(replies: list[str], criterion: dict[str, Any], expected: Verdict) -> None:
    assert graded(run(replies=replies), type="reply", **criterion).verdict is expected


def test_neither_reasoning_nor_the_users_words_are_replies() -> None:
    turns = (
        Turn(index=0, role="user", origin="human", content=(Text(text="yes"),)),
        Turn(index=1, role="assistant", origin="agent", content=(Reasoning(text="yes"),)),
        Turn(index=2, role="system", origin="harness", content=(Text(text="yes"),)),
    )
    trace = Trace(id="t", turns=turns)
    assert graded(trace, type="reply", contains="yes").verdict is FAIL


def test_text_beside_calls_counts_unless_it_is_left_out() -> None:
    call = Call(index=0, id="1", name="pay")
    spoken = Turn(
        index=0, role="assistant", origin="agent", content=(Text(text="done"),), calls=(call,)
    )
    trace = Trace(id="t", turns=(spoken,))
    assert graded(trace, type="reply", contains="done").passed
    assert not graded(trace, type="reply", contains="done", beside_calls=False).passed


def test_words_that_were_not_recorded_may_have_been_said() -> None:
    lost = Fidelity(notes=(Note(kind="content_off"),))
    trace = run(replies=["ho"]).model_copy(update={"fidelity": lost})
    assert graded(trace, type="reply", contains="hi").verdict is OPEN
    assert graded(trace, type="reply", contains="ho").verdict is PASS


@pytest.mark.parametrize(
    ("outcome", "condition", "expected"),
    [
        (Outcome(ended=True), {"ended": True}, PASS),
        (Outcome(ended=False), {"ended": True}, FAIL),
        (Outcome(), {"ended": True}, OPEN),
        (None, {"ended": True}, OPEN),
        (Outcome(success=False), {"success": True}, FAIL),
        (Outcome(success=False), {"success": False}, PASS),
        (Outcome(reward=0.5), {"reward": {"$range": {"min": 0.5}}}, PASS),
        (Outcome(reward=1.0), {"reward": 1}, PASS),
        (Outcome(reward=0.0), {"reward": 1}, FAIL),
        (Outcome(ended=True), {"ended": True, "reward": 1}, OPEN),
        (Outcome(ended=False), {"ended": True, "reward": 1}, FAIL),
    ],
)
def test_recorded_outcomes(outcome: Any, condition: dict[str, Any], expected: Verdict) -> None:
    assert graded(run(outcome=outcome), type="outcome", **condition).verdict is expected


def setting(path: str, value: Any) -> Call:
    return action("set", {}, state_change=[{"op": "replace", "path": path, "value": value}])


def test_invariants_hold_at_every_step() -> None:
    invariant = {"type": "invariant", "state": {"stock": {"$range": {"min": 0}}}}
    dipping = run(setting("/stock", -1), setting("/stock", 2), initial={"stock": 1},
                  final={"stock": 2})  # fmt: skip
    report = graded(dipping, **invariant)
    assert report.verdict is FAIL
    assert texts(report) == snapshot(
        ["after action 1 (set): /stock is -1; expected {'$range': {'min': 0}}"]
    )
    assert report.grades[0].evidence[0].action == 1
    steady = run(setting("/stock", 2), initial={"stock": 1}, final={"stock": 2})
    assert graded(steady, **invariant).verdict is PASS


def test_invariants_over_states_that_were_not_recorded() -> None:
    invariant = {"type": "invariant", "state": {"stock": {"$range": {"min": 0}}}}
    blind = run("set", setting("/stock", 2), initial={"stock": 1}, final={"stock": 2})
    assert graded(blind, **invariant).verdict is OPEN
    worse = run("set", initial={"stock": 1}, final={"stock": -1})
    assert graded(worse, **invariant).verdict is FAIL
    unfit = run(setting("/nowhere/at/all", 1), initial={"stock": 1}, final={"stock": 1})
    assert graded(unfit, **invariant).verdict is OPEN
    start = run(initial={"stock": -1}, final={"stock": 0})
    assert graded(start, **invariant).verdict is FAIL
    assert graded(start, initially=False, **invariant).verdict is PASS


def test_a_trace_that_is_not_fit_for_what_is_required_is_inconclusive() -> None:
    trace = assess(run("a", replies=["x"]))
    assert evaluate(trace, {"id": "t", "requires": ["grading"]}).passed
    report = evaluate(trace, {"id": "t", "requires": ["state_grading", "grading"]})
    assert report.verdict is OPEN
    assert texts(report) == snapshot(
        [
            "the trace is not fit for state_grading (final_state_unknown x1, initial_state_unknown x1, tools_missing x1)"
        ]
    )
    unassessed = trace.model_copy(update={"fidelity": Fidelity()})
    assert evaluate(unassessed, {"id": "t", "requires": ["grading"]}).passed


@pytest.mark.parametrize(
    ("severity", "verdict", "decides"),
    [("critical", "critical", True), ("major", "fail", True), ("minor", "pass", False)],
)
def test_severity(severity: str, verdict: str, decides: bool) -> None:
    report = graded(run(), type="counts", of="a", min=1, severity=severity)
    assert report.verdict == verdict
    assert report.grades[0].decides is decides
    assert report.grades[0].verdict is not PASS


def test_a_minor_finding_never_hides_one_that_decides() -> None:
    rules = [
        {"action": "a", "severity": "minor"},
        {"action": "b", "matches": {"x": 1}, "severity": "critical"},
    ]
    trace = run("a", action("b", {"x": MASKED}))
    report = graded(trace, type="critical_errors", rules=rules)
    assert (report.verdict, report.grades[0].severity) == (OPEN, "critical")


@pytest.mark.parametrize(
    "criterion",
    [
        {"type": "counts", "of": "a", "max": 0},
        {"type": "order", "first": "b", "then": "a"},
        {"type": "required_actions", "actions": ["b"]},
        {"type": "forbidden_sequence", "sequence": ["a"]},
        {"type": "budget", "max_actions": 0},
        {"type": "trajectory", "mode": "subset", "reference": []},
        {"type": "critical_errors", "rules": [{"action": "a"}]},
        {"type": "acceptable_inputs", "rules": [{"action": "a", "acceptable_inputs": [{"x": 1}]}]},
        {"type": "final_state", "expected_state": {"x": 2}},
        {"type": "reply", "contains": "x"},
        {"type": "outcome", "ended": False},
        {"type": "idempotence"},
        {"type": "recovery"},
        {"type": "invariant", "state": {"x": 2}},
    ],
    ids=lambda item: item["type"],
)
def test_every_criterion_can_be_required_or_forbidden(criterion: dict[str, Any]) -> None:
    done = action("a", {}, state_change=[])
    trace = run(done, done, initial={"x": 1}, final={"x": 1}, outcome=Outcome(ended=True))
    if criterion["type"] == "recovery":
        trace = run(action("a", result=FAILED))
    assert graded(trace, **criterion).verdict in (FAIL, Verdict.CRITICAL)
    report = graded(trace, negate=True, **criterion)
    assert report.verdict is PASS
    assert report.grades[0].reason == "does not hold, as required"

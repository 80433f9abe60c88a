"""A name that nothing in the trace has, while something similar has it, is pointed out."""

from __future__ import annotations

from typing import Any

import pytest

import tracedance_sdk as td
from tests.grading.runs import action, run
from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.grading import Verdict, evaluate
from tracedance_sdk.trace import ToolDefinition, Trace

REFUND = ToolDefinition(
    name="refund", parameters={"type": "object", "properties": {"order": {}, "amount": {}}}
)
CLOSE = "no tool 'refnud' in the trace; did you mean 'refund'?"


def notes(trace: Trace, *criteria: Any, **fields: Any) -> tuple[str, ...]:
    return evaluate(trace, {"id": "t", "criteria": list(criteria), **fields}).notes


@pytest.mark.parametrize(
    "criterion",
    [
        {"type": "critical_errors", "action": "refnud", "matches": {"order": "8"}},
        {"type": "acceptable_inputs", "action": "refnud", "acceptable_inputs": [{"order": "7"}]},
        {"type": "order", "first": "look_up", "then": "refnud"},
        {"type": "required_actions", "actions": ["refnud"]},
        {"type": "forbidden_sequence", "sequence": ["refnud", "look_up"]},
        {"type": "counts", "of": "refnud", "max": 1},
        {"type": "idempotence", "only": ["refnud"]},
        {"type": "trajectory", "mode": "subset", "reference": ["look_up", "refund", "refnud"]},
        {
            "type": "critical_errors",
            "rules": [{"action": "pay", "unless_followed_by": {"action": "refnud"}}],
        },
    ],
)
def test_a_misspelt_tool_is_noted_once_whatever_names_it(criterion: dict[str, Any]) -> None:
    trace = run("look_up", action("refund", {"order": "8"}))
    assert notes(trace, criterion) == (f"{criterion['type']}: {CLOSE}",)
    trace = run("look_up", tools=(REFUND,))
    assert notes(trace, criterion) == (f"{criterion['type']}: {CLOSE}",)


def test_a_note_changes_no_verdict() -> None:
    report = evaluate(
        run(action("refund", {"order": "8"})),
        {"id": "t", "critical_errors": [{"id": "never", "action": "refnud"}]},
    )
    assert (report.verdict, report.notes) == (Verdict.PASS, (f"never: {CLOSE}",))
    assert report.to_dict()["notes"] == [f"never: {CLOSE}"]


@pytest.mark.parametrize("given", [(REFUND,), ()])
def test_a_misspelt_argument_is_noted(given: tuple[ToolDefinition, ...]) -> None:
    trace = run(action("refund", {"order": "8", "amount": 4}), tools=given)
    expected = "'refund' has no argument 'ordre' in the trace; did you mean 'order'?"
    never = {"type": "critical_errors", "action": "refund", "matches": {"ordre": "8"}}
    assert notes(trace, never) == (f"critical_errors: {expected}",)
    only = {"type": "acceptable_inputs", "action": "refund", "acceptable_inputs": [{"ordre": "8"}]}
    assert notes(trace, only) == (f"acceptable_inputs: {expected}",)


@pytest.mark.parametrize(
    "criterion",
    [
        {"type": "critical_errors", "action": "drop_table"},
        {"type": "critical_errors", "action": {"$glob": "refnud"}},
        {"type": "critical_errors", "action": "refund", "matches": {"why": 1, "order": 2}},
        {"type": "critical_errors", "action": "refund", "matches": {"$absent": True}},
        {"type": "order", "first": "get_order", "then": "get_orders"},
    ],
)
def test_what_may_well_be_meant_is_not_noted(criterion: dict[str, Any]) -> None:
    assert notes(run("get_order", action("refund", {"order": "8"})), criterion) == ()


def test_something_else_than_a_trace_is_refused_with_what_to_pass() -> None:
    with td.TraceRecorder() as recorder:
        pass
    for wrong, hint in (
        (recorder, "a TraceRecorder, not a trace; pass recorder.trace"),
        ("run.json", r"a str, not a trace; read the file first: td.load_trace\('run.json'\)"),
        ([], "no traces; give those of one run, such as recorder.traces"),
        ([recorder], "a TraceRecorder, not a trace; pass recorder.trace"),
        (None, "a NoneType, not a trace; give a Trace, such as recorder.trace"),
    ):
        with pytest.raises(InvalidOption, match=hint):
            evaluate(wrong, [])  # type: ignore[arg-type]

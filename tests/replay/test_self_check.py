"""The grader's self-check: a recording that was tampered with must not pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.replay.conversations import CANCEL, LOOK, Failed, recording
from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.replay import (
    FunctionGrader,
    Suite,
    effects_of_traces,
    rebuild,
    recorded_suite,
    recorded_traces,
    regrade,
    self_check,
)
from tracedance_sdk.trace import Trace


def cancels(trace: Trace) -> bool:
    """Whether the run cancels the order and pays back what is due."""
    return any((c.name, c.arguments) == (CANCEL[0], CANCEL[1]) for c in trace.actions)


def checked(grader: Any, traces: Sequence[Trace], **how: Any) -> Any:
    effects = effects_of_traces(traces)
    return self_check(
        recorded_traces(traces),
        FunctionGrader(grader, "grader"),
        effect_of=lambda name: effects.get(name, "unknown"),
        **how,
    )


def test_a_write_that_is_left_out_or_altered_is_caught() -> None:
    found = checked(cancels, [recording("a"), recording("b", success=False, steps=(LOOK,))])
    assert [(i.alteration.kind, i.outcome) for i in found.tampered] == [
        ("left out", "caught"),
        ("altered", "caught"),
    ]
    assert (found.n_passing, found.n_possible, found.disagreeing) == (1, 2, [])


@pytest.mark.parametrize(
    ("grader", "outcomes_of"),
    [
        (lambda trace: True, ["missed", "missed"]),
        (lambda trace: any(c.name == "cancel_order" for c in trace.actions), ["caught", "missed"]),
        (lambda trace: {2: "pass"}[len(trace.actions)], ["error", "missed"]),
    ],
    ids=["believes everything", "reads names only", "breaks"],
)
def test_what_a_grader_does_not_notice_is_listed(grader: Any, outcomes_of: list[str]) -> None:
    found = checked(grader, [recording("a")])
    assert [item.outcome for item in found.tampered] == outcomes_of


def test_only_writes_that_took_effect_in_recordings_that_pass_are_altered() -> None:
    failed = ("cancel_order", {"order": "W-1001"}, Failed("too late"))
    traces = [
        recording("reads", steps=(LOOK,)),
        recording("fails", steps=(failed,)),
        recording("unanswered", steps=((*CANCEL[:2], None),)),
        recording("not passed", success=False),
    ]
    found = checked(lambda trace: True, traces)
    assert (found.n_passing, found.n_without_writes, found.tampered) == (3, 3, ())
    assert [item.name for item in found.disagreeing] == ["not passed"]


def test_a_self_check_is_bounded_and_the_same_again() -> None:
    traces = [recording(f"t{n}") for n in range(20)]
    first, again = (checked(cancels, traces, most=7, seed=5) for _ in range(2))
    assert first.tampered == again.tampered
    assert (len(first.tampered), first.n_possible) == (7, 40)
    other = checked(cancels, traces, most=7, seed=6)
    assert [i.alteration for i in other.tampered] != [i.alteration for i in first.tampered]
    with pytest.raises(InvalidOption, match="most is 0"):
        checked(cancels, traces, most=0)


def test_an_altered_argument_is_one_that_the_tool_was_given_elsewhere_if_there_is_one() -> None:
    other = ("cancel_order", {"order": "W-2002", "refund": 20}, "cancelled")
    found = checked(lambda trace: True, [recording("a"), recording("b", steps=(other,))])
    for item in found.tampered:
        if item.alteration.kind == "altered":
            known = ("'W-2002'", "'W-1001'", "21")
            assert item.alteration.what.endswith(known)


def test_recordings_of_rebuilt_tests_are_run_by_the_recorded_agent() -> None:
    suite = Suite(rebuild([recording("a"), recording("b", success=False)]).tests)
    recorded = recorded_suite(suite)
    assert [(item.name, item.stored) for item in recorded] == [("a", True), ("b", False)]
    assert {answer.stamp for item in recorded for answer in item.run.answers} == {"same"}
    found = regrade(recorded, FunctionGrader(cancels, "grader"))
    assert [(item.verdict.value, item.agrees) for item in found] == [
        ("pass", True),
        ("pass", False),
    ]
    check = self_check(recorded, FunctionGrader(cancels, "grader"), effect_of=suite.effect_of)
    assert [item.outcome for item in check.tampered] == ["caught", "caught"]

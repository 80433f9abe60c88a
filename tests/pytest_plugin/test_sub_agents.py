"""Tests of runs whose sub-agents did the work."""

from __future__ import annotations

import pytest

SHOP = """
import tracedance_sdk as td
from tracedance_sdk.pytest_plugin import assert_passes

SPEC = {"id": "t", "critical_errors": [{"action": "refund", "matches": {"order": "A2"}}]}

@td.tool
def refund(order):
    return "refunded"

@td.agent(name="billing")
def bill(order):
    refund(order)
"""


def test_a_run_that_is_graded_without_its_sub_agents_is_told_of(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        SHOP
        + """
def test_apart(tracedance_recorder):
    with tracedance_recorder(agent="triage") as recorder:
        bill("A2")
        recorder.record_turn("user", "Thanks.")
    assert_passes(recorder.trace, SPEC)

def test_each_by_itself(tracedance_recorder):
    with tracedance_recorder(agent="triage") as recorder:
        bill("A1")
        recorder.record_turn("user", "Thanks.")
    for trace in recorder.traces:
        assert_passes(trace, SPEC)

def test_as_one(tracedance_recorder):
    with tracedance_recorder(agent="triage") as recorder:
        bill("A1")
    assert_passes(recorder.traces, SPEC)
"""
    )
    result = pytester.runpytest()
    result.assert_outcomes(passed=3)
    line = (
        "not graded: what sub-agents did in *::test_apart; assert_passes(recorder.traces, ...)"
        " grades them too"
    )
    result.stdout.fnmatch_lines(["4 graded: 4 pass", line])


def test_what_a_sub_agent_did_fails_the_test_that_grades_the_run_as_one(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        SHOP
        + """
def test_as_one(tracedance_recorder):
    with tracedance_recorder(agent="triage") as recorder:
        bill("A2")
    assert_passes(recorder.traces, SPEC)
"""
    )
    result = pytester.runpytest("--tracedance-out=out")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E * critical critical_errors: action 1 (refund): *"])
    result.stdout.fnmatch_lines(["2 traces kept in *"])
    assert "not graded" not in result.stdout.str()

"""Counts, budgets, recovery and repetition."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from inline_snapshot import snapshot

from tests.grading.runs import (
    CUT_OFF,
    FAILED,
    TIMED_OUT,
    UNCLEAR,
    action,
    graded,
    run,
    texts,
)
from tracedance_sdk.grading import Verdict
from tracedance_sdk.trace import UNKNOWN, Call, Trace, Turn, Usage, mask_text

PASS, FAIL, OPEN = Verdict.PASS, Verdict.FAIL, Verdict.INCONCLUSIVE
MASKED = mask_text("iban", "00ff")


def pay(amount: Any = 100, **fields: Any) -> Call:
    return action("pay", {"amount": amount, "to": "Ann"}, **fields)


@pytest.mark.parametrize(
    ("actions", "bounds", "expected"),
    [
        (["a"], {"min": 1, "max": 1}, PASS),
        ([], {"min": 1}, FAIL),
        (["a", "a"], {"max": 1}, FAIL),
        (["b"], {"max": 0}, PASS),
        ([action("a", UNKNOWN, unknown=True)], {"max": 0}, FAIL),
    ],
)
def test_counts(actions: list[Any], bounds: dict[str, int], expected: Verdict) -> None:
    assert graded(run(*actions), type="counts", of="a", **bounds).verdict is expected


def test_counts_that_cannot_be_told() -> None:
    of = {"action": "a", "success": True}
    trace = run("a", action("a", result=UNCLEAR))
    assert graded(trace, type="counts", of=of, max=1).verdict is OPEN
    assert graded(trace, type="counts", of=of, min=2).verdict is OPEN
    assert graded(trace, type="counts", of=of, min=1, max=2).verdict is PASS
    assert graded(trace, type="counts", of=of, min=3).verdict is FAIL
    assert texts(graded(trace, type="counts", of=of, max=1)) == snapshot(
        ["a that succeeds happened between 1 and 2 times; at most 1 allowed"]
    )


@pytest.mark.parametrize(
    ("first", "options", "expected"),
    [
        (TIMED_OUT, {}, FAIL),
        (TIMED_OUT, {"allow_retries": True}, PASS),
        (FAILED, {"allow_retries": True}, PASS),
        (TIMED_OUT, {"allow_retries": True, "transient_errors": ["Timeout*"]}, PASS),
        (FAILED, {"allow_retries": True, "transient_errors": ["Timeout*", "*busy*"]}, FAIL),
        (UNCLEAR, {"allow_retries": True}, OPEN),
    ],
)
def test_retries_after_transient_errors_may_be_allowed(
    first: Any, options: dict[str, Any], expected: Verdict
) -> None:
    trace = run(pay(result=first), "other", pay())
    assert graded(trace, type="counts", of="pay", max=1, **options).verdict is expected
    different = run(pay(result=first), pay(99))
    report = graded(different, type="counts", of="pay", max=1, **options)
    assert report.verdict is FAIL


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def spending(*usages: Usage | None, seconds: float | None = 2.0) -> Trace:
    turns = tuple(
        Turn(index=i, role="assistant", origin="agent", usage=usage)
        for i, usage in enumerate(usages)
    )
    ended = None if seconds is None else NOON + timedelta(seconds=seconds)
    return Trace(id="t", turns=turns, started_at=NOON, ended_at=ended)


@pytest.mark.parametrize(
    ("trace", "limit", "expected"),
    [
        (run("a", "b"), {"max_actions": 2}, PASS),
        (run("a", "b"), {"max_actions": 1}, FAIL),
        (run(action("a", result=FAILED)), {"max_failures": 0}, FAIL),
        (run(action("a", result=UNCLEAR)), {"max_failures": 0}, OPEN),
        (run(action("a", result=CUT_OFF), action("b", result=FAILED)), {"max_failures": 1}, OPEN),
        (run("a"), {"max_failures": 0}, PASS),
        (spending(None), {"max_duration_ms": 2000}, PASS),
        (spending(), {"max_duration_ms": 2000}, OPEN),
        (spending(), {"max_duration_ms": 1999.9}, FAIL),
        (spending(seconds=None), {"max_duration_ms": 1}, OPEN),
        (spending(Usage(input_tokens=3, output_tokens=4)), {"max_tokens": 7}, PASS),
        (spending(Usage(input_tokens=3, output_tokens=5)), {"max_tokens": 7}, FAIL),
        (spending(Usage(input_tokens=3)), {"max_tokens": 7}, OPEN),
        (spending(Usage(input_tokens=8)), {"max_tokens": 7}, FAIL),
        (spending(Usage(cost_usd=0.1), None), {"max_cost_usd": 1}, OPEN),
        (spending(Usage(cost_usd=0.1), Usage(cost_usd=0.2)), {"max_cost_usd": 0.5}, PASS),
        (spending(), {"max_cost_usd": 1}, OPEN),
    ],
)
def test_budgets(trace: Trace, limit: dict[str, Any], expected: Verdict) -> None:
    assert graded(trace, type="budget", **limit).verdict is expected


@pytest.mark.parametrize(
    ("actions", "options", "expected"),
    [
        ([pay(result=FAILED), pay(99)], {}, PASS),
        ([pay(result=FAILED), "ask"], {}, PASS),
        ([pay(result=FAILED), pay()], {}, FAIL),
        ([pay(result=FAILED)], {}, FAIL),
        ([pay(result=FAILED), pay(), "ask"], {"within": 2}, PASS),
        ([pay(result=TIMED_OUT), pay()], {"transient_errors": "Timeout*"}, PASS),
        ([pay(result=FAILED), pay()], {"transient_errors": "Timeout*"}, FAIL),
        ([pay(result=UNCLEAR), pay()], {}, OPEN),
        ([pay(MASKED, result=FAILED), pay(MASKED)], {}, OPEN),
        ([pay(), pay()], {}, PASS),
        ([pay(result=FAILED)], {"only": ["ask"]}, PASS),
    ],
)
def test_recovery(actions: list[Any], options: dict[str, Any], expected: Verdict) -> None:
    assert graded(run(*actions), type="recovery", **options).verdict is expected


@pytest.mark.parametrize(
    ("actions", "options", "expected"),
    [
        pytest.param([pay(100, id="x"), pay(100.0, id="y")], {}, FAIL, id="100 is 100.0"),
        pytest.param([pay(), action("pay", {"to": "Ann", "amount": 100})], {}, FAIL,
                     id="key order"),
        pytest.param([pay(100), pay("100")], {}, PASS, id="the text 100 is not 100"),
        pytest.param([pay(1), pay(True)], {}, PASS, id="true is not 1"),
        pytest.param([pay(result=FAILED), pay()], {}, PASS, id="a failed first try"),
        pytest.param([pay(result=FAILED), pay(), pay()], {}, FAIL, id="two after a failed try"),
        pytest.param([pay(), pay(result=FAILED)], {}, FAIL, id="a second try that failed"),
        pytest.param([pay(result=UNCLEAR), pay()], {}, OPEN, id="success not recorded"),
        pytest.param([pay(result=CUT_OFF), pay()], {}, OPEN, id="first interrupted"),
        pytest.param([pay(result=UNCLEAR), pay(), pay()], {}, FAIL, id="one is certain"),
        pytest.param([pay(MASKED), pay(MASKED)], {}, OPEN, id="masked"),
        pytest.param([pay(MASKED), pay(5)], {}, OPEN, id="masked and not"),
        pytest.param([pay(5), pay(MASKED)], {}, OPEN, id="not masked, then masked"),
        pytest.param([pay(MASKED), action("pay", {"amount": MASKED, "to": "Bob"})], {}, PASS,
                     id="masked, but clearly other"),
        pytest.param([pay(), action("ask"), pay()], {"only": ["ask"]}, PASS, id="only"),
        pytest.param([pay(), pay()], {"excluding": ["pay"]}, PASS, id="excluding"),
        pytest.param([action("a", UNKNOWN, unknown=True)] * 2, {}, OPEN, id="unknown inputs"),
        pytest.param([pay(), pay(requested_by="user")], {}, PASS, id="the user's own call"),
    ],
)  # fmt: skip
def test_idempotence(actions: list[Any], options: dict[str, Any], expected: Verdict) -> None:
    assert graded(run(*actions), type="idempotence", **options).verdict is expected


def test_a_double_payment_names_both_actions() -> None:
    report = graded(run(pay(), "ask", pay(100.0)), type="idempotence")
    assert texts(report) == snapshot(["action 3 (pay) repeats action 1 (pay)"])
    assert (report.grades[0].evidence[0].call_id, report.grades[0].evidence[0].action) == ("3", 3)


def test_twenty_thousand_actions_are_compared_quickly() -> None:
    trace = run(*(action("pay", {"n": n}) for n in range(20_000)))
    assert graded(trace, type="idempotence").passed
    assert graded(trace, type="recovery").passed
    sequence = [{"action": "pay", "matches": {"n": 1}}, "none"]
    assert graded(trace, type="forbidden_sequence", sequence=sequence).passed

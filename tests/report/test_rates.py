"""How often traces passed: what counts, how it is shown, and pass^k of repeated trials."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from tracedance_sdk.grading import Report, Verdict
from tracedance_sdk.report import Row, pass_rates, percent, rate_lines, rates_document
from tracedance_sdk.statistics import Trials, clustered_rate, mean_pass_hat_k, wilson_interval

PASS, FAIL, CRITICAL = Verdict.PASS, Verdict.FAIL, Verdict.CRITICAL
INCONCLUSIVE, ERROR = Verdict.INCONCLUSIVE, Verdict.ERROR


def row(verdict: Verdict, task: str | None = None, agent: str | None = None) -> Row:
    report = Report(trace_id="t", agent=agent, verdict=verdict, raw_verdict=verdict)
    return Row("t.json", "t.json", report, task_id=task)


def rows_of(tasks: dict[str, str], agent: str | None = None) -> list[Row]:
    letters = {"p": PASS, "f": FAIL, "c": CRITICAL, "i": INCONCLUSIVE, "e": ERROR}
    return [row(letters[one], task, agent) for task, trials in tasks.items() for one in trials]


def test_the_rate_is_that_of_conclusive_verdicts() -> None:
    found = pass_rates([row(PASS), row(FAIL), row(CRITICAL), row(INCONCLUSIVE), row(ERROR),
                        Row("x", "x", None, "unreadable")])  # fmt: skip
    assert found.rate is not None
    assert (found.rate.value, found.rate.n) == (1 / 3, 3)
    assert found.rate.interval == wilson_interval(1, 3)
    assert (found.n_passed, found.n_inconclusive, found.n_errors) == (1, 1, 2)
    assert (found.over_tasks, found.pass_hat_k) == (None, None)
    assert rate_lines(found) == snapshot(
        [
            (
                "pass rate 33.3 % of 3 conclusive, 95 % interval 6.1 to 79.2 %; "
                "1 inconclusive and 2 errors not counted"
            )
        ]
    )


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ([], "pass rate unknown: no traces"),
        ([row(ERROR)], "pass rate unknown: 1 error"),
        ([row(INCONCLUSIVE)] * 2 + [row(ERROR)], "pass rate unknown: 2 inconclusive and 1 error"),
        ([row(PASS)] * 9999 + [row(FAIL)], "pass rate 99.99 %, 95 % interval 99.9 to 99.9982 %"),
        ([row(FAIL)] * 9999 + [row(PASS)], "pass rate 0.01 %, 95 % interval 0.0018 to 0.057 %"),
    ],
)
def test_a_rate_that_is_not_all_or_nothing_is_never_shown_as_that(
    rows: list[Row], line: str
) -> None:
    assert rate_lines(pass_rates(rows)) == [line]


def test_repeated_trials_give_pass_hat_k_over_tasks() -> None:
    tasks = {"a": "pppp", "b": "pfpp", "c": "ffff", "d": "pfcpi", "e": "p", "f": "ei"}
    found = pass_rates(rows_of(tasks))
    trials = [Trials(4, 4), Trials(3, 4), Trials(0, 4), Trials(2, 4)]
    assert found.pass_hat_k is not None
    assert (found.pass_hat_k.n_tasks, found.pass_hat_k.n_once) == (4, 1)
    assert found.pass_hat_k.estimates == tuple(mean_pass_hat_k(trials, k) for k in (1, 2, 3, 4))
    outcomes = [at < t.passes for t in [*trials, Trials(1, 1)] for at in range(t.n)]
    owners = [0] * 4 + [1] * 4 + [2] * 4 + [3] * 4 + [4]
    assert found.over_tasks == clustered_rate(outcomes, owners).interval
    assert rate_lines(found) == snapshot(
        [
            (
                "pass rate 58.8 % of 17 conclusive, 95 % interval 36.0 to 78.4 % "
                "(14.6 to 92.3 % over 5 tasks); 2 inconclusive and 1 error not counted"
            ),
            "all of k trials of a task pass (pass^k; 4 tasks, 1 more tried once):",
            "  k = 1   56.2 %, 95 % interval 11.6 to 92.6 %",
            "  k = 2   41.7 %, 95 % interval 6.4 to 88.2 %",
            "  k = 3   31.2 %, 95 % interval 3.1 to 86.6 %",
            "  k = 4   25.0 %, 95 % interval 1.6 to 86.9 %",
            "so few tasks leave intervals over tasks wide",
        ]
    )


def test_runs_of_several_agents_are_no_trials_of_one_another() -> None:
    both = [*rows_of({"a": "p"}, "old"), *rows_of({"a": "f"}, "new")]
    assert pass_rates(both).pass_hat_k is None
    assert pass_rates(rows_of({"a": "pf"}, "new")).pass_hat_k is not None


def test_traces_that_name_no_task_are_no_trials() -> None:
    assert pass_rates([row(PASS), row(FAIL)]).pass_hat_k is None


def test_the_trials_of_one_task_alone_have_no_interval_over_tasks() -> None:
    found = pass_rates(rows_of({"a": "ppf"}))
    assert found.over_tasks is None
    assert rate_lines(found) == snapshot(
        [
            "pass rate 66.7 %, 95 % interval 20.8 to 93.9 %",
            "all of k trials of a task pass (pass^k; 1 task):",
            "  k = 1   66.7 %, 95 % interval 20.8 to 93.9 %",
            "  k = 2   33.3 %, 95 % interval 4.3 to 88.1 %",
            "  k = 3    0.0 %, 95 % interval 0.0 to 82.7 %",
        ]
    )


def test_many_trials_are_shown_up_to_eight() -> None:
    found = pass_rates(rows_of({"a": "p" * 20, "b": "pf" * 10}))
    assert found.pass_hat_k is not None
    assert len(found.pass_hat_k.estimates) == 8


def test_the_document_has_the_same_keys_whatever_there_is() -> None:
    full = rates_document(pass_rates(rows_of({"a": "pp", "b": "pf"})))
    empty = rates_document(pass_rates([]))
    assert full.keys() == empty.keys()
    assert full["pass_rate"].keys() == empty["pass_rate"].keys()
    assert empty["pass_hat_k"] is None
    assert empty["pass_rate"]["value"] is None
    assert json.loads(json.dumps(full)) == full
    assert full["pass_hat_k"]["tasks"] == 2
    assert [one["k"] for one in full["pass_hat_k"]["estimates"]] == [1, 2]
    assert full["pass_rate"] == snapshot(
        {
            "passed": 3,
            "conclusive": 4,
            "inconclusive": 0,
            "error": 0,
            "value": 0.75,
            "interval": {"low": 0.300641842582402, "high": 0.9544127391902995, "level": 0.95},
            "interval_over_tasks": {
                "low": 0.00931019766098029,
                "high": 0.9989569011877829,
                "level": 0.95,
            },
        }
    )


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (0, "0.0"),
        (1, "100.0"),
        (0.5, "50.0"),
        (0.012, "1.2"),
        (0.00998, "1.0"),
        (0.0094, "0.94"),
        (1 / 4161, "0.024"),
        (0.0002, "0.02"),
        (0.000042, "0.0042"),
        (1e-7, "<0.001"),
        (0.9994, "99.9"),
        (0.9996, "99.96"),
        (0.99999999, ">99.999"),
    ],
)
def test_a_rare_share_is_shown_with_two_digits(share: float, shown: str) -> None:
    assert percent(share) == shown


@given(st.floats(0, 1))
def test_a_shown_share_is_near_and_never_all_or_nothing_by_rounding(share: float) -> None:
    shown = percent(share)
    if share in (0, 1):
        assert shown == f"{100 * share:.1f}"
    elif shown[0] in "<>":
        assert min(share, 1 - share) < 0.00001
    else:
        assert 0 < float(shown) < 100
        assert abs(float(shown) - 100 * share) <= 0.051 * min(1, 100 * share)

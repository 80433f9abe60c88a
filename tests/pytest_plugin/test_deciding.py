"""When runs suffice: never too early, never too late, and always in words."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracedance_sdk.pytest_plugin.deciding import Decision, RunOutcome, decide
from tracedance_sdk.pytest_plugin.run_rules import RunRule

WORDS: dict[str, RunOutcome] = {"p": "passed", "f": "failed", "?": "undecided"}


def outcomes(text: str) -> list[RunOutcome]:
    return [WORDS[letter] for letter in text]


def played(rule: RunRule, runs: Sequence[RunOutcome]) -> tuple[Decision, int]:
    """Return the decision and how many runs it took, run by run as a test takes them."""
    for n in range(1, len(runs) + 1):
        decision = decide(rule, runs[:n])
        if decision is not None:
            return decision, n
    raise AssertionError(f"undecided after all {len(runs)} runs")


@pytest.mark.parametrize(
    ("runs", "outcome", "n", "headline"),
    [
        ("pppppppppp", "passed", 8, "8 of 8 runs passed; 8 of 10 had to"),
        ("fpppppfppp", "passed", 10, "8 of 10 runs passed; 8 of 10 had to"),
        ("ffpppppppf", "failed", 10, "7 of 10 runs passed; 8 of 10 had to"),
        ("fffppppppp", "failed", 3, "0 of 3 runs passed; 8 of 10 had to"),
        ("??pppppppp", "passed", 10, "8 of 10 runs passed, 2 undecided; 8 of 10 had to"),
        (
            "???ppppppp",
            "inconclusive",
            8,
            "5 of 8 runs passed, 3 undecided; 8 of 10 had to",
        ),
        ("??????????", "inconclusive", 8, "0 of 8 runs passed, 8 undecided; 8 of 10 had to"),
        ("?????ffppf", "failed", 10, "2 of 10 runs passed, 3 failed, 5 undecided; 8 of 10 had to"),
    ],
)
def test_eight_of_ten(runs: str, outcome: str, n: int, headline: str) -> None:
    decision, taken = played(RunRule(10, 0.8), outcomes(runs))
    assert (decision.outcome, taken, decision.headline) == (outcome, n, headline)


RULES = st.builds(
    RunRule,
    runs=st.integers(1, 12),
    min_pass_rate=st.floats(0.01, 1, allow_nan=False),
    confidence=st.none(),
)


@given(rule=RULES, data=st.data())
def test_a_decision_is_made_exactly_when_the_rest_cannot_change_it(
    rule: RunRule, data: st.DataObject
) -> None:
    runs: list[RunOutcome] = data.draw(
        st.lists(st.sampled_from(list(WORDS.values())), min_size=rule.runs, max_size=rule.runs)
    )
    decision, n = played(rule, runs)

    def at_the_end(last: RunOutcome, begun: Sequence[RunOutcome]) -> str:
        end = [*begun, *[last] * (rule.runs - len(begun))]
        if end.count("passed") / rule.runs >= rule.min_pass_rate - 1e-12:
            return "passed"
        needed = rule.n_needed
        return "failed" if rule.runs - end.count("failed") < needed else "inconclusive"

    assert {at_the_end(last, runs[:n]) for last in WORDS.values()} == {decision.outcome}
    if n > 1:
        assert len({at_the_end(last, runs[: n - 1]) for last in WORDS.values()}) > 1


@pytest.mark.parametrize(
    ("runs", "outcome", "n"),
    [("p" * 30, "passed", 20), ("f" * 30, "failed", 3), ("pf" * 15, "failed", 20)],
)
def test_with_a_confidence_the_sequential_test_decides(runs: str, outcome: str, n: int) -> None:
    decision, taken = played(RunRule(30, 0.8, 0.95), outcomes(runs))
    assert (decision.outcome, taken) == (outcome, n)


def test_undecided_runs_are_left_out_of_the_sequential_test() -> None:
    decision, taken = played(RunRule(40, 0.8, 0.95), outcomes("p?" * 20))
    assert (decision.outcome, taken) == ("passed", 39)
    assert decision.headline == (
        "20 of 39 runs passed, 19 undecided; at least 0.8 of all do, at a confidence of 0.95"
    )


def test_what_is_missing_to_a_decision_is_told() -> None:
    decision, taken = played(RunRule(24, 0.8, 0.95), outcomes("fppppp" * 4))

    assert (decision.outcome, taken) == ("inconclusive", 16)
    assert decision.details == (
        "the 8 runs left cannot change that",
        "pass rate 0.81, from 0.47 to 0.98 (interval of 90 %, valid whenever one stops)",
        "34 more runs would show it if all pass, more than 2000 if they go on as so far",
    )


@given(st.lists(st.booleans(), min_size=1, max_size=30), st.sampled_from([0.5, 0.8, 0.95]))
def test_runs_that_would_show_it_do(passed: list[bool], rate: float) -> None:
    rule = RunRule(len(passed), rate, 0.9)
    begun = outcomes("".join("p" if each else "f" for each in passed))
    decision = decide(rule, begun, stopped="the cost limit of $1 is reached")
    assert decision is not None
    if decision.outcome != "inconclusive":
        return
    assert decision.headline.endswith("; the cost limit of $1 is reached")
    more = int(decision.details[-1].split()[0])
    after = decide(rule._replace(runs=1000), [*begun, *outcomes("p" * more)])
    assert after is not None
    assert after.outcome == "passed"
    assert decide(rule._replace(runs=1000), [*begun, *outcomes("p" * (more - 1))]) is None


def test_nothing_is_said_of_a_rate_when_no_run_was_decided() -> None:
    decision = decide(RunRule(1), ["undecided"])
    assert decision is not None
    assert decision.details == ()


def test_a_stop_leaves_what_is_certain() -> None:
    decision = decide(RunRule(2, 0.5), ["passed"], stopped="the cost limit of $1 is reached")
    assert decision is not None
    assert decision.headline == "1 of 1 run passed; 1 of 2 had to"

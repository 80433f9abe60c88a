"""When runs of a test suffice, and what they come to. Pure: outcomes in, words out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from tracedance_sdk.pytest_plugin.run_rules import RunRule

if TYPE_CHECKING:
    from tracedance_sdk.statistics import SequentialState

RunOutcome = Literal["passed", "failed", "undecided"]
"""What one run came to; undecided when it could not be set up, or its trace not be judged."""

TestOutcome = Literal["passed", "failed", "inconclusive"]
"""What all runs of a test came to."""

_MOST_FURTHER: Final = 2000


class Decision(NamedTuple):
    """What all runs came to.

    Attributes:
        outcome: Of the test.
        headline: One line: how many passed, and how many had to.
        details: Further lines: the interval of the pass rate, what is missing to a decision.
    """

    outcome: TestOutcome
    headline: str
    details: tuple[str, ...] = ()


def decide(
    rule: RunRule, outcomes: Sequence[RunOutcome], *, stopped: str | None = None
) -> Decision | None:
    """Return what the runs so far come to, or None while another run is needed.

    Without a confidence the test passes or fails as soon as the rest of the runs cannot change
    that, and is inconclusive when undecided runs have left neither within reach. With one,
    `sequential_test` decides over the runs that passed or failed.

    Args:
        rule: How many runs, and how many have to pass.
        outcomes: Of the runs so far, in order.
        stopped: Why there will be no further run; None when there can be.

    Example:
        >>> decide(RunRule(10, 0.8), ["failed", "failed", "passed"]) is None
        True
        >>> decide(RunRule(10, 0.8), ["failed"] * 3).headline
        '0 of 3 runs passed; 8 of 10 had to'
    """
    n_left = 0 if stopped else rule.runs - len(outcomes)
    if rule.confidence is None:
        outcome = _by_counting(rule, outcomes, n_left)
        state = None
    else:
        state = _state(rule, outcomes)
        outcome = _by_testing(rule, outcomes, state, n_left)
    if outcome is None:
        return None
    goal = _goal(rule, outcome)
    why = f"; {stopped}" if stopped and outcome == "inconclusive" else ""
    details = list(_details(rule, outcomes, outcome))
    if outcome == "inconclusive" and n_left:
        noun = "run" if n_left == 1 else "runs"
        details.insert(0, f"the {n_left} {noun} left cannot change that")
    return Decision(outcome, f"{counted(outcomes)}; {goal}{why}", tuple(details))


def counted(outcomes: Sequence[RunOutcome]) -> str:
    """Return how many runs passed, in words.

    Example:
        >>> counted(["passed", "failed", "undecided"])
        '1 of 3 runs passed, 1 failed, 1 undecided'
    """
    n_undecided = outcomes.count("undecided")
    noun = "run" if len(outcomes) == 1 else "runs"
    text = f"{outcomes.count('passed')} of {len(outcomes)} {noun} passed"
    if not n_undecided:
        return text
    n_failed = outcomes.count("failed")
    failed = f", {n_failed} failed" if n_failed else ""
    return f"{text}{failed}, {n_undecided} undecided"


def _by_counting(rule: RunRule, outcomes: Sequence[RunOutcome], n_left: int) -> TestOutcome | None:
    passes, fails = outcomes.count("passed"), outcomes.count("failed")
    if passes >= rule.n_needed:
        return "passed"
    if fails > rule.runs - rule.n_needed:
        return "failed"
    can_pass = passes + n_left >= rule.n_needed
    can_fail = fails + n_left > rule.runs - rule.n_needed
    return None if can_pass or can_fail else "inconclusive"


def _by_testing(
    rule: RunRule, outcomes: Sequence[RunOutcome], state: SequentialState, n_left: int
) -> TestOutcome | None:
    if state.decision != "undecided":
        return "passed" if state.decision == "above" else "failed"
    ends = (_state(rule, [*outcomes, *[end] * n_left]) for end in _ENDS)
    within_reach = n_left and any(end.decision != "undecided" for end in ends)
    return None if within_reach else "inconclusive"


_ENDS: Final[tuple[RunOutcome, RunOutcome]] = ("passed", "failed")


def _state(rule: RunRule, outcomes: Sequence[RunOutcome]) -> SequentialState:
    from tracedance_sdk.statistics import sequential_test

    return sequential_test(_decided(outcomes), min_rate=rule.min_pass_rate, alpha=rule.alpha)


def _decided(outcomes: Sequence[RunOutcome]) -> list[bool]:
    return [outcome == "passed" for outcome in outcomes if outcome != "undecided"]


def _goal(rule: RunRule, outcome: TestOutcome) -> str:
    if rule.confidence is None:
        return f"{rule.n_needed} of {rule.runs} had to"
    level = f"at a confidence of {rule.confidence:g}"
    if outcome == "inconclusive":
        return f"whether {rule.min_pass_rate:g} of all do is not shown {level}"
    side = "at least" if outcome == "passed" else "fewer than"
    return f"{side} {rule.min_pass_rate:g} of all do, {level}"


def _details(rule: RunRule, outcomes: Sequence[RunOutcome], outcome: TestOutcome) -> Iterator[str]:
    from tracedance_sdk.statistics import always_valid_interval

    decided = _decided(outcomes)
    if not decided:
        return
    level = 1 - 2 * rule.alpha if rule.confidence is not None else 0.95
    low, high, _ = always_valid_interval(sum(decided), len(decided), level=level)
    yield (
        f"pass rate {sum(decided) / len(decided):.2f}, from {low:.2f} to {high:.2f}"
        f" (interval of {100 * level:.4g} %, valid whenever one stops)"
    )
    if rule.confidence is not None and outcome == "inconclusive":
        yield _how_many_more(rule, decided)


def _how_many_more(rule: RunRule, decided: Sequence[bool]) -> str:
    """Return how many more runs would settle it: all passing, and passing as often as so far."""
    from tracedance_sdk.statistics import sequential_test

    def more(further: Iterator[bool]) -> int | None:
        outcomes = (outcome for part in (decided, further) for outcome in part)
        state = sequential_test(outcomes, min_rate=rule.min_pass_rate, alpha=rule.alpha)
        return None if state.decision == "undecided" else state.n - len(decided)

    passes, n = sum(decided), len(decided)
    best = more(iter([True] * _MOST_FURTHER))
    alike = more((i + 1) * passes // n > i * passes // n for i in range(_MOST_FURTHER))
    shown = f"more than {_MOST_FURTHER}" if best is None else str(best)
    about = f"more than {_MOST_FURTHER}" if alike is None else f"about {alike}"
    return f"{shown} more runs would show it if all pass, {about} if they go on as so far"

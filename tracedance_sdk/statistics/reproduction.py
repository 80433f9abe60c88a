"""How well a rebuilt test reproduces production, and how well it foresees another agent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from tracedance_sdk.errors import InvalidOption, shown
from tracedance_sdk.statistics.checking import (
    boolean,
    check_enough,
    check_number,
    check_same_length,
    finite,
    items,
)
from tracedance_sdk.statistics.intervals import Estimate
from tracedance_sdk.statistics.proportions import pass_rate


class ReplayedVerdict(NamedTuple):
    """One test's outcome, recorded and replayed.

    Attributes:
        production: Whether the recorded run passed.
        replay: Whether the replayed one did.
        simulated: Whether any answer of the replay was simulated.
    """

    production: bool
    replay: bool
    simulated: bool = False


class Reproduction(NamedTuple):
    """How replays compare with production; each rate with Wilson's interval, None for 0 of 0.

    Attributes:
        match: Share of tests with the same outcome.
        match_recorded: The same among tests without a simulated answer.
        match_simulated: The same among tests with one.
        fails_again: Share of production's failures that fail again.
        passes_again: Share of production's passes that pass again.
        production_passes: How many passed in production.
        replay_passes: How many passed in the replay; fewer means that the suite is harsher.
    """

    match: Estimate
    match_recorded: Estimate | None
    match_simulated: Estimate | None
    fails_again: Estimate | None
    passes_again: Estimate | None
    production_passes: int
    replay_passes: int


class SwitchError(NamedTuple):
    """How well replayed pass rates foresaw those of a new agent.

    Attributes:
        error: Mean over tasks of the distance between replayed and new rate, in [0, 1].
        no_change_error: The same for the old agent's rates as the prediction.
        n_tasks: How many tasks.
        n_moved: How many tasks' real rate moved by the threshold or more.
        n_right: In how many of those the replay pointed the right way; a tie is wrong.
        direction: Their share with Wilson's interval; None when no task moved.
    """

    error: float
    no_change_error: float
    n_tasks: int
    n_moved: int
    n_right: int
    direction: Estimate | None


def compare_replay(verdicts: Sequence[ReplayedVerdict], *, level: float = 0.95) -> Reproduction:
    """Compare replayed verdicts with those of production.

    Args:
        verdicts: One for each test.
        level: Confidence level of the intervals, in (0, 1).

    Raises:
        InvalidOption: A verdict that is none, or a wrong level.
        NotEnoughData: No verdicts.

    Source: see `wilson_interval`. Compare `match` with `self_agreement` of production: what lies
    above that is noise that was fitted.

    Example:
        >>> found = compare_replay(
        ...     [ReplayedVerdict(True, True), ReplayedVerdict(False, True, True)]
        ... )
        >>> found.match.value, found.fails_again.value, found.replay_passes
        (0.5, 0.0, 2)
    """
    verdicts = [_verdict(one, at) for at, one in enumerate(items(verdicts, "verdicts"))]
    check_enough(len(verdicts), 1, what="verdicts")

    def rate(among: list[ReplayedVerdict]) -> Estimate | None:
        same = sum(bool(one.production) is bool(one.replay) for one in among)
        return pass_rate(same, len(among), level=level) if among else None

    same = sum(bool(one.production) is bool(one.replay) for one in verdicts)
    return Reproduction(
        match=pass_rate(same, len(verdicts), level=level),
        match_recorded=rate([one for one in verdicts if not one.simulated]),
        match_simulated=rate([one for one in verdicts if one.simulated]),
        fails_again=rate([one for one in verdicts if not one.production]),
        passes_again=rate([one for one in verdicts if one.production]),
        production_passes=sum(bool(one.production) for one in verdicts),
        replay_passes=sum(bool(one.replay) for one in verdicts),
    )


def switch_error(
    old: Sequence[float],
    replayed: Sequence[float],
    new: Sequence[float],
    *,
    threshold: float = 0.5,
    level: float = 0.95,
) -> SwitchError:
    """Say how well replayed tests foresaw what a new agent does.

    Args:
        old: Each task's real pass rate under the old agent, in [0, 1].
        replayed: Its rate when the new agent was replayed, in the same order.
        new: Its real rate under the new agent.
        threshold: How far a real rate must move, at least, for its direction to count.
        level: Confidence level of the direction's interval, in (0, 1).

    Raises:
        InvalidOption: Lengths that differ, or a rate or threshold outside [0, 1].
        NotEnoughData: No tasks.

    Source: mean absolute error; a useful one is below `no_change_error`, and none can be expected
    to be below `sampling_floor`.

    Example:
        >>> found = switch_error([0.0, 1.0], [0.5, 1.0], [1.0, 0.25])
        >>> found.error, found.no_change_error, found.n_moved, found.n_right
        (0.625, 0.875, 2, 1)
    """
    check_same_length(old, replayed, what="old and replayed")
    check_same_length(old, new, what="old and new")
    check_enough(len(old), 1, what="tasks")
    threshold = check_number(threshold, "threshold", least=0, most=1)
    given = (finite(rates, "rate", least=0, most=1) for rates in (old, replayed, new))
    rows = list(zip(*given, strict=True))
    # Rates are fractions of few trials: a move of exactly the threshold may be off by one bit.
    moved = [row for row in rows if abs(row[2] - row[0]) >= threshold - 1e-12]
    right = sum((row[1] - row[0]) * (row[2] - row[0]) > 0 for row in moved)
    return SwitchError(
        error=math.fsum(abs(row[1] - row[2]) for row in rows) / len(rows),
        no_change_error=math.fsum(abs(row[0] - row[2]) for row in rows) / len(rows),
        n_tasks=len(rows),
        n_moved=len(moved),
        n_right=right,
        direction=pass_rate(right, len(moved), level=level) if moved else None,
    )


def _verdict(verdict: ReplayedVerdict, at: int) -> ReplayedVerdict:
    if not isinstance(verdict, ReplayedVerdict):
        raise InvalidOption(f"verdict {at} is {shown(verdict)}, which is no ReplayedVerdict")
    return ReplayedVerdict(
        *(
            boolean(value, f"verdict {at}'s {name}")
            for name, value in zip(ReplayedVerdict._fields, verdict, strict=True)
        )
    )

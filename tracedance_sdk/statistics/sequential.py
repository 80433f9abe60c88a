"""Stopping as soon as it is clear: tests and intervals that may be looked at after every run.

An ordinary interval that is recomputed after each run, with a stop when it looks good, is wrong far
more often than its level says. What is here holds at every moment at once, so that runs may stop
at any time and for any reason. Standard library only.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Final, Literal, NamedTuple

from tracedance_sdk.errors import InvalidOption, shown
from tracedance_sdk.statistics.checking import (
    boolean,
    check_counts,
    check_half,
    check_level,
    check_share,
)
from tracedance_sdk.statistics.intervals import Interval
from tracedance_sdk.statistics.paired_rates import root_between

SequentialDecision = Literal["above", "below", "undecided"]
"""Whether a rate is at least the wanted one, under it, or not yet known."""


_MOST_RUNS: Final = 10**9
_MOST_EVIDENCE: Final = 1e300
_MOST_STEPS: Final = 100_000


class SequentialState(NamedTuple):
    """Where a sequential test stands.

    Attributes:
        decision: See `SequentialDecision`; once made it stays.
        n: Runs up to the decision, or all runs.
        passes: How many of those passed.
        evidence_above: How many times likelier the runs are under a rate above the wanted one,
            averaged over all such rates, than under the wanted one. At 1 / alpha it decides.
        evidence_below: The same for rates below.
        interval: The always-valid interval at that moment, at level 1 - 2 alpha.
    """

    decision: SequentialDecision
    n: int
    passes: int
    evidence_above: float
    evidence_below: float
    interval: Interval


def always_valid_interval(passes: int, n: int, *, level: float = 0.95) -> Interval:
    """Return an interval for a rate that holds at all times at once.

    All rates p for which ``B(x + 1/2, n - x + 1/2) / (B(1/2, 1/2) p^x (1 - p)^(n - x))`` is below
    ``1 / (1 - level)``: the ratio is a martingale under p, and by Ville's inequality passes that
    bound at any time with chance 1 - level at most. It is wider than Wilson's: the price of
    looking after every run.

    Args:
        passes: Runs that passed so far.
        n: Runs so far; with none the interval is [0, 1].
        level: Confidence level in (0, 1).

    Raises:
        InvalidOption: Impossible counts or level.

    Source: Robbins, Annals of Mathematical Statistics 41 (1970), 1397-1409, with the beta mixture.

    Example:
        >>> low, high, _ = always_valid_interval(9, 10)
        >>> round(low, 2), round(high, 2)
        (0.46, 1.0)
    """
    level = check_level(level)
    if n == 0 == passes:
        return Interval(0.0, 1.0, level)
    passes, n = check_counts(passes, n, most=_MOST_RUNS)
    mixture = _log_beta(passes + 0.5, n - passes + 0.5) - _log_beta(0.5, 0.5)
    bound = mixture + math.log(1 - level)

    def inside(rate: float) -> float:
        return _log_likelihood(passes, n, rate) - bound

    rate = passes / n
    low = 0.0 if passes == 0 else root_between(0.0, rate, lambda p: -inside(p))
    high = 1.0 if passes == n else root_between(rate, 1.0, inside)
    return Interval(low, high, level)


def sequential_test(
    outcomes: Iterable[bool], *, min_rate: float, alpha: float = 0.05
) -> SequentialState:
    """Go through runs in order and stop when it is clear whether the pass rate is high enough.

    After each run two ratios are formed: the likelihood of the runs so far averaged over all rates
    above `min_rate` (uniformly), and over all below, each over that at `min_rate`. When the first
    reaches 1 / alpha the rate is *above*, when the second does it is *below*. A rate of `min_rate`
    or less is ever called above with chance alpha at most, one of `min_rate` or more is ever called
    below with chance alpha at most, however many runs there are and whenever they stop.

    Args:
        outcomes: Whether each run passed, in the order in which they were made; read only up to
            the decision.
        min_rate: The wanted pass rate, in (0, 1).
        alpha: Chance of each of the two errors, in (0, 0.5).

    Raises:
        InvalidOption: `min_rate` or `alpha` out of range.

    Source: Wald, Sequential Analysis (1947), chapter 4 (weight functions), with Ville's inequality.

    Example:
        >>> sequential_test([False] * 10, min_rate=0.8).n
        3
        >>> sequential_test([True] * 10, min_rate=0.8).decision
        'undecided'
        >>> sequential_test([True] * 30, min_rate=0.8).n
        20
    """
    min_rate, alpha = check_share(min_rate, "min_rate"), check_half(alpha)
    n = passes = 0
    above = below = 1.0
    decision: SequentialDecision = "undecided"
    next_look = 1  # before it nothing could be decided, whatever the runs are
    for outcome in _runs(outcomes):
        n += 1
        passes += outcome
        if n < next_look:
            continue
        above, below = _both(passes, n, min_rate)
        if max(above, below) >= 1 / alpha:
            decision = "above" if above > below else "below"
            break
        next_look = n + min(
            _steps_to(1 / alpha, above, passes, n, min_rate),
            _steps_to(1 / alpha, below, n - passes, n, 1 - min_rate),
        )
    if decision == "undecided" and n:
        above, below = _both(passes, n, min_rate)
    interval = always_valid_interval(passes, n, level=1 - 2 * alpha)
    return SequentialState(decision, n, passes, above, below, interval)


def least_runs_to_pass(*, min_rate: float, alpha: float = 0.05) -> int:
    """Return how many runs, all of them passing, `sequential_test` needs to say *above*.

    With fewer runs than this a pass cannot be shown, whatever happens.

    Raises:
        InvalidOption: `min_rate` or `alpha` out of range, or so close to 1 or 0 that a million
            runs are not enough.

    Source: see `sequential_test`.

    Example:
        >>> least_runs_to_pass(min_rate=0.8)
        20
    """
    min_rate, alpha = check_share(min_rate, "min_rate"), check_half(alpha)
    low, high = 0, 1
    while not _is_shown(high, min_rate, alpha):
        low, high = high, 2 * high
        if high > 1_000_000:
            raise InvalidOption(f"a rate of {min_rate!r} cannot be shown with a million runs")
    while high - low > 1:
        middle = (low + high) // 2
        if not _is_shown(middle, min_rate, alpha):
            low = middle
        else:
            high = middle
    return high


def _runs(outcomes: Iterable[bool]) -> Iterator[bool]:
    if not isinstance(outcomes, Iterable):
        raise InvalidOption(f"outcomes is {shown(outcomes)}, which is no sequence")
    for at, outcome in enumerate(outcomes):
        if at >= _MOST_RUNS:
            raise InvalidOption(f"there are more than {_MOST_RUNS:,} outcomes")
        yield boolean(outcome, f"outcome {at}")


def _both(passes: int, n: int, rate: float) -> tuple[float, float]:
    return _evidence(passes, n, rate), _evidence(n - passes, n, 1 - rate)


def _steps_to(bound: float, evidence: float, passes: int, n: int, rate: float) -> int:
    """Return how many further runs, all of them passing, bring the evidence to a bound.

    By parts, ``evidence(x + 1, n + 1) = ((x + 1) evidence(x, n) / rate + 1) / (n + 2)``.
    """
    for step in range(_MOST_STEPS):
        if evidence >= bound * (1 - 1e-9):
            return max(1, step)
        evidence = ((passes + step + 1) * evidence / rate + 1) / (n + step + 2)
    return _MOST_STEPS


def _is_shown(n: int, rate: float, alpha: float) -> bool:
    """Whether n runs that all pass show more than a rate: their evidence, in closed form."""
    log = math.log
    evidence = math.log1p(-(rate ** (n + 1))) - log((n + 1) * (1 - rate)) - n * log(rate)
    return evidence >= log(1 / alpha) - 1e-12


def _evidence(passes: int, n: int, rate: float) -> float:
    """Return the mean likelihood over rates above one, over the likelihood at it.

    ``int_rate^1 p^x (1-p)^(n-x) dp / (1 - rate)`` is ``B(x+1, n-x+1) P(Bin(n+1, rate) <= x)``, and
    divided by the likelihood it is a sum of ratios of neighbouring binomial terms.
    """
    # Terms of P(Bin(n + 1, rate) = x - i) over that at x, from i = 0 down to no passes.
    term = total = 1.0
    odds = (1 - rate) / rate
    for x in range(passes, 0, -1):
        term *= x / (n + 2 - x) * odds
        total += term
        if term < 1e-17 * total or total > _MOST_EVIDENCE:
            break
    # B(x+1, n-x+1) C(n+1, x) rate^x (1-rate)^(n+1-x) is rate^x (1-rate)^(n-x) (1-rate) / (n+1-x).
    return min(total / (n + 1 - passes), _MOST_EVIDENCE)


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def _log_likelihood(passes: int, n: int, rate: float) -> float:
    if (rate <= 0 and passes) or (rate >= 1 and passes < n):
        return -math.inf
    passed = passes * math.log(rate) if passes else 0.0
    return passed + ((n - passes) * math.log1p(-rate) if passes < n else 0.0)

"""Points 1 to 4: verdicts of the grader and of replays beside those of production."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tracedance_sdk.replay.faithfulness.points import (
    FaithfulnessLimits,
    FaithfulnessPoint,
    found,
    not_measured,
)
from tracedance_sdk.replay.faithfulness.rates import Rate, rate_of
from tracedance_sdk.replay.faithfulness.regrading import Regraded
from tracedance_sdk.replay.faithfulness.replayed import ReplayedTest, decided, repeated
from tracedance_sdk.replay.running import DOUBTS
from tracedance_sdk.statistics import (
    Difference,
    Estimate,
    Interval,
    Trials,
    agreement_pairs,
    paired_difference,
    paired_rate_difference,
    sampling_floor,
    self_agreement,
)

_MOST_NAMED = 20


def grader_point(regraded: Sequence[Regraded] | None) -> FaithfulnessPoint:
    """Point 1: the grader gives the stored verdicts of the untouched recordings."""
    if regraded is None:
        return not_measured(1, "recordings", "grader")
    stored = [item for item in regraded if item.stored is not None]
    if not stored:
        return not_measured(1, "recordings", told="no recording has a stored verdict")
    wrong = [item for item in stored if not item.agrees]
    n, agreeing = len(stored), len(stored) - len(wrong)
    told = f"{agreeing:,} of {n:,} stored verdicts"
    if wrong:
        told += f"; not {', '.join(item.name for item in wrong[:3])}"
        told += f" and {len(wrong) - 3:,} more" if len(wrong) > 3 else ""
    figures = {
        "n": n,
        "agreeing": agreeing,
        "without_stored_verdict": len(regraded) - n,
        "disagreeing": [
            {
                "recording": item.name,
                "stored": "pass" if item.stored else "fail",
                "grader": item.verdict.value,
                "reason": item.reason,
            }
            for item in wrong[:_MOST_NAMED]
        ],
    }
    return found(1, told, holds=not wrong, figures=figures)


def agreement_of(production: Mapping[str, Trials], limits: FaithfulnessLimits) -> Estimate | None:
    """Return how often production agrees with itself; None where that cannot be told."""
    groups = repeated(production)
    return self_agreement(groups, level=limits.level) if len(groups) > 1 else None


def match_point(
    tests: Sequence[ReplayedTest], production: Mapping[str, Trials], limits: FaithfulnessLimits
) -> FaithfulnessPoint:
    """Point 2: matches of replays whose every answer is evidence, beside production's agreement."""
    clean = [item for item in decided(tests) if not item.doubts]
    rate = _matches(clean, limits)
    if rate is None:
        return not_measured(2, "verdicts", told="no replay rests on evidence alone")
    agreement = agreement_of(production, limits)
    if agreement is None:
        return not_measured(2, "trials", told=f"matches {rate.told}")
    told = f"{rate.told}; {_told_agreement(rate, agreement)}"
    if _is_above(rate, agreement):
        told += ": more than it agrees with itself, so noise was fitted"
    figures = {"match": rate.as_json, **_agreement_figures(rate, agreement, production)}
    return found(2, told, holds=_is_like(rate, agreement, limits), figures=figures)


def doubtful_point(
    tests: Sequence[ReplayedTest], production: Mapping[str, Trials], limits: FaithfulnessLimits
) -> FaithfulnessPoint:
    """Point 3: the same where an answer was made up, missing or stale."""
    if not decided(tests):
        return not_measured(3, "verdicts")
    doubtful = [item for item in decided(tests) if item.doubts]
    rate = _matches(doubtful, limits)
    if rate is None:
        told = f"none of {len(decided(tests)):,} replays rests on anything but evidence"
        return found(3, told, holds=True, figures={"n": 0})
    n_counting = sum(item.counts for item in doubtful)
    by_doubt = {}
    for doubt in DOUBTS:
        of = _matches([item for item in doubtful if doubt in item.doubts], limits)
        if of is not None:
            by_doubt[doubt] = of.as_json
    figures: dict[str, Any] = {
        "match": rate.as_json,
        "counting": n_counting,
        "by_doubt": by_doubt,
        "resting_on_simulated": _resting(tests),
    }
    if not n_counting:
        told = f"{rate.told}; their verdicts do not count"
        return found(3, told, holds=True, figures=figures)
    told = f"{rate.told}; {n_counting:,} of these verdicts count"
    agreement = agreement_of(production, limits)
    if agreement is None:
        return not_measured(3, "trials", told=told)
    figures |= _agreement_figures(rate, agreement, production)
    told += f"; {_told_agreement(rate, agreement)}"
    return found(3, told, holds=_is_like(rate, agreement, limits), figures=figures)


def balance_point(tests: Sequence[ReplayedTest], limits: FaithfulnessLimits) -> FaithfulnessPoint:
    """Point 4: fails that fail again, passes that pass again, and how many pass at all."""
    known = decided(tests)
    if not known:
        return not_measured(4, "verdicts")
    fails = _matches([item for item in known if not item.production], limits)
    passes = _matches([item for item in known if item.production], limits)
    change = _change(known, limits)
    before = sum(bool(item.production) for item in known)
    after = sum(bool(item.replay) for item in known)
    word = "softer" if after > before else "harsher" if after < before else "as many"
    told = [f"{after:,} of {len(known):,} pass, {before:,} in production ({word})"]
    for rate, what in ((fails, "fails fail"), (passes, "passes pass")):
        told.append(f"no {what.split()[0]}" if rate is None else f"{what} again {rate.told}")
    low, high = change.interval.low, change.interval.high
    told.append(f"difference {100 * low:+.1f} to {100 * high:+.1f} points")
    figures = {
        "n": len(known),
        "undecided": len(tests) - len(known),
        "production_passes": before,
        "replay_passes": after,
        "fails_again": None if fails is None else fails.as_json,
        "passes_again": None if passes is None else passes.as_json,
        "difference": change.value,
        "interval": [low, high],
        "p_value": change.p_value,
    }
    holds = None
    if -limits.margin <= low and high <= limits.margin:
        holds = True
    elif low > limits.margin or high < -limits.margin:
        holds = False
    return found(4, "; ".join(told), holds=holds, figures=figures)


def _matches(tests: Sequence[ReplayedTest], limits: FaithfulnessLimits) -> Rate | None:
    groups = [item.group for item in tests]
    return rate_of([item.matches for item in tests], groups, level=limits.level)


def _change(known: Sequence[ReplayedTest], limits: FaithfulnessLimits) -> Difference:
    old = [bool(item.production) for item in known]
    new = [bool(item.replay) for item in known]
    groups = [item.group for item in known]
    if 1 < len(set(groups)) < len(groups):
        numbers = [float(item) for item in old], [float(item) for item in new]
        return paired_difference(*numbers, clusters=groups, level=limits.level)
    return paired_rate_difference(old, new, level=limits.level)


def _is_like(rate: Rate, agreement: Estimate, limits: FaithfulnessLimits) -> bool | None:
    """Whether matches reach production's agreement; None where both may be."""
    difference = _difference(rate, agreement)
    if difference.low > 0 or difference.high < -limits.margin:
        return False
    return True if difference.low >= -limits.margin else None


def _is_above(rate: Rate, agreement: Estimate) -> bool:
    return _difference(rate, agreement).low > 0


def _difference(rate: Rate, agreement: Estimate) -> Interval:
    """Return the interval of matches minus agreement, from the intervals of both.

    Source: Newcombe, Statistics in Medicine 17 (1998), 873-890, method 10: squared distances to the
    ends that lie towards the other estimate add up.
    """
    value = rate.value - agreement.value
    (low, high, level), own = rate.interval, agreement.interval
    below = math.hypot(rate.value - low, own.high - agreement.value)
    above = math.hypot(high - rate.value, agreement.value - own.low)
    return Interval(value - below, value + above, level).within(-1, 1)


def _told_agreement(rate: Rate, agreement: Estimate) -> str:
    low, high, _ = _difference(rate, agreement)
    told = f"production agrees with itself in {100 * agreement.value:.1f} %, "
    return f"{told}difference {100 * low:+.1f} to {100 * high:+.1f} points"


def _agreement_figures(
    rate: Rate, agreement: Estimate, production: Mapping[str, Trials]
) -> dict[str, Any]:
    groups = repeated(production)
    return {
        "above_self_agreement": list(_difference(rate, agreement)[:2]),
        "self_agreement": agreement.value,
        "self_agreement_interval": [agreement.interval.low, agreement.interval.high],
        "self_agreement_pairs": agreement_pairs(groups),
        "self_agreement_groups": len(groups),
        "sampling_floor": sampling_floor(groups),
    }


def _resting(tests: Sequence[ReplayedTest]) -> dict[str, int]:
    """Return how many tests rest on an answer that was made up or missing, and of how many."""
    made_up = Counter(
        item.test for item in tests if "simulated" in item.doubts or "failed" in item.doubts
    )
    return {"tests": len(made_up), "of": len({item.test for item in tests})}

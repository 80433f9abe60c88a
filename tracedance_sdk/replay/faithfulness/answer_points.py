"""Points 5 and 6: answers beside those of the real system, and what the leave-out rule costs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from tracedance_sdk.replay.answers import STAMPS
from tracedance_sdk.replay.faithfulness.answered import NO_EVIDENCE, AnsweredCall
from tracedance_sdk.replay.faithfulness.points import (
    FaithfulnessLimits,
    FaithfulnessPoint,
    found,
    not_measured,
)
from tracedance_sdk.replay.faithfulness.rates import rate_of

_ORDER: list[str] = list(STAMPS)


def wrong_point(
    answers: Sequence[AnsweredCall] | None, limits: FaithfulnessLimits
) -> FaithfulnessPoint:
    """Point 5: how many answers are wrong, by where they came from and by tool."""
    if answers is None:
        return not_measured(5, "traces", "truth")
    known = [item for item in answers if item.is_right is not None]
    if not [item for item in known if item.stamp != "failed"]:
        return not_measured(5, "truth")
    evidence = [item for item in known if item.is_evidence]
    wrong = [not item.is_right for item in evidence]
    rate = rate_of(wrong, [item.group for item in evidence], level=limits.level)
    figures: dict[str, Any] = {
        "answers": len(answers),
        "not_known": len(answers) - len(known),
        "evidence": None if rate is None else rate.as_json,
        "by_stamp": _table(known, lambda item: (item.stamp,), ("stamp",)),
        "by_tool": _table(known, lambda item: (item.tool, item.stamp), ("tool", "stamp")),
        "stale": _count([item for item in known if item.stale and item.stamp not in NO_EVIDENCE]),
    }
    if rate is None:
        return found(5, "no answer is evidence", holds=False, figures=figures)
    told = f"wrong among evidence {rate.told}"
    made_up = [item for item in known if not item.is_evidence]
    if made_up:
        n_wrong = sum(not item.is_right for item in made_up)
        told += f"; among made up, missing and stale {n_wrong:,}/{len(made_up):,}"
    if len(known) < len(answers):
        told += f"; {len(answers) - len(known):,} without a real answer"
    return found(5, told, holds=rate.value <= limits.most_wrong, figures=figures)


def lost_point(
    answers: Sequence[AnsweredCall] | None, limits: FaithfulnessLimits
) -> FaithfulnessPoint:
    """Point 6: how many wrong answers recordings held that the test may not read."""
    if answers is None:
        return not_measured(6, "traces", "tests", "truth")
    unknown = [item for item in answers if item.stamp == "simulated" and item.is_right is None]
    wrong = [item for item in answers if item.stamp in NO_EVIDENCE and item.is_right is False]
    if any(item.is_withheld is None for item in wrong):
        return not_measured(6, "tests")
    if unknown:
        return not_measured(6, "truth", told=f"{len(unknown):,} made-up answers of unknown worth")
    if not wrong:
        told = "no answer was made up wrongly, none is missing"
        return found(6, told, holds=True, figures={"n": 0})
    lost = [bool(item.is_withheld) for item in wrong]
    rate = rate_of(lost, [item.group for item in wrong], level=limits.level)
    assert rate is not None  # noqa: S101 - there are some
    by_tool: defaultdict[str, list[bool]] = defaultdict(list)
    for item in wrong:
        by_tool[item.tool].append(bool(item.is_withheld))
    figures = {
        "withheld": rate.as_json,
        "by_tool": [
            {"tool": tool, "n": len(held), "withheld": sum(held)}
            for tool, held in sorted(by_tool.items(), key=lambda pair: (-len(pair[1]), pair[0]))
        ],
    }
    return found(6, rate.told, holds=rate.value <= limits.most_lost, figures=figures)


def _table(
    answers: Sequence[AnsweredCall],
    key_of: Callable[[AnsweredCall], tuple[str, ...]],
    names: tuple[str, ...],
) -> list[dict[str, Any]]:
    """Return how many answers there are and how many are wrong, by a key."""
    groups: defaultdict[tuple[str, ...], list[AnsweredCall]] = defaultdict(list)
    for item in answers:
        groups[key_of(item)].append(item)
    return [
        {**dict(zip(names, key, strict=True)), **_count(groups[key])}
        for key in sorted(groups, key=lambda key: (*key[:-1], _place(key[-1])))
    ]


def _count(answers: Sequence[AnsweredCall]) -> dict[str, int]:
    return {"n": len(answers), "wrong": sum(not item.is_right for item in answers)}


def _place(stamp: str) -> tuple[int, str]:
    known = _ORDER.index(stamp) if stamp in _ORDER else len(_ORDER)
    return known, stamp

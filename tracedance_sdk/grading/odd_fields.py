"""Fields of judges' rows that are beyond the common ones: what they may hold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from tracedance_sdk.errors import shown

MOST_OF_A_RUBRIC: Final = 5
"""The highest score by a rubric."""

_OF_JUDGES: Final = ("judge:", "rubric:")
_SCORES: Final = ("rubric_score", "pass_from")


def odd_field(grader: str, fields: Mapping[str, Any]) -> str | None:
    """Return what is wrong with a judge's own fields, as ``what @ $.path``; None when nothing is.

    A score that cannot be one is told: left out silently, it would make a mean of the others.

    Args:
        grader: Of the row. Only judges' and panels' rows have such fields.
        fields: Those beyond the common ones; ``rubric_score`` and ``pass_from`` are numbers from 0
            to 5, ``judges`` are such numbers by name, ``repeat`` counts from 0; each may be null.

    Example:
        >>> odd_field("rubric:tone", {"rubric_score": 9})
        'a number from 0 to 5 is needed, got 9 @ $.rubric_score'
    """
    if not grader.startswith(_OF_JUDGES):
        return None
    needed = f"a number from 0 to {MOST_OF_A_RUBRIC} is needed"
    for name in _SCORES:
        if not _is_score(fields.get(name)):
            return f"{needed}, got {shown(fields[name])} @ $.{name}"
    judges = fields.get("judges")
    if judges is not None and not isinstance(judges, Mapping):
        return f"scores by the judges' names are needed, got {shown(judges)} @ $.judges"
    for judge, score in (judges or {}).items():
        if not _is_score(score):
            return f"{needed}, got {shown(score)} @ $.judges[{shown(judge)}]"
    repeat = fields.get("repeat")
    if repeat is not None and (type(repeat) is not int or repeat < 0):
        return f"a whole number from 0 is needed, got {shown(repeat)} @ $.repeat"
    return None


def _is_score(value: object) -> bool:
    if value is None:
        return True
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return math.isfinite(value) and 0 <= value <= MOST_OF_A_RUBRIC

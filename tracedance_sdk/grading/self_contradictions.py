"""Rows that contradict themselves: figures of one row that cannot all be true."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from tracedance_sdk.grading.odd_fields import MOST_OF_A_RUBRIC
from tracedance_sdk.grading.results import ResultRow
from tracedance_sdk.grading.verdicts import Verdict

_CLOSE: Final = 1e-6
"""What rounding may make of a mean."""

_OF_JUDGES: Final = ("judge:", "rubric:")
_DECIDED: Final = (Verdict.PASS, Verdict.FAIL)


def self_contradiction(row: ResultRow) -> str | None:
    """Return which figures of a row cannot all be true; None where all can.

    Looked at are the turn, which is an index from 0, and what judges' and panels' rows say beside
    each other: ``score`` is a fifth of ``rubric_score``, which is the mean of ``judges``; whoever
    reaches ``pass_from`` passes by ``raw_verdict``; and ``verdict`` is that, or undecided. Where
    ``missing_reason`` tells why the verdict is another, such as a gate, it may be.

    Args:
        row: Whose fields are each of their kind, see `odd_field`.

    Example:
        >>> from tracedance_sdk.grading.results import Subject
        >>> self_contradiction(
        ...     ResultRow(subject=Subject(), grader="judge:m", score=1.0, rubric_score=2)
        ... )
        'score 1 is not a fifth of rubric_score 2'
    """
    turn = row.subject.turn
    if turn is not None and turn < 0:
        return f"subject.turn is {turn}, and turns are counted from 0"
    if not row.grader.startswith(_OF_JUDGES):
        return None
    fields: Mapping[str, Any] = row.model_extra or {}
    score, bar = fields.get("rubric_score"), fields.get("pass_from")
    if score is None:
        return None
    if row.score is not None and not _close(MOST_OF_A_RUBRIC * row.score, score):
        return f"score {row.score:g} is not a fifth of rubric_score {score:g}"
    return _of_judges(fields.get("judges"), score) or _of_verdicts(row, score, bar)


def _of_judges(judges: Mapping[str, float | None] | None, score: float) -> str | None:
    if not judges:
        return None
    present = [value for value in judges.values() if value is not None]
    if not present:
        return f"rubric_score is {score:g}, and none of its judges gave a score"
    mean = math.fsum(present) / len(present)
    if _close(mean, score):
        return None
    return f"rubric_score {score:g} is not the mean of its judges, {mean:g}"


def _of_verdicts(row: ResultRow, score: float, bar: float | None) -> str | None:
    raw, verdict = row.raw_verdict, row.verdict
    if bar is not None and not _is_near_miss(score, bar):
        due = Verdict.PASS if score >= bar else Verdict.FAIL
        for name, found in (("raw_verdict", raw), ("verdict", verdict if raw is None else None)):
            if found in _DECIDED and found != due:
                side = "reaches" if due is Verdict.PASS else "is below"
                return f"{name} is {found}, and rubric_score {score:g} {side} pass_from {bar:g}"
    is_explained = row.missing_reason is not None
    if raw in _DECIDED and verdict in _DECIDED and raw != verdict and not is_explained:
        return f"verdict is {verdict}, raw_verdict {raw}, and no missing_reason tells why"
    return None


def _is_near_miss(score: float, bar: float) -> bool:
    """Whether only rounding tells a score from the bar, though they are not the same."""
    return score != bar and _close(score, bar)


def _close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=0, abs_tol=_CLOSE)

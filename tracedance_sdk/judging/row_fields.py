"""Fields of judges' rows that are beyond the common ones, read as if anybody had written them."""

from __future__ import annotations

import math
from typing import Any, Final

from tracedance_sdk.grading import ResultRow

MOST: Final = 5.0
"""The highest score; a score from 0 to 1 is this share of it."""


def is_judged(row: ResultRow) -> bool:
    """Whether a row is a judge's or a panel's."""
    return row.grader.startswith(("judge:", "rubric:"))


def text_field(row: ResultRow, name: str) -> str | None:
    """Return a field that is text and not empty; None when it is anything else."""
    found = (row.model_extra or {}).get(name)
    return found if isinstance(found, str) and found else None


def number_field(row: ResultRow, name: str) -> float | None:
    """Return a field that is a score, from 0 to 5; None when it is anything else."""
    return _score((row.model_extra or {}).get(name))


def object_field(row: ResultRow, name: str) -> dict[str, Any]:
    """Return a field that is an object; an empty one when it is anything else."""
    found = (row.model_extra or {}).get(name)
    return found if isinstance(found, dict) else {}


def scores_field(row: ResultRow, name: str) -> dict[str, float | None]:
    """Return a field that holds scores by name; whatever is no score is None."""
    return {key: _score(value) for key, value in object_field(row, name).items()}


def score_of(row: ResultRow) -> float | None:
    """Return the score of a row on the scale from 0 to 5.

    Example:
        >>> from tracedance_sdk.grading import Subject
        >>> score_of(ResultRow(subject=Subject(), grader="judge:m", score=0.5))
        2.5
    """
    found = number_field(row, "rubric_score")
    if found is not None:
        return found
    return None if row.score is None else MOST * row.score


def why_missing(row: ResultRow) -> str:
    """Return why a row has no score, in words that are the same for all of that kind."""
    told = text_field(row, "missing")
    if told is None:
        told = (row.missing_reason or "not told").partition(":")[0]
    return f"no score by the judge: {told}"


def reason_of(row: ResultRow) -> str:
    """Return a judge's reason; empty when it gave none."""
    for item in row.evidence:
        said = item.get("reasoning") if isinstance(item, dict) else None
        if isinstance(said, str) and said.strip():
            return said
    return ""


def _score(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if math.isfinite(value) and 0 <= value <= MOST else None

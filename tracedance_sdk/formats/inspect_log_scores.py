"""The outcome of an Inspect sample: its scores, and what stopped it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tracedance_sdk.trace import Json

_VERDICTS: Final = {"C": True, "I": False}
"""Inspect's letters for correct and incorrect; partial (P) and no answer (N) are neither."""


def outcome_of(sample: Mapping[str, Any], header: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the fields of `Outcome` of a sample.

    Success is the verdict on which all scores agree that give one (the letters C and I, or a
    truth value); the reward is the number of the only score that has one. All scores stand in
    the details as they are.

    Args:
        sample: The sample, attachments resolved.
        header: The log without its samples.
    """
    scores = sample.get("scores") or sample.get("score")
    entries = _entries(scores)
    values = [entry.get("value") for entry in entries]
    verdicts = {found for value in values if (found := _verdict(value)) is not None}
    numbers = [v for v in values if isinstance(v, (int, float)) and not isinstance(v, bool)]
    error, limit = sample.get("error"), sample.get("limit")
    details = {"scores": scores, "limit": limit}
    return {
        "success": verdicts.pop() if len(verdicts) == 1 else None,
        "reward": float(numbers[0]) if len(numbers) == 1 else None,
        "ended": _ended(error, limit, header),
        "error": _error(error),
        "details": {k: v for k, v in details.items() if v not in (None, {}, [])},
    }


def _entries(scores: Json) -> list[dict[str, Any]]:
    """Return the scores, which are named, or, in old logs, only one."""
    if not isinstance(scores, dict):
        return []
    if "value" in scores and not isinstance(scores["value"], dict):
        return [scores]
    return [entry for entry in scores.values() if isinstance(entry, dict)]


def _verdict(value: Json) -> bool | None:
    if isinstance(value, bool):
        return value
    return _VERDICTS.get(value) if isinstance(value, str) else None


def _ended(error: Json, limit: Json, header: Mapping[str, Any]) -> bool | None:
    if error or limit:
        return False
    return True if header.get("status") == "success" else None


def _error(error: Json) -> dict[str, Any] | None:
    if not isinstance(error, dict):
        return None
    message = str(error.get("message", ""))
    kind, _, _ = message.partition("(")
    named = kind if kind.isidentifier() else "error"
    return {**error, "type": named, "message": message}

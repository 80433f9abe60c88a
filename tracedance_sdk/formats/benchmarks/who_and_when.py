"""Who&When: failed conversations of several agents, and humans' word on who failed when.

The agent, the step (index of the turn, as text) and the reason stand under
``metadata["annotations"]``, the right answer under ``metadata["reference"]``.
"""

from __future__ import annotations

from typing import Any, Final

from tracedance_sdk.formats.benchmarks.speakers import read_speakers
from tracedance_sdk.formats.places import Misfit, Place, optional
from tracedance_sdk.trace import (
    Json,
    Outcome,
    Source,
    Trace,
    imported_trace_id,
    source_digest,
)

NAME: Final = "who_and_when"

_LABELS: Final = ("mistake_agent", "mistake_step", "mistake_reason", "mistake_type", "labels")
_VERDICTS: Final = ("is_correct", "is_corrected")


def trace_from_who_and_when(record: Json, place: Place, *, uri: str | None = None) -> Trace:
    """Build the trace of a conversation; its turns have the indices of ``history``.

    Args:
        record: The parsed file.
        place: Where it stands, for errors.
        uri: The file.

    Raises:
        InvalidTrace: No such file, or a message of another shape.
    """
    fields = place.expect(record, dict)
    messages = place.field(fields, "history", list)
    try:
        log = read_speakers(messages, key=NAME)
    except Misfit as misfit:
        raise place.located(misfit.below("history")) from None
    question_id = place.field(fields, "question_ID", str)
    is_team = any(isinstance(item, dict) and "name" in item for item in messages)
    return log.trace(
        imported_trace_id(NAME, source_digest(messages), question_id),
        where=place.where,
        group=question_id,
        task_id=question_id,
        agent={"name": "captain-agent" if is_team else "magentic-one"},
        outcome=_outcome(fields),
        source=Source(collector=NAME, uri=uri, native_id=question_id),
        metadata=_metadata(fields),
    )


def _outcome(fields: dict[str, Any]) -> Outcome:
    told: dict[str, Json] = {key: fields[key] for key in _VERDICTS if key in fields}
    found = [item for item in told.values() if isinstance(item, bool)]
    return Outcome(success=found[0] if found else None, details=told)


def _metadata(fields: dict[str, Any]) -> dict[str, Json]:
    known = ("history", "ground_truth", "question_ID", "system_prompt", *_LABELS, *_VERDICTS)
    found: dict[str, Json] = {k: v for k, v in fields.items() if k not in known}
    found["annotations"] = {key: fields[key] for key in _LABELS if key in fields}
    found["reference"] = {"ground_truth": fields.get("ground_truth")}
    prompts = optional(fields, "system_prompt", dict)
    if prompts:
        found["system_prompts"] = prompts
    return found

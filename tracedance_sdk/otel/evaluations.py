"""Grades as ``gen_ai.evaluation.result`` events."""

from __future__ import annotations

from tracedance_sdk.journal import Attributes, EventRecord
from tracedance_sdk.otel import names


def evaluation_event(
    name: str,
    *,
    trace_id: str,
    span_id: str,
    time_ns: int,
    score: float | None = None,
    label: str | None = None,
    explanation: str | None = None,
    error_type: str | None = None,
) -> EventRecord:
    """Return one grade as an event of the span it judges.

    Args:
        name: The metric, such as the grader's name.
        trace_id: OpenTelemetry trace of the judged span.
        span_id: The judged span: a run's root or a call's.
        time_ns: When it was judged, nanoseconds since the epoch.
        score: Its number, in the grader's own range.
        label: Its word, of few different ones: ``pass``, ``fail``.
        explanation: Why.
        error_type: Set when the grader itself failed.

    Example:
        >>> event = evaluation_event(
        ...     "final_state", trace_id="0a" * 16, span_id="0b" * 8, time_ns=0, label="pass"
        ... )
        >>> event.attributes["gen_ai.evaluation.score.label"]
        'pass'
    """
    facts = {
        names.EVALUATION_NAME: name,
        names.EVALUATION_SCORE: None if score is None else float(score),
        names.EVALUATION_LABEL: label,
        names.EVALUATION_EXPLANATION: explanation,
        names.ERROR_TYPE: error_type,
    }
    attributes: Attributes = {key: value for key, value in facts.items() if value is not None}
    return EventRecord(names.EVALUATION, trace_id, span_id, time_ns, attributes)

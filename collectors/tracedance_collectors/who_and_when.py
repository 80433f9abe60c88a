"""Who&When's files: one failed conversation of several agents in each, with human labels."""

from __future__ import annotations

from tracedance_sdk.formats import Place, RecordCollector, Signature
from tracedance_sdk.formats.benchmarks import trace_from_who_and_when
from tracedance_sdk.trace import Json, Trace


def read(record: Json, place: Place, uri: str) -> Trace:
    """Build the trace of a conversation."""
    return trace_from_who_and_when(record, place, uri=uri)


collector = RecordCollector(
    "who_and_when",
    (
        Signature.of("history[].role", "history[].content", "question"),
        Signature.of("history", "mistake_agent", "mistake_step"),
        Signature.of("is_correct", "question_ID", "history"),
    ),
    read,
)

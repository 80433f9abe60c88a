"""Agent Data Protocol: standard trajectories, and raw rows of nebius/SWE-agent-trajectories."""

from __future__ import annotations

from tracedance_sdk.formats import Place, RecordCollector, Signature
from tracedance_sdk.formats.benchmarks import trace_from_adp, trace_from_nebius_row
from tracedance_sdk.trace import Json, Trace


def read(record: Json, place: Place, uri: str) -> Trace:
    """Build the trace of a standard trajectory or a raw row."""
    if isinstance(record, dict) and "trajectory" in record:
        return trace_from_nebius_row(record, place, uri=uri)
    return trace_from_adp(record, place, uri=uri)


collector = RecordCollector(
    "adp",
    (
        Signature.of("id", "content", "content[].class_"),
        Signature.of("instance_id", "trajectory[].role", "trajectory[].text"),
    ),
    read,
)

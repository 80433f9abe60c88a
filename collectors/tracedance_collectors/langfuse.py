"""Langfuse's exports: a trace with its observations, or observations as its API lists them.

The inputs and outputs of every framework that reports to Langfuse are read; generations that repeat
earlier messages become one trace, and a file with several conversations gives several.
"""

from __future__ import annotations

from tracedance_sdk.formats import SessionCollector, Signature, traces_from_langfuse

_KINDS = ("GENERATION", "SPAN", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EMBEDDING")

collector = SessionCollector(
    "langfuse",
    [
        Signature.of("trace.projectId", "trace.id"),
        Signature.of("observations[].traceId", "observations[].type"),
        Signature.of("projectId", "observations", "timestamp"),
        Signature.of("traceId", "parentObservationId", values={"type": _KINDS}),
        Signature.of("traceId", "startTime", values={"type": _KINDS}),
        Signature.of("data[].traceId", "data[].parentObservationId"),
    ],
    traces_from_langfuse,
)

"""Record what an agent did as evidence, grade how it did it, replay what went wrong.

    import tracedance_sdk as td

Everything here is imported on first use; importing the package does nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracedance_sdk._lazy import lazy_face

if TYPE_CHECKING:
    from tracedance_sdk.formats.trace_json import load_trace, save_trace
    from tracedance_sdk.grading import (
        Grade,
        Report,
        TaskSpec,
        Verdict,
        evaluate,
        evaluate_async,
        load_spec,
    )
    from tracedance_sdk.recording import SpanCollector, TraceRecorder, agent, configure, flush, tool
    from tracedance_sdk.store import TraceStore
    from tracedance_sdk.trace import UNKNOWN, Call, Result, Trace, Turn

__all__ = [
    "UNKNOWN",
    "Call",
    "Grade",
    "Report",
    "Result",
    "SpanCollector",
    "TaskSpec",
    "Trace",
    "TraceRecorder",
    "TraceStore",
    "Turn",
    "Verdict",
    "agent",
    "configure",
    "evaluate",
    "evaluate_async",
    "flush",
    "load_spec",
    "load_trace",
    "save_trace",
    "tool",
]

__getattr__, __dir__ = lazy_face(
    __name__,
    {
        "formats.trace_json": ("load_trace", "save_trace"),
        "grading": (
            "Grade",
            "Report",
            "TaskSpec",
            "Verdict",
            "evaluate",
            "evaluate_async",
            "load_spec",
        ),
        "recording": ("SpanCollector", "TraceRecorder", "agent", "configure", "flush", "tool"),
        "store": ("TraceStore",),
        "trace": ("UNKNOWN", "Call", "Result", "Trace", "Turn"),
    },
)

"""Logs of benchmarks: what each of them writes of a run, as traces.

Submodules are imported when one of their names is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracedance_sdk._lazy import lazy_face

if TYPE_CHECKING:
    from tracedance_sdk.formats.benchmarks.agentdojo import is_file_header, trace_from_agentdojo
    from tracedance_sdk.formats.benchmarks.mini_swe_agent import trace_from_mini_swe_agent
    from tracedance_sdk.formats.benchmarks.swe_agent import trace_from_swe_agent
    from tracedance_sdk.formats.benchmarks.swebench import REPORTS, Verdict, swebench_verdict

__all__ = [
    "REPORTS",
    "Verdict",
    "is_file_header",
    "swebench_verdict",
    "trace_from_agentdojo",
    "trace_from_mini_swe_agent",
    "trace_from_swe_agent",
]

__getattr__, __dir__ = lazy_face(
    __name__,
    {
        "agentdojo": ("is_file_header", "trace_from_agentdojo"),
        "mini_swe_agent": ("trace_from_mini_swe_agent",),
        "swe_agent": ("trace_from_swe_agent",),
        "swebench": ("REPORTS", "Verdict", "swebench_verdict"),
    },
)

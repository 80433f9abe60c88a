"""Logs of benchmarks: what each of them writes of a run, as traces.

Submodules are imported when one of their names is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracedance_sdk._lazy import lazy_face

if TYPE_CHECKING:
    from tracedance_sdk.formats.benchmarks.agentdojo import is_file_header, trace_from_agentdojo
    from tracedance_sdk.formats.benchmarks.beside import names_beside, read_beside
    from tracedance_sdk.formats.benchmarks.mini_swe_agent import trace_from_mini_swe_agent
    from tracedance_sdk.formats.benchmarks.openhands_completions import trace_from_completion_log
    from tracedance_sdk.formats.benchmarks.openhands_runs import (
        trace_from_events,
        trace_from_openhands_row,
    )
    from tracedance_sdk.formats.benchmarks.swe_agent import trace_from_swe_agent
    from tracedance_sdk.formats.benchmarks.swebench import REPORTS, Verdict, swebench_verdict
    from tracedance_sdk.formats.benchmarks.tau2 import trace_from_simulation

__all__ = [
    "REPORTS",
    "Verdict",
    "is_file_header",
    "names_beside",
    "read_beside",
    "swebench_verdict",
    "trace_from_agentdojo",
    "trace_from_completion_log",
    "trace_from_events",
    "trace_from_mini_swe_agent",
    "trace_from_openhands_row",
    "trace_from_simulation",
    "trace_from_swe_agent",
]

__getattr__, __dir__ = lazy_face(
    __name__,
    {
        "agentdojo": ("is_file_header", "trace_from_agentdojo"),
        "beside": ("names_beside", "read_beside"),
        "mini_swe_agent": ("trace_from_mini_swe_agent",),
        "openhands_completions": ("trace_from_completion_log",),
        "openhands_runs": ("trace_from_events", "trace_from_openhands_row"),
        "swe_agent": ("trace_from_swe_agent",),
        "swebench": ("REPORTS", "Verdict", "swebench_verdict"),
        "tau2": ("trace_from_simulation",),
    },
)

"""Logs of benchmarks: what each of them writes of a run, as traces.

Submodules are imported when one of their names is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracedance_sdk._lazy import lazy_face

if TYPE_CHECKING:
    from tracedance_sdk.formats.benchmarks.adp import trace_from_adp
    from tracedance_sdk.formats.benchmarks.agentdojo import is_file_header, trace_from_agentdojo
    from tracedance_sdk.formats.benchmarks.beside import documents_beside, files_beside
    from tracedance_sdk.formats.benchmarks.magentic import trace_from_magentic
    from tracedance_sdk.formats.benchmarks.mini_swe_agent import trace_from_mini_swe_agent
    from tracedance_sdk.formats.benchmarks.nebius import trace_from_nebius_row
    from tracedance_sdk.formats.benchmarks.openhands_completions import trace_from_completion_log
    from tracedance_sdk.formats.benchmarks.openhands_runs import (
        trace_from_events,
        trace_from_openhands_row,
    )
    from tracedance_sdk.formats.benchmarks.reflexion_alfworld import trace_from_alfworld
    from tracedance_sdk.formats.benchmarks.reflexion_react import (
        ReactRun,
        split_react_log,
        trace_from_react,
    )
    from tracedance_sdk.formats.benchmarks.swe_agent import trace_from_swe_agent
    from tracedance_sdk.formats.benchmarks.swebench import REPORTS, Verdict, swebench_verdict
    from tracedance_sdk.formats.benchmarks.tau2 import trace_from_simulation
    from tracedance_sdk.formats.benchmarks.tau_few_shot import trace_from_few_shot
    from tracedance_sdk.formats.benchmarks.who_and_when import trace_from_who_and_when

__all__ = [
    "REPORTS",
    "ReactRun",
    "Verdict",
    "documents_beside",
    "files_beside",
    "is_file_header",
    "split_react_log",
    "swebench_verdict",
    "trace_from_adp",
    "trace_from_agentdojo",
    "trace_from_alfworld",
    "trace_from_completion_log",
    "trace_from_events",
    "trace_from_few_shot",
    "trace_from_magentic",
    "trace_from_mini_swe_agent",
    "trace_from_nebius_row",
    "trace_from_openhands_row",
    "trace_from_react",
    "trace_from_simulation",
    "trace_from_swe_agent",
    "trace_from_who_and_when",
]

__getattr__, __dir__ = lazy_face(
    __name__,
    {
        "adp": ("trace_from_adp",),
        "agentdojo": ("is_file_header", "trace_from_agentdojo"),
        "beside": ("documents_beside", "files_beside"),
        "magentic": ("trace_from_magentic",),
        "mini_swe_agent": ("trace_from_mini_swe_agent",),
        "nebius": ("trace_from_nebius_row",),
        "openhands_completions": ("trace_from_completion_log",),
        "openhands_runs": ("trace_from_events", "trace_from_openhands_row"),
        "reflexion_alfworld": ("trace_from_alfworld",),
        "reflexion_react": ("ReactRun", "split_react_log", "trace_from_react"),
        "swe_agent": ("trace_from_swe_agent",),
        "swebench": ("REPORTS", "Verdict", "swebench_verdict"),
        "tau2": ("trace_from_simulation",),
        "tau_few_shot": ("trace_from_few_shot",),
        "who_and_when": ("trace_from_who_and_when",),
    },
)

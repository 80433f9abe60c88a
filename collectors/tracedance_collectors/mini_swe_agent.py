"""mini-swe-agent's trajectories (``.traj.json``), plain or gzipped.

Whether a run solved its task is taken from SWE-bench's report where one lies beside.
"""

from __future__ import annotations

from pathlib import Path

from tracedance_sdk.formats import Place, RecordCollector, Signature
from tracedance_sdk.formats.benchmarks import REPORTS, swebench_verdict, trace_from_mini_swe_agent
from tracedance_sdk.trace import Json, Trace

_NAMES = ("*.traj.json", "*.traj.json.gz")


def read(record: Json, place: Place, uri: str) -> Trace:
    """Build the trace of a run, with the verdict that lies beside it."""
    path = Path(uri)
    instance = path.name.removesuffix(".gz").removesuffix(".json").removesuffix(".traj")
    named = record.get("instance_id") if isinstance(record, dict) else None
    verdict = swebench_verdict(path, named if isinstance(named, str) else instance)
    return trace_from_mini_swe_agent(record, place, instance=instance, uri=uri, verdict=verdict)


collector = RecordCollector(
    "mini_swe_agent",
    (
        Signature.of("info.mini_version", "messages"),
        Signature.of("info.config.agent", "messages[].role", names=_NAMES),
        Signature.of("role", "content", names=_NAMES, depth=1, least_depth=1),
    ),
    read,
    is_list=False,
    companions=REPORTS,
)

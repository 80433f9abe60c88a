"""SWE-agent's trajectories: ``.traj`` files of every release, plain or gzipped.

Whether a run solved its task stands in none of them (a run that failed may say ``submitted``): it
is taken from SWE-bench's reports where they lie beside, as ``<instance>.report.json``, in a
``reports`` folder next to the trajectories, or as one summary with ``resolved_ids``.
"""

from __future__ import annotations

from pathlib import Path

from tracedance_sdk.formats import Place, RecordCollector, Signature
from tracedance_sdk.formats.benchmarks import REPORTS, swebench_verdict, trace_from_swe_agent
from tracedance_sdk.trace import Json, Trace


def read(record: Json, place: Place, uri: str) -> Trace:
    """Build the trace of a trajectory, with the verdict that lies beside it."""
    path = Path(uri)
    instance = path.name.removesuffix(".gz").removesuffix(".traj")
    verdict = swebench_verdict(path, instance)
    return trace_from_swe_agent(record, place, instance=instance, uri=uri, verdict=verdict)


collector = RecordCollector(
    "swe_agent",
    (
        Signature.of("trajectory[].action", "trajectory[].observation", "trajectory[].thought"),
        Signature.of("history[].role", "history[].agent", names=("*.traj", "*.traj.gz")),
        Signature.of("trajectory[].action", names=("*.traj", "*.traj.gz")),
        Signature.of("trajectory", "environment", names=("*.traj", "*.traj.gz")),
    ),
    read,
    is_list=False,
    companions=REPORTS,
)

"""OpenHands: logs of model calls, event streams, and the ``output.jsonl`` of benchmarks.

Of a run's logs of model calls the last holds the whole run; earlier ones give the same trace,
shorter. Whether a run solved its task is taken from SWE-bench's report where one lies beside.
"""

from __future__ import annotations

from pathlib import Path

from tracedance_sdk.formats import Place, RecordCollector, Signature
from tracedance_sdk.formats.benchmarks import (
    REPORTS,
    swebench_verdict,
    trace_from_completion_log,
    trace_from_events,
    trace_from_openhands_row,
)
from tracedance_sdk.trace import Json, Trace

_COMPLETIONS = "llm_completions"


def read(record: Json, place: Place, uri: str) -> Trace:
    """Build the trace of a log, a stream of events, or a row."""
    path = Path(uri)
    name = path.name.removesuffix(".gz").removesuffix(".json")
    if isinstance(record, list):
        return trace_from_events(record, place, name=name, uri=uri)
    if isinstance(record, dict) and "history" in record:
        task = record.get("instance_id")
        verdict = swebench_verdict(path, task) if isinstance(task, str) else None
        return trace_from_openhands_row(record, place, uri=uri, verdict=verdict)
    is_one_of_many = path.parent.parent.name == _COMPLETIONS
    instance = path.parent.name if is_one_of_many else name
    verdict = swebench_verdict(path, instance)
    return trace_from_completion_log(record, place, instance=instance, uri=uri, verdict=verdict)


_SOURCES = ("agent", "user", "environment")

collector = RecordCollector(
    "openhands",
    (
        Signature.of("messages", "response", "kwargs"),
        # The response stands too far behind to be seen; a conversation with an id is no log.
        Signature.of("messages[].role", contains=(b"You are OpenHands agent",), without=("id",)),
        Signature.of("instance_id", "test_result", "metadata.agent_class"),
        Signature.of("instance_id", "history[].source", "history[].timestamp"),
        Signature.of("id", "timestamp", "action", values={"source": _SOURCES}, least_depth=1),
        Signature.of("id", "timestamp", "observation", values={"source": _SOURCES}, least_depth=1),
    ),
    read,
    is_list=False,
    companions=REPORTS,
)

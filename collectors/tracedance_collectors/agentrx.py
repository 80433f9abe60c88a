"""AgentRx: tau-bench retail runs and Magentic-One logs, with human annotations of every failure.

Annotations lie in files of their own beside (``ground_truth``), and are joined by the id of the
trajectory: for the logs the name of the file, for tau-bench the task of a run of the list of
failed ones (``*failed*``), to which the same run of another list also belongs.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tracedance_collectors.tau_bench import trace_from_run
from tracedance_sdk.formats import ImportProblem, Place, RecordCollector, Signature, guarded
from tracedance_sdk.formats.benchmarks import documents_beside, files_beside, trace_from_magentic
from tracedance_sdk.trace import (
    Json,
    Source,
    Trace,
    imported_trace_id,
    source_digest,
)

NAME = "agentrx"


def read(record: Json, place: Place, uri: str) -> Iterator[Trace | ImportProblem]:
    """Yield the trace of a log, or those of a list of runs."""
    path = Path(uri)
    labels = _annotations(path)
    if not _is_list_of_runs(record):
        name = path.name.removesuffix(".gz").removesuffix(".json")
        annotations = labels.get(name, ())
        yield trace_from_magentic(record, place, name=name, annotations=annotations, uri=uri)
        return
    annotated = _annotated_runs(path)
    for index, run in enumerate(record):
        at = place.at(index)
        known = labels if _run_key(run) in annotated else {}
        yield from guarded(partial(_run, run, at, uri, known), at, uri)


def _is_list_of_runs(record: Json) -> bool:
    first = record[0] if isinstance(record, list) and record else None
    return isinstance(first, dict) and "traj" in first


def _run(run: Json, place: Place, uri: str, labels: dict[str, list[Json]]) -> Trace:
    trace = trace_from_run(_with_plain_prompt(run), place, uri=uri)
    native_id = trace.source.native_id if trace.source else None
    annotations = labels.get(trace.task_id or "", [])
    metadata = {**trace.metadata, **({"annotations": annotations} if annotations else {})}
    return trace.model_copy(
        update={
            "id": imported_trace_id(NAME, source_digest(run["traj"]), native_id or ""),
            "source": Source(collector=NAME, uri=uri, native_id=native_id),
            "metadata": metadata,
        }
    )


def _with_plain_prompt(run: Json) -> Json:
    """Return a run whose system message has no number, so that it is the system prompt."""
    messages = run.get("traj") if isinstance(run, dict) else None
    first = messages[0] if isinstance(messages, list) and messages else None
    if not isinstance(first, dict) or first.get("role") != "system" or first.get("index") != 1:
        return run
    plain = {key: item for key, item in first.items() if key != "index"}
    return {**run, "traj": [plain, *run["traj"][1:]]}


def _run_key(run: Json) -> tuple[str, str]:
    fields = run if isinstance(run, dict) else {}
    return str(fields.get("task_id")), str(fields.get("trial"))


def _annotated_runs(path: Path) -> set[tuple[str, str]]:
    """Return task and trial of the runs that annotations are about: those known to have failed."""
    documents = documents_beside(files_beside(path.parent, "*failed*.json"))
    return {
        _run_key(run)
        for _, document in documents
        for run in (document if isinstance(document, list) else ())
    }


def _annotations(path: Path) -> dict[str, list[Json]]:
    """Return the annotations beside a file by trajectory, each with the file it stands in."""
    found: dict[str, list[Json]] = {}
    folder = path.parent.parent / "ground_truth"
    for name, document in documents_beside(files_beside(folder, "*.json")):
        for entry in document if isinstance(document, list) else ():
            if isinstance(entry, dict) and "failures" in entry:
                key = str(entry.get("trajectory_id"))
                found.setdefault(key, []).append({"file": name, **entry})
    return found


collector = RecordCollector(
    NAME,
    (
        Signature.of("task_id", "reward", "traj", "traj[].index", least_depth=1),
        Signature.of(
            "content", values={"role": "human"}, contains=(b"Orchestrator (",), least_depth=1
        ),
    ),
    read,
    is_list=False,
    companions=(
        Signature.of("trajectory_id", "failures", least_depth=1),
        Signature.of("role", "index", names=("*tools_structure*",), least_depth=1),
    ),
)

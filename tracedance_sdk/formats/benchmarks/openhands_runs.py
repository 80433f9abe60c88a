"""OpenHands' runs as traces: bare event streams, and rows of benchmarks' output files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tracedance_sdk.formats.benchmarks.openhands_completions import NAME
from tracedance_sdk.formats.benchmarks.openhands_events import EventLog
from tracedance_sdk.formats.benchmarks.stepping import take_each
from tracedance_sdk.formats.benchmarks.swebench import Verdict
from tracedance_sdk.formats.places import Place, optional
from tracedance_sdk.trace import (
    ErrorInfo,
    Json,
    Outcome,
    Source,
    Trace,
    imported_trace_id,
    source_digest,
)

_ROW_FIELDS = ("history", "instance_id", "instance", "test_result", "error")


def trace_from_events(events: Json, place: Place, *, name: str, uri: str | None = None) -> Trace:
    """Build the trace of a stream of events.

    Args:
        events: The parsed list.
        place: Where it stands, for errors.
        name: What the file is named after.
        uri: The file.

    Raises:
        InvalidTrace: No list of events.
        Misfit: An event of another shape.
    """
    entries = place.expect(events, list)
    log = _read(entries, place)
    return _trace(
        log,
        place,
        namespace=source_digest(entries[:1]),
        name=name,
        uri=uri,
        outcome=Outcome(ended=True) if log.finished else None,
    )


def trace_from_openhands_row(
    row: Json, place: Place, *, uri: str | None = None, verdict: Verdict | None = None
) -> Trace:
    """Build the trace of a row of ``output.jsonl``: a task's run with its history and result.

    Args:
        row: The parsed row.
        place: Where it stands, for errors.
        uri: The file.
        verdict: SWE-bench's, from a file beside it, where the row has none.

    Returns:
        A trace of which ``metadata["reference"]`` is the instance of the data set, with the patch
        that the agent never saw.

    Raises:
        InvalidTrace: No such row.
        Misfit: An event of another shape.
    """
    fields = place.expect(row, dict)
    task = place.field(fields, "instance_id", str)
    entries = place.field(fields, "history", list)
    log = _read(entries, place.at("history"))
    metadata: dict[str, Json] = {k: v for k, v in fields.items() if k not in _ROW_FIELDS}
    if fields.get("instance") is not None:
        metadata["reference"] = fields["instance"]
    return _trace(
        log,
        place,
        namespace=source_digest(entries[:1] or fields),
        name=task,
        uri=uri,
        task=task,
        outcome=_outcome(fields, log, verdict),
        metadata=metadata,
    )


def _read(entries: list[Json], place: Place) -> EventLog:
    log = EventLog(place)
    take_each(_events(entries), lambda _, event: log.take(event))
    return log


def _events(entries: list[Json]) -> Iterator[Json]:
    """Yield the events of a history; older ones pair each action with its observation."""
    for entry in entries:
        yield from entry if isinstance(entry, list) else (entry,)


def _trace(
    log: EventLog,
    place: Place,
    *,
    namespace: str,
    name: str,
    uri: str | None,
    outcome: Outcome | None,
    task: str | None = None,
    metadata: dict[str, Json] | None = None,
) -> Trace:
    found = dict(metadata or {})
    if log.aside:
        found["events"] = log.aside
    return log.transcript.trace(
        imported_trace_id(NAME, namespace, task or ""),
        where=place.where,
        group=task,
        task_id=task,
        agent={"name": "openhands", "version": log.version},
        system_prompt=log.system_prompt,
        tools=log.tools,
        outcome=outcome,
        source=Source(collector=NAME, uri=uri, native_id=name),
        started_at=log.started_at,
        ended_at=log.ended_at,
        metadata=found,
    )


def _outcome(fields: dict[str, Any], log: EventLog, verdict: Verdict | None) -> Outcome:
    result = optional(fields, "test_result", dict) or {}
    report = result.get("report")
    resolved = report.get("resolved") if isinstance(report, dict) else result.get("resolved")
    error = optional(fields, "error", str)
    details: dict[str, Json] = dict(result)
    if not isinstance(resolved, bool) and verdict is not None:
        resolved = verdict.resolved
        details["report"] = {**verdict.details, "file": verdict.file}
    has_ended = True if log.finished else None
    return Outcome(
        success=resolved if isinstance(resolved, bool) else None,
        ended=False if error else has_ended,
        error=ErrorInfo(type="error", message=error) if error else None,
        details=details,
    )

"""TraceEval's camelCase traces, both ways.

A TraceEval trace is a task id, an initial and a final state, and a list of actions, each with
its result. All actions become the calls of one synthetic assistant turn. `timestamp` is taken
after an action, so a call starts ``durationMs`` before it.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from tracedance_sdk.errors import shown
from tracedance_sdk.formats.leftovers import leftover, restored
from tracedance_sdk.formats.places import Misfit, Place, expect, field, optional
from tracedance_sdk.trace import (
    UNKNOWN,
    Call,
    ErrorInfo,
    Json,
    Result,
    Source,
    Trace,
    assess,
    build,
    imported_trace_id,
)

COLLECTOR: Final = "traceeval"
_KEPT: Final = "traceeval"
_PLAIN_ERROR: Final = "error"
"""Error type of a failure that TraceEval gives as text alone."""


def is_traceeval(document: Json) -> bool:
    """Whether a parsed document has the shape of a TraceEval trace."""
    return isinstance(document, dict) and "taskId" in document and "actions" in document


def trace_from_traceeval(document: Json, *, where: str = "trace") -> Trace:
    """Build a trace from a TraceEval document.

    Args:
        document: The parsed JSON object. Optional fields may be absent or null; an absent state
            is unknown, null is a state.
        where: What it is, for messages.

    Returns:
        The trace; its id follows from task and id, so reading again gives the same one.

    Raises:
        InvalidTrace: A field is missing, of the wrong type, or out of order, as
            ``what @ $.path``.
    """
    root = Place(where)
    try:
        found = _read_trace(expect(document, dict))
    except Misfit as misfit:
        raise root.located(misfit) from None
    trace = build(found, where)
    kept = leftover(traceeval_from_trace(trace), document)
    return assess(trace.model_copy(update={_KEPT: kept}) if kept else trace)


def _read_trace(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of the `Trace`."""
    native_id, task_id = field(fields, "id", str), field(fields, "taskId", str)
    actions = field(fields, "actions", list)
    calls: list[dict[str, Any]] = []
    try:
        for index, action in enumerate(actions):
            calls.append(_read_action(action, index))
    except Misfit as misfit:
        raise misfit.below("actions", len(calls)) from None
    turn = {"index": 0, "role": "assistant", "origin": "agent", "synthetic": True, "calls": calls}
    return {
        "id": imported_trace_id(COLLECTOR, task_id, native_id),
        "task_id": task_id,
        "group": task_id or None,
        "turns": [turn] if calls else [],
        "initial_state": fields.get("initialState", UNKNOWN),
        "final_state": fields.get("finalState", UNKNOWN),
        "source": Source(collector=COLLECTOR, native_id=native_id),
        "started_at": _read_time(fields, "startedAt"),
        "ended_at": _read_time(fields, "completedAt"),
    }


def _read_action(value: Json, index: int) -> dict[str, Any]:
    """Return the fields of a `Call`."""
    entry = expect(value, dict)
    action = field(entry, "action", dict)
    call_id = field(entry, "id", str)
    position = optional(entry, "index", int)
    if position is not None and position != index:
        raise Misfit(f"action index {position}, expected {index}", "index")
    duration_ms = optional(entry, "durationMs", float)
    try:
        name, arguments = _read_use(action, call_id)
    except Misfit as misfit:
        raise misfit.below("action") from None
    result = field(entry, "result", dict)
    try:
        outcome = _read_result(result)
    except Misfit as misfit:
        raise misfit.below("result") from None
    return {
        "index": index,
        "id": call_id,
        "name": name,
        "arguments": arguments,
        "result": outcome,
        "started_at": _started_at(_read_time(entry, "timestamp"), duration_ms),
        "duration_ms": duration_ms,
        "bound_by": "synthetic",
    }


def _read_use(action: dict[str, Any], call_id: str) -> tuple[str, dict[str, Any]]:
    """Return the tool and the arguments of an action."""
    inner_id = optional(action, "id", str)
    if inner_id is not None and inner_id != call_id:
        raise Misfit(f"action id {inner_id!r}, but the entry's is {call_id!r}", "id")
    return field(action, "type", str), optional(action, "input", dict) or {}


def _read_result(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a `Result`."""
    text = optional(fields, "error", str)
    raised = optional(fields, "raised", bool)
    error = None
    if text is not None:
        kind, colon, message = text.partition(": ")
        split = raised and colon and kind
        error = ErrorInfo(type=kind, message=message) if split else _plain_error(text)
    return {
        "ok": field(fields, "success", bool),
        "content": fields.get("output", UNKNOWN),
        "error": error,
    }


def _plain_error(text: str) -> ErrorInfo:
    return ErrorInfo(type=_PLAIN_ERROR, message=text)


def _started_at(finished: datetime | None, duration_ms: float | None) -> datetime | None:
    if finished is None or duration_ms is None:
        return None
    try:
        return finished - timedelta(milliseconds=duration_ms)
    except (OverflowError, ValueError) as error:
        what = f"{duration_ms!r} is no duration in milliseconds"
        raise Misfit(what, "durationMs") from error


def _read_time(fields: dict[str, Any], key: str) -> datetime | None:
    text = optional(fields, key, str)
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise Misfit(f"{shown(text)} is no ISO-8601 time", key) from error


def traceeval_from_trace(trace: Trace) -> dict[str, Any]:
    """Return a trace as a TraceEval document; one that was read from TraceEval comes back equal.

    Messages, simulated users' calls and calls inside calls have no place in it. A result that
    is missing or interrupted is written as a failure; unknown states and times are absent.
    """
    native = trace.source is not None and trace.source.collector == COLLECTOR
    fields: dict[str, Any] = {
        "id": trace.source.native_id if native and trace.source else trace.id,
        "taskId": trace.task_id or "",
    }
    if trace.started_at is not None:
        fields["startedAt"] = _time_text(trace.started_at)
    if trace.ended_at is not None:
        fields["completedAt"] = _time_text(trace.ended_at)
    if trace.initial_state is not UNKNOWN:
        fields["initialState"] = trace.initial_state
    fields["actions"] = [_written_action(call, i) for i, call in enumerate(trace.actions)]
    if trace.final_state is not UNKNOWN:
        fields["finalState"] = trace.final_state
    found: dict[str, Any] = restored(fields, (trace.model_extra or {}).get(_KEPT))
    return found


def _written_action(call: Call, index: int) -> dict[str, Any]:
    entry: dict[str, Any] = {"id": call.id, "index": index}
    finished = _finished_at(call)
    if finished is not None:
        entry["timestamp"] = _time_text(finished)
    arguments = call.arguments if isinstance(call.arguments, dict) else {}
    entry["action"] = {"id": call.id, "type": call.name, "input": arguments}
    entry["result"] = _written_result(call.result)
    if call.duration_ms is not None:
        entry["durationMs"] = call.duration_ms
    return entry


def _finished_at(call: Call) -> datetime | None:
    if call.started_at is None:
        return None
    try:
        return call.started_at + timedelta(milliseconds=call.duration_ms or 0)
    except OverflowError:
        return None


def _written_result(result: Result | None) -> dict[str, Any]:
    if result is None or result.interrupted:
        return {"success": False, "error": "interrupted" if result else "no result recorded"}
    success = result.ok if result.ok is not None else result.error is None
    fields: dict[str, Any] = {"success": success}
    if result.content is not UNKNOWN:
        fields["output"] = result.content
    if result.error is None:
        return fields
    if result.error.type == _PLAIN_ERROR:
        return {**fields, "error": result.error.message}
    fields["error"] = f"{result.error.type}: {result.error.message}"
    return {**fields, "raised": True} if result.content is UNKNOWN else fields


def _time_text(value: datetime) -> str:
    digits = "milliseconds" if value.microsecond % 1000 == 0 else "microseconds"
    return value.isoformat(timespec=digits).replace("+00:00", "Z")

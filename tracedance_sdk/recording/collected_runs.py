"""From the spans of one OpenTelemetry trace to the traces of the runs in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

import orjson

from tracedance_sdk.errors import InvalidTrace, TraceDanceError
from tracedance_sdk.otel import TRACE_ID, assemble, foreign_log, foreign_span
from tracedance_sdk.recording.gathered_spans import Gathering
from tracedance_sdk.recording.guard import GUARD
from tracedance_sdk.recording.plans import Description
from tracedance_sdk.recording.scopes import Scope
from tracedance_sdk.trace import (
    MAX_TRACE_DEPTH,
    Json,
    Note,
    Parent,
    Source,
    Trace,
    assess,
    decode,
    encode_json,
    imported_trace_id,
    parse_json,
)

SOURCE: Final = Source(collector="spans")
"""Where the traces say that they come from."""

OF_NO_RUN: Final = "of no agent, model or tool"
UNREADABLE: Final = "of runs that could not be assembled"

_BY_LIMITS: Final = "limits of the span's provider"
_BY_US: Final = "limits of the collector"


class Given(NamedTuple):
    """What a collector was told of the runs it will see.

    Attributes:
        description: Task, group, session and metadata; its agent is not used.
        defaults: Of `configure`.
        redact: Masks JSON; None when redaction is off.
    """

    description: Description
    defaults: dict[str, Any]
    redact: Callable[[bytes], bytes] | None


def assembled(
    gathering: Gathering, given: Given, *, used: Callable[[str], bool], faults: Counter[str]
) -> list[Trace]:
    """Return the runs in the spans of one OpenTelemetry trace, by start.

    Args:
        gathering: Its spans; those still open make a run that has not ended.
        given: What the runs are said to be about.
        used: Whether a trace with this id was made before.
        faults: Where to count what went wrong.

    Raises:
        Exception: Whatever spans of other programs make their reader raise.
    """
    spans = [foreign_span(span) for span in [*gathering.ended, *list(gathering.open.values())]]
    own = {span.attributes[TRACE_ID] for span in spans if TRACE_ID in span.attributes}
    problems: list[TraceDanceError] = []
    logs = [foreign_log(record) for record in gathering.logs]
    traces = assemble([*spans, *logs], source=SOURCE, problems=problems)
    for problem in problems:
        GUARD.note("assembly", faults, problem)
    # What our own recorders record into the same provider is their trace already.
    found = [_under_new_id(trace, gathering, used) for trace in traces if trace.id not in own]
    placed = list(_placed(found, gathering, given))
    ready = (GUARD.attempt("redaction", faults, _finished, t, gathering, given) for t in placed)
    return [trace for trace in ready if trace is not None]


def _under_new_id(trace: Trace, gathering: Gathering, used: Callable[[str], bool]) -> Trace:
    """Return the trace under another id where spans without a root made one with its id before."""
    if _root_id(trace) is not None or not used(trace.id):
        return trace
    first = min(gathering.known)
    return trace.model_copy(
        update={"id": imported_trace_id("otel", f"{gathering.trace_id:032x}", "", str(first))}
    )


def _placed(traces: list[Trace], gathering: Gathering, given: Given) -> Iterator[Trace]:
    """Yield the traces with what is known of them beside their spans."""
    ids = {trace.id for trace in traces}
    tops = [t.id for t in traces if t.parent is None or t.parent.trace_id not in ids]
    for trace in traces:
        scope = _scope(trace, gathering)
        update = _described(trace, scope, given, is_top=trace.id in tops)
        if [trace.id] == tops[:1] and gathering.before is not None:
            update["initial_state"] = orjson.loads(gathering.before)
        if [trace.id] == tops[-1:] and gathering.after is not None:
            update["final_state"] = orjson.loads(gathering.after)
        yield trace.model_copy(update=update)


def _scope(trace: Trace, gathering: Gathering) -> Scope | None:
    """Return the scope of our own recorder in which the run began."""
    root = _root_id(trace)
    scope = None if root is None else gathering.scopes.get(int(root, 16))
    return scope or gathering.first_scope


def _root_id(trace: Trace) -> str | None:
    return None if trace.otel is None else trace.otel.root_span_id


def _described(trace: Trace, scope: Scope | None, given: Given, *, is_top: bool) -> dict[str, Any]:
    around = None if scope is None else scope.run.description
    said = given.description.within(around, given.defaults)
    update: dict[str, Any] = {}
    if said.group is not None:
        update["group"] = said.group
    if said.session_id is not None:
        update["session_id"] = said.session_id
        if trace.session_id not in (None, said.session_id):
            own = {**_object(trace.metadata.get("otel")), "session_id": trace.session_id}
            update["metadata"] = {**trace.metadata, "otel": own}
    if not is_top:
        return update
    task_id = said.task_id or (None if around is None else around.task_id)
    if task_id is not None:
        update["task_id"] = task_id
    outer = {} if around is None else around.metadata
    update["metadata"] = {**outer, **said.metadata, **update.get("metadata", trace.metadata)}
    if scope is not None and trace.parent is None:
        update["parent"] = Parent(trace_id=scope.run.identity.trace_id, call_id=scope.call_id)
    return update


def _finished(trace: Trace, gathering: Gathering, given: Given) -> Trace:
    """Return the trace without secrets, with notes of what its spans lost.

    Raises:
        InvalidTrace: The redactor left no trace.
    """
    trace = _masked(trace, given.redact)
    return assess(trace, notes=[*trace.fidelity.notes, *_losses(gathering)])


def _masked(trace: Trace, redact: Callable[[bytes], bytes] | None) -> Trace:
    if redact is None:
        return trace
    data = encode_json(trace)
    clean = redact(data)
    if clean is data:
        return trace
    document = parse_json(clean, where="masked", max_depth=MAX_TRACE_DEPTH)
    if not isinstance(document, dict):
        raise InvalidTrace(f"trace {trace.id}: the redactor left no trace of it")
    return decode(document, where="masked")


def _losses(gathering: Gathering) -> Iterable[Note]:
    if lost := gathering.lost.total():
        yield Note(kind="record_lost", count=lost, places=(_BY_US,))
    if gathering.cut:
        yield Note(kind="record_lost", count=gathering.cut, places=(_BY_LIMITS,))


def _object(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}

"""From the spans of one OpenTelemetry trace to the traces of the runs in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from tracedance_sdk.errors import TraceDanceError
from tracedance_sdk.formats import complete_tools, tool_table
from tracedance_sdk.otel import (
    ERROR_TYPE,
    SCOPE,
    ForeignSpan,
    assemble,
    each_message_once,
    foreign_log,
    foreign_span,
)
from tracedance_sdk.recording.failures import Failure
from tracedance_sdk.recording.gathered_spans import Gathering
from tracedance_sdk.recording.guard import GUARD
from tracedance_sdk.recording.options import defaults, pipeline_options
from tracedance_sdk.recording.plans import Description
from tracedance_sdk.recording.pseudonyms import redaction_key
from tracedance_sdk.recording.redaction import SecretRedactor
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

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

    from tracedance_sdk.formats import ToolTable
    from tracedance_sdk.recording.redaction import Redactor

_SOURCE: Final = Source(collector="spans")
"""Where the traces say that they come from."""

_BY_LIMITS: Final = "limits of the span's provider"
_BY_US: Final = "limits of the collector"


class RunAssembly:
    """Makes traces of gathered spans. Nothing is locked, and nothing of the spans is changed.

    Args:
        description: Task, group, session and metadata of the runs; its agent is not used.
        redaction: True, False, a redactor; None for what `configure` and the environment say.
        folder: Where the key of the pseudonyms lies; None for the key of the process.
        used: Whether a trace with this id was made before.
    """

    def __init__(
        self,
        description: Description,
        *,
        redaction: bool | Redactor | None,
        folder: Path | None,
        used: Callable[[str], bool],
    ) -> None:
        self._description = description
        self._redaction = redaction
        self._folder = folder
        self._used = used
        self._means: _Means | None = None

    def traces(self, gathering: Gathering, faults: Counter[str]) -> list[Trace]:
        """Return the runs in the spans of one OpenTelemetry trace, by start.

        Args:
            gathering: Its spans; those still open make a run that has not ended.
            faults: Where to count what went wrong with single runs.

        Raises:
            Exception: Whatever spans of other programs make their reader raise.
        """
        spans = [_read(span, gathering.left_by) for span in gathering.spans()]
        logs = [foreign_log(record) for record in gathering.logs]
        problems: list[TraceDanceError] = []
        with each_message_once():
            traces = assemble([*spans, *logs], source=_SOURCE, problems=problems)
        for problem in problems:
            GUARD.note("assembly", faults, problem)
        if not traces:
            return []
        means = self._means = self._means or self._make_means(faults)
        placed = self._placed([self._renamed(trace, gathering) for trace in traces], gathering)
        ready = (GUARD.attempt("run", faults, _finished, t, gathering, means) for t in placed)
        return [trace for trace in ready if trace is not None]

    def _make_means(self, faults: Counter[str]) -> _Means:
        """Return what traces go through, made when it is first needed."""
        table = GUARD.attempt("tools", faults, tool_table)
        chosen = _chosen_redaction(self._redaction)
        if not isinstance(chosen, bool):
            return _Means(chosen.redact, table)
        if not chosen:
            return _Means(None, table)
        key = GUARD.attempt("redaction key", faults, redaction_key, self._folder)
        # Where no key can be kept beside the files, the process has one.
        return _Means(SecretRedactor(key=key or redaction_key(None)).redact, table)

    def _renamed(self, trace: Trace, gathering: Gathering) -> Trace:
        """Return the trace under another id where spans without a root made one with its id."""
        if not self._used(trace.id):
            return trace
        otel, first = f"{gathering.trace_id:032x}", _root_id(trace) or ""
        return trace.model_copy(update={"id": imported_trace_id("otel", otel, "", first)})

    def _placed(self, traces: list[Trace], gathering: Gathering) -> Iterator[Trace]:
        """Yield the traces with what is known of them beside their spans."""
        ids = {trace.id for trace in traces}
        tops = [t.id for t in traces if t.parent is None or t.parent.trace_id not in ids]
        for trace in traces:
            scope = _scope(trace, gathering)
            update = self._described(trace, scope, is_top=trace.id in tops)
            if [trace.id] == tops[:1] and gathering.before is not None:
                update["initial_state"] = orjson.loads(gathering.before)
            if [trace.id] == tops[-1:] and gathering.after is not None:
                update["final_state"] = orjson.loads(gathering.after)
            yield trace.model_copy(update=update)

    def _described(self, trace: Trace, scope: Scope | None, *, is_top: bool) -> dict[str, Any]:
        """Return what a run is said to be, by the collector, else by the recorder around it."""
        around = None if scope is None else scope.run.description
        said = self._description.within(around, defaults)
        update: dict[str, Any] = {}
        if said.group is not None:
            update["group"] = said.group
        if said.session_id is not None:
            update["session_id"] = said.session_id
            if trace.session_id not in (None, said.session_id):
                own = {**_object(trace.metadata.get("otel")), "session_id": trace.session_id}
                update["metadata"] = {**trace.metadata, "otel": own}
        if said.task_id is not None:
            update["task_id"] = said.task_id
        if not is_top:
            return update
        outer = {} if around is None else around.metadata
        update["metadata"] = {**outer, **said.metadata, **update.get("metadata", trace.metadata)}
        if scope is not None and trace.parent is None:
            caller = scope.run.identity.trace_id
            update["parent"] = Parent(trace_id=caller, call_id=scope.call_id)
        return update


class _Means(NamedTuple):
    """What every trace goes through.

    Attributes:
        redact: Masks JSON; None when redaction is off.
        table: What is known of tools; None when it could not be read.
    """

    redact: Callable[[bytes], bytes] | None
    table: ToolTable | None


def _chosen_redaction(redaction: bool | Redactor | None) -> bool | Redactor:
    """Return what is asked for, by `configure` or the environment where it is not said.

    Raises:
        InvalidOption: A setting of the environment that cannot be used.
    """
    return pipeline_options(
        journal=False,
        durability=None,
        exporter=False,
        redaction=redaction,
        content=None,
        isolated=True,
        around=None,
    ).redaction


def _finished(trace: Trace, gathering: Gathering, means: _Means) -> Trace:
    """Return the trace without secrets, with notes of what its spans lost.

    Raises:
        TraceDanceError: The redactor left no trace.
    """
    if means.table is not None:
        trace = complete_tools(trace, table=means.table, limit="known")
    trace = _masked(trace, means.redact)
    return assess(trace, notes=[*trace.fidelity.notes, *_losses(gathering)])


def _masked(trace: Trace, redact: Callable[[bytes], bytes] | None) -> Trace:
    if redact is None:
        return trace
    data = encode_json(trace)
    clean = redact(data)
    if clean is data:
        return trace
    return decode(parse_json(clean, where="masked", max_depth=MAX_TRACE_DEPTH), where="masked")


def is_own(span: ReadableSpan) -> bool:
    """Whether one of our own recorders made a span in the same provider."""
    scope = span.instrumentation_scope
    return scope is not None and scope.name == SCOPE


def _read(span: ReadableSpan, left_by: Mapping[int, Failure]) -> ForeignSpan:
    """Return a span in our shape; of one of ours only the place: its recorder has the rest."""
    found = foreign_span(span)
    if is_own(span):
        return found._replace(attributes={}, events=())
    context = span.get_span_context()
    left = None if context is None else left_by.get(context.span_id)
    if left is None or found.failed:
        return found
    told = {ERROR_TYPE: left.type, **found.attributes}
    return found._replace(failed=True, message=left.message, attributes=told)


def _scope(trace: Trace, gathering: Gathering) -> Scope | None:
    """Return the scope of our own recorder in which a run began."""
    root, scopes = _root_id(trace), gathering.scopes
    scope = None if root is None else scopes.get(int(root, 16))
    if scope is None and trace.source is not None and "/" not in (trace.source.native_id or ""):
        # Spans without a run around them, of which the first need not be the one that counts.
        return next(iter(scopes.values()), None)
    return scope or gathering.first_scope


def _root_id(trace: Trace) -> str | None:
    return None if trace.otel is None else trace.otel.root_span_id


def _losses(gathering: Gathering) -> Iterable[Note]:
    if lost := gathering.lost.total():
        yield Note(kind="record_lost", count=lost, places=(_BY_US,))
    if gathering.cut:
        yield Note(kind="record_lost", count=gathering.cut, places=(_BY_LIMITS,))


def _object(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}

"""Traces of agents that others instrument: built live, from the spans they make."""

from __future__ import annotations

import inspect
import os
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from opentelemetry.sdk.trace import ReadableSpan, Span, SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_ON
from opentelemetry.trace import Span as ApiSpan
from opentelemetry.trace import get_current_span

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.otel import attribute_copy, is_agent_span
from tracedance_sdk.recording.collected_runs import RunAssembly, is_own
from tracedance_sdk.recording.framework_states import FRAMEWORK_STATE, watchers
from tracedance_sdk.recording.gathered_spans import (
    CollectorLimits,
    GatheredSpans,
    Gathering,
    checked_limits,
)
from tracedance_sdk.recording.guard import GUARD
from tracedance_sdk.recording.kept_traces import PUSHED_OUT, KeptTraces
from tracedance_sdk.recording.lifecycle import looked_after, prepare_process
from tracedance_sdk.recording.opening import outer_scope
from tracedance_sdk.recording.options import check_options
from tracedance_sdk.recording.plans import describe_run
from tracedance_sdk.recording.scopes import CURRENT, QUIET
from tracedance_sdk.recording.snapshots import StateReader, state_reader

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk._logs import LogRecordProcessor

    from tracedance_sdk.recording.redaction import Redactor
    from tracedance_sdk.trace import Trace

OF_NO_RUN: Final = "of no agent, model or tool"
UNREADABLE: Final = "of runs that could not be assembled"

_NO_LIMIT: Final = SpanLimits.UNSET


class CollectorSummary(NamedTuple):
    """What became of the spans that a collector was given.

    Attributes:
        traces: Finished ones, dropped ones included.
        kept: Those that are at hand.
        written: Files of them.
        spans: Spans that ended and were taken.
        open_runs: OpenTelemetry traces that are not finished.
        open_spans: Their spans that have not ended.
        dropped: Spans that became part of no trace, and traces dropped for newer ones, by reason.
        faults: Faults of the collector, of its state source, folder and function, by place and
            error type.
    """

    traces: int
    kept: int
    written: int
    spans: int
    open_runs: int
    open_spans: int
    dropped: Mapping[str, int]
    faults: Mapping[str, int]


class SpanCollector(SpanProcessor):
    """Builds traces live from the spans that instrumentations and frameworks make.

    An OpenTelemetry span processor: add it to any ``TracerProvider`` of the SDK, or let an
    instrumentation write into the collector's own `provider`. Every dialect that files of spans are
    read in is understood. The spans of one OpenTelemetry trace are put together when the last of
    them has ended, on the thread that ended it, and give one trace for each agent's run among them.

    Secrets are masked in the traces. Only what the provider samples is seen. A recorder that is
    open where a run begins gives it its task, group, session and metadata, and is its parent.

    Args:
        out: Folder that takes a file of each trace, ``<id>.json``, readable by the owner alone.
        on_trace: Is called with each finished trace, on the thread that ended its last span.
        state: Where the state of the environment comes from, as for `TraceRecorder`; read when the
            first span of an OpenTelemetry trace starts and when its root ends. By default the
            state of the framework counts, where an integration that tells it is installed.
        task_id: What the runs are about.
        group: The leave-out unit.
        session_id: An id of the conversation; by default what the spans say.
        metadata: JSON object kept with the traces.
        redaction: False keeps secrets readable; an object with ``redact(data)`` masks its own way.
        max_traces: How many finished traces are kept; beyond, the oldest is dropped and counted.
        limits: How much is held while runs are open.

    Raises:
        InvalidOption: An argument that cannot be used.
        StateSourceError: No state can be taken from `state`.

    Example:
        >>> collector = SpanCollector()
        >>> tracer = collector.provider.get_tracer("mine")
        >>> with tracer.start_as_current_span("invoke_agent guide") as span:
        ...     span.set_attribute("gen_ai.operation.name", "invoke_agent")
        ...     with tracer.start_as_current_span("execute_tool look") as span:
        ...         span.set_attribute("gen_ai.operation.name", "execute_tool")
        ...         span.set_attribute("gen_ai.tool.call.result", "rain")
        >>> [trace] = collector.traces
        >>> trace.agent.name, [(call.name, call.result.content) for call in trace.calls]
        ('guide', [('look', 'rain')])
    """

    def __init__(
        self,
        *,
        out: str | os.PathLike[str] | None = None,
        on_trace: Callable[[Trace], object] | None = None,
        state: object = None,
        task_id: str | None = None,
        group: str | None = None,
        session_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        redaction: bool | Redactor | None = None,
        max_traces: int = 1000,
        limits: CollectorLimits | None = None,
    ) -> None:
        check_options({"journal": out, "redaction": redaction, "metadata": metadata})
        if on_trace is not None and not callable(on_trace):
            raise InvalidOption(f"on_trace={on_trace!r} cannot be called")
        if inspect.iscoroutinefunction(on_trace):
            raise InvalidOption(f"on_trace={on_trace!r} would have to be awaited; give a function")
        if type(max_traces) is not int or max_traces < 0:
            raise InvalidOption(f"max_traces={max_traces!r} is no number of traces")
        limits = checked_limits(limits)
        description = describe_run(
            agent="agent",
            tools=(),
            metadata=metadata,
            task_id=task_id,
            group=group,
            session_id=session_id,
        )
        self._reader = state_reader(state, None)
        if self._reader is None:
            watchers.add(self)
        self._spans = GatheredSpans(limits)
        folder = None if out is None else Path(out).absolute()
        self._kept = KeptTraces(
            out=folder,
            on_trace=on_trace,
            max_traces=max_traces,
            max_bytes=limits.kept_bytes,
        )
        self._assembly = RunAssembly(
            description, redaction=redaction, folder=folder, used=self._kept.knows
        )
        self._provider: TracerProvider | None = None
        self.start_afresh_in_child()
        looked_after.add(self)
        prepare_process()

    def __repr__(self) -> str:
        told = self.summary()
        return f"<SpanCollector {told.traces} traces, {told.open_runs} runs open>"

    def start_afresh_in_child(self) -> None:
        """Begin with nothing: after a fork the parent's runs stay the parent's."""
        self._lock = threading.RLock()
        self._faults: Counter[str] = Counter()
        self._spans.start_afresh()
        self._kept.start_afresh()

    def give_up(self) -> None:
        """Hand over everything: the process ends."""
        self._hand_over_everything()

    @property
    def provider(self) -> TracerProvider:
        """A provider of the collector's own, for ``instrument(tracer_provider=...)``.

        It is isolated: it samples everything, exports nothing, and is nobody's global one. Its
        spans may have any number of attributes of any length; OpenTelemetry's default is 128.
        """
        with self._lock:
            if self._provider is None:
                limits = SpanLimits(
                    max_events=_NO_LIMIT,
                    max_span_attributes=_NO_LIMIT,
                    max_event_attributes=_NO_LIMIT,
                    max_attribute_length=_NO_LIMIT,
                    max_span_attribute_length=_NO_LIMIT,
                )
                self._provider = TracerProvider(
                    sampler=ALWAYS_ON, span_limits=limits, shutdown_on_exit=False
                )
                self._provider.add_span_processor(self)
            return self._provider

    @property
    def log_processor(self) -> LogRecordProcessor:
        """A processor for a ``LoggerProvider``, where messages are written as log records.

        Older instrumentations of the conventions do so: add it beside the collector.
        """
        from tracedance_sdk.recording.span_logs import SpanLogs

        return SpanLogs(self._take_log, flush=self._hand_over_ended)

    @property
    def traces(self) -> list[Trace]:
        """The finished traces that are kept, oldest first; a run's sub-agents after it."""
        self._hand_over_due()
        return self._kept.listed()

    def summary(self) -> CollectorSummary:
        """Return what became of the spans so far."""
        self._hand_over_due()
        kept = self._kept
        spans = self._spans.counts()
        dropped = dict(spans.dropped)
        if kept.pushed_out:
            dropped[PUSHED_OUT] = kept.pushed_out
        return CollectorSummary(
            traces=kept.finished,
            kept=len(kept.listed()),
            written=kept.written,
            spans=spans.taken,
            open_runs=spans.open_runs,
            open_spans=spans.open_spans,
            dropped=dropped,
            faults=dict(self._faults),
        )

    def flush(self) -> CollectorSummary:
        """Hand over everything, runs that have not ended too; return what became of the spans.

        A run cut so has ``outcome.ended`` False; what it does later is not part of it.
        """
        self._hand_over_everything()
        return self.summary()

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Take a span that has started; for the provider to call."""
        GUARD.attempt("span start", self._faults, self._begin, span, parent_context)

    def on_end(self, span: ReadableSpan) -> None:
        """Take a span that has ended; for the provider to call."""
        GUARD.attempt("span end", self._faults, self._end, span)

    def shutdown(self) -> None:
        """Hand over everything, for the provider to call; another provider's spans go on."""
        self._hand_over_everything()

    def force_flush(self, timeout_millis: int = 30000) -> bool:  # noqa: ARG002  # as the SDK calls
        """Hand over the runs whose root has ended; those that are running go on."""
        self._hand_over_ended()
        return True

    def _begin(self, span: Span, parent_context: Context | None) -> None:
        if CURRENT.get() is QUIET:
            # Made by a look at the state, or by whoever is told of a trace.
            return
        prepare_process()
        now = monotonic()
        gathering, is_first, is_much = self._spans.begin(span, now=now, scope=outer_scope())
        if gathering is not None:
            if is_first:
                gathering.around = _span_around(span, parent_context)
            if gathering.reader is None and (reader := self._reader_here(is_first)) is not None:
                gathering.reader = reader
                gathering.before = GUARD.attempt("state", self._faults, reader.read)
        if is_first or is_much:
            self._finish(self._spans.due(now=now))

    def _reader_here(self, is_first: bool) -> StateReader | None:
        """Return what reads the state of a run: our own source, else that of the framework."""
        if self._reader is not None:
            return self._reader if is_first else None
        told = FRAMEWORK_STATE.get()
        return None if told is None else StateReader(told)

    def _end(self, span: ReadableSpan) -> None:
        size = GUARD.attempt("size", self._faults, _size, span) or 0
        gathering = self._spans.end(span, size=size, counts=CURRENT.get() is not QUIET)
        if gathering is None:
            return
        if gathering.roots and not GUARD.attempt("agent", self._faults, _has_open_agent, gathering):
            # A span around one run after the other: what is over need not wait for it.
            self._finish(self._spans.take_between(gathering))
        if gathering.around is not None and not gathering.has_agent:
            gathering.has_agent = bool(
                GUARD.attempt("agent", self._faults, _holds_agent, gathering)
            )
        if gathering.reader is not None and self._spans.start_looking(gathering):
            state = GUARD.attempt("state", self._faults, gathering.reader.read)
            self._spans.stop_looking(gathering, state)
        self._finish(self._spans.complete(gathering, now=monotonic()))

    def _take_log(self, emitted: Any) -> None:
        GUARD.attempt("log", self._faults, self._add_log, emitted)

    def _add_log(self, emitted: Any) -> None:
        record = emitted.log_record
        if record.trace_id and CURRENT.get() is not QUIET:
            size = len(str(record.body)) + _text_size(record.attributes or {})
            self._spans.add_log(emitted, trace_id=record.trace_id, size=size)

    def _hand_over_due(self) -> None:
        self._finish(self._spans.due(now=monotonic(), at_once=True))

    def _hand_over_ended(self) -> None:
        GUARD.attempt("flush", self._faults, lambda: self._finish(self._spans.take_ended()))

    def _hand_over_everything(self) -> None:
        GUARD.attempt("flush", self._faults, lambda: self._finish(self._spans.take_all()))

    def _finish(self, gatherings: list[Gathering]) -> None:
        """Make traces of what was taken away; nothing is locked meanwhile."""
        for gathering in gatherings:
            GUARD.attempt("assembly", self._faults, self._assemble, gathering)

    def _assemble(self, gathering: Gathering) -> None:
        faults = self._faults
        traces = GUARD.attempt("assembly", faults, self._assembly.traces, gathering, faults)
        if not traces:
            reason = UNREADABLE if traces is None else OF_NO_RUN
            self._spans.drop(reason, sum(1 for span in gathering.spans() if not is_own(span)))
            return
        for trace in traces:
            self._kept.add(trace, size=gathering.size // len(traces), faults=faults)


def _span_around(span: Span, parent_context: Context | None) -> ApiSpan | None:
    """Return the span around the first one of a trace, if it is being recorded in this process."""
    parent = span.parent
    if parent is None or parent.is_remote:
        return None
    around = get_current_span(parent_context)
    is_parent = around.get_span_context().span_id == parent.span_id
    return around if is_parent and around.is_recording() else None


def _holds_agent(gathering: Gathering) -> bool:
    """Whether one of the spans that have ended since the last look is an agent's."""
    looked, gathering.looked_at = gathering.looked_at, len(gathering.ended)
    return any(is_agent_span(span) for span in gathering.ended[looked:])


def _has_open_agent(gathering: Gathering) -> bool:
    return any(is_agent_span(span) for span in list(gathering.open.values()))


def _size(span: ReadableSpan) -> int:
    events = span.events
    size = _text_size(span.attributes)
    return size + sum(_text_size(event.attributes) for event in events) if events else size


def _text_size(attributes: Mapping[str, Any] | None) -> int:
    """Return roughly how much memory attributes take, in bytes."""
    found = 64
    # A copy is a plain dict, many times as fast to go through as what the SDK holds.
    for value in attribute_copy(attributes).values():
        if isinstance(value, str):
            found += len(value)
        elif isinstance(value, (Mapping, tuple, list, bytes)):
            found += len(str(value))
    return found

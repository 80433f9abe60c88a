"""From the opening of a recorder to its closing, without the ways in which it is used."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import orjson

from tracedance_sdk.errors import RecorderError
from tracedance_sdk.recording.closing import CloseSummary, root_span, summary_of
from tracedance_sdk.recording.failures import describe
from tracedance_sdk.recording.guard import GUARD, LASTING_FAULTS
from tracedance_sdk.recording.lifecycle import prepare_process
from tracedance_sdk.recording.opening import open_run, outer_scope
from tracedance_sdk.recording.options import PipelineOptions, defaults, pipeline_options
from tracedance_sdk.recording.pipeline import Pipeline, acquire_pipeline, release_pipeline
from tracedance_sdk.recording.plans import Plan
from tracedance_sdk.recording.reentry import let_go, survive_closing
from tracedance_sdk.recording.runs import Run
from tracedance_sdk.recording.scopes import CURRENT, QUIET, Scope, enclosing_open_scope, scope_in
from tracedance_sdk.recording.snapshots import KeptState, StateReader, StateWatch
from tracedance_sdk.recording.turns import TurnLog
from tracedance_sdk.recording.values import freeze

if TYPE_CHECKING:
    from tracedance_sdk.journal import SpanRecord
    from tracedance_sdk.recording.providers import ProviderSpans
    from tracedance_sdk.trace import Role, Trace


class Life:
    """One recorder's run: not begun, open, or ended.

    Attributes:
        run: The run; None before it has begun.
        turns: Its turns as they are reported.
        outcome: What the program said of the run as a whole.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._pipeline: Pipeline | None = None
        self._early_faults: Counter[str] = Counter()
        self._process = 0
        self._otel_before: Any = None
        self._made: tuple[int, Trace] | None = None
        self.run: Run | None = None
        self.turns: TurnLog | None = None
        self.outcome: dict[str, Any] = {}

    @property
    def opened(self) -> Run:
        """The run, open or ended.

        Raises:
            RecorderError: It has not begun.
        """
        if self.run is None:
            raise RecorderError("the recorder was not opened; use it in a with statement")
        return self.run

    @property
    def current(self) -> Run:
        """The run, open.

        Raises:
            RecorderError: It has not begun, or has ended.
        """
        run = self.opened
        if not run.is_open:
            raise RecorderError("the recorder is closed; record inside its with statement")
        return run

    def begin(self, state: bytes | None) -> None:
        """Open the run with the state before it.

        Raises:
            RecorderError: It was opened before.
            InvalidOption: An option that cannot be used.
        """
        if self.run is not None:
            raise RecorderError("the recorder was opened before; make a new one for a new run")
        prepare_process()
        let_go()
        remote = self._plan.remote
        outer = outer_scope() if remote is None else None
        provider = self._plan.tracer_provider
        is_apart = provider is False or (
            provider is None and outer is not None and outer.run.is_apart
        )
        provider = None if is_apart else provider or defaults.get("tracer_provider")
        options = pipeline_options(
            **self._plan.pipeline,
            isolated=provider is None,
            around=None if outer is None else outer.run.pipeline.options,
        )
        spans = _spans(provider, outer, self._early_faults, with_content=options.exports_content)
        pipeline = _pipeline(options, self._early_faults)
        self._pipeline, self._process = pipeline, os.getpid()
        around = None if outer is None else outer.run.description
        description = self._plan.description.within(around, defaults)
        run = open_run(description, pipeline, outer=outer, spans=spans, state=state, remote=remote)
        run.faults.update(self._early_faults)
        run.give_up = self._give_up
        run.is_apart = is_apart
        self.run = run
        run.turns = self.turns = TurnLog(run)
        run.has_state = self._plan.reader is not None
        if self._per_call and self._plan.reader is not None and state is not None:
            run.watch = StateWatch(self._plan.reader, run.text, mask=run.masked)
            run.watch.start(state)

    def step_in(self) -> None:
        """Make the run the current one of this context."""
        root = self.opened.root
        CURRENT.set(root)
        if root.span is not None and root.run.spans is not None:
            self._otel_before = root.run.spans.attach_root(root.span)

    def stop(self) -> None:
        """Take no more calls, and make the run around it the current one of this context."""
        run = self.opened
        run.shut()
        current = CURRENT.get()
        if current is not None and current is not QUIET and current.run is run:
            CURRENT.set(enclosing_open_scope(run.outer))
        if self._otel_before is not None and run.spans is not None:
            run.spans.detach_root(run.root.span, self._otel_before)
            self._otel_before = None

    def finish(self, error: BaseException | None) -> None:
        """End the run, unless it has ended; see `end`."""
        survive_closing(error)
        self.stop()
        if self._pipeline is not None:
            self.end(self.read_state(), error)

    async def finish_async(self, error: BaseException | None) -> None:
        """End the run, unless it has ended, with a state that may have to be awaited."""
        survive_closing(error)
        self.stop()
        if self._pipeline is not None:
            self.end(await self.read_state_async(), error)

    def end(self, state: bytes | None, error: BaseException | None) -> None:
        """Put the end on record: the state after, and the exception that ended the run if any."""
        run = self.opened
        if self._pipeline is None:
            return
        pipeline, self._pipeline = self._pipeline, None
        if os.getpid() != self._process:
            # A fork left through the recorder's statement; the run goes on where it began.
            return
        failure = run.agent_failure if error is None else describe(error, run.faults)
        if failure is not None:
            said = {"type": run.name(failure.type), "message": run.words(failure.message)}
            self.outcome.setdefault("error", said)
        self.outcome.setdefault("ended", failure is None)
        for call in list(run.streams):
            GUARD.attempt("end", run.faults, call.interrupt)
        record = GUARD.attempt("end", run.faults, self._root, state)
        if record is not None:
            run.write_span(record)
            if run.spans is not None and run.root.span is not None:
                GUARD.attempt("end", run.faults, run.spans.end, run.root.span, record)
        release_pipeline(pipeline)

    def _give_up(self) -> None:
        self.stop()
        self.outcome.setdefault("ended", False)
        self.end(None, None)

    def record_turn(self, role: Role, content: object, calls: Iterable[object], **of: Any) -> None:
        """Record a turn; see `TraceRecorder.record_turn`."""
        if self.current.is_open and self.turns is not None:
            self.turns.record(role, content, calls, **of)

    def set_outcome(self, **fields: Any) -> None:
        """Keep what the program says of the run; see `TraceRecorder.set_outcome`."""
        given = {key: value for key, value in fields.items() if value is not None}
        from pydantic import ValidationError

        from tracedance_sdk.trace import Outcome, invalid_trace

        try:
            Outcome.model_validate(given)
        except ValidationError as error:
            raise invalid_trace(error, "outcome") from error
        if self.current.is_open:
            self.outcome |= _masked_outcome(self.current, given)

    def scope(self) -> Scope:
        """Return the current scope if it is of this run, or nobody's, else the run itself."""
        run = self.current
        return QUIET if CURRENT.get() is QUIET else scope_in(run)

    def flush(self) -> None:
        """Send what waits to be exported, for a bounded time."""
        export = self.opened.pipeline.export
        if export is not None:
            export.flush()

    async def flush_async(self) -> None:
        """Send what waits to be exported, for a bounded time, while other tasks go on."""
        export = self.opened.pipeline.export
        if export is not None:
            await export.flush_async()

    def read_state(self) -> bytes | None:
        """Return the state now, frozen; None without a source, or when it fails."""
        reader, faults = self._reader, self._faults
        return None if reader is None else GUARD.attempt("state", faults, reader.read)

    async def read_state_async(self) -> bytes | None:
        """Return the state now, from a source that may have to be awaited."""
        reader, faults = self._reader, self._faults
        return (
            None
            if reader is None
            else await GUARD.attempt_async("state", faults, reader.read_async)
        )

    def traces(self) -> list[Trace]:
        """Return the run's trace, then those of its sub-agents, in order of start."""
        from tracedance_sdk.recording.reading import traces_of

        run = self.opened
        return [self.trace(), *(trace for child in run.children for trace in traces_of(child))]

    def trace(self) -> Trace:
        """Return the run's trace as far as it has come; while it is open, with the state now."""
        from tracedance_sdk.recording.reading import trace_of

        run = self.opened
        if run.is_open:
            return trace_of(run, self._root(self.read_state()))
        if run.pipeline.journal is not None:
            return trace_of(run)
        if self._made is None or self._made[0] != run.written:
            self._made = run.written, trace_of(run)
        return self._made[1]

    def shown(self) -> str:
        """Return in a few words what the run is, how far it has come, and where it is written."""
        told = self._plan.description if self.run is None else self.run.description
        words = [f"agent={told.agent!r}"]
        if told.task_id is not None:
            words.append(f"task_id={told.task_id!r}")
        if self.run is None:
            return " ".join([*words, "not opened"])
        words.append("open" if self.run.is_open else "closed")
        words.append(f"{self.run.written} records")
        journal = self.run.pipeline.options.journal
        words.append("in memory" if journal is None else f"in {journal!r}")
        if faults := (self.run.faults + LASTING_FAULTS).total():
            words.append(f"{faults} faults")
        return " ".join(words)

    def summary(self) -> CloseSummary:
        """Return what became of the records so far."""
        return summary_of(self.opened)

    @property
    def _reader(self) -> StateReader | KeptState | None:
        late = None if self.run is None else self.run.late_state
        return self._plan.reader or late

    @property
    def _per_call(self) -> bool:
        asked = self._plan.state_changes or defaults.get("state_changes")
        return bool(asked == "per_call")

    @property
    def _faults(self) -> Counter[str]:
        return self._early_faults if self.run is None else self.run.faults

    def _root(self, state: bytes | None) -> SpanRecord:
        waiting = None if self.turns is None else self.turns.messages_waiting()
        return root_span(self.opened, state=state, outcome=self.outcome, waiting=waiting)


def _masked_outcome(run: Run, given: dict[str, Any]) -> dict[str, Any]:
    document: dict[str, Any] = orjson.loads(freeze(given))
    if "details" in document:
        document["details"] = run.masked_object(document["details"])
    if "error" in document:
        told = document["error"]
        told |= {"message": run.words(told.get("message", "")), "type": run.name(told["type"])}
    return document


def _pipeline(options: PipelineOptions, faults: Counter[str]) -> Pipeline:
    """Return the pipeline asked for, or as much of it as can be had.

    Where the journal cannot be kept, what happens is still recorded, in memory.

    Raises:
        RecorderError: Not even that.
    """
    candidates = [options]
    if options.exporter is not None:
        candidates.append(options._replace(exporter=None))
    if options.journal is not None:
        candidates += [less._replace(journal=None) for less in candidates]
    for candidate in candidates:
        found = GUARD.attempt("pipeline", faults, acquire_pipeline, candidate)
        if found is not None:
            return found
    raise RecorderError(f"no pipeline can be opened for {options!r}: {dict(faults)!r}")


def _spans(
    provider: Any, outer: Scope | None, faults: Counter[str], *, with_content: bool
) -> ProviderSpans | None:
    """Return what makes spans in the user's provider; a sub-agent's run uses its parent's."""
    if outer is not None and (provider is None or outer.run.spans is not None):
        return outer.run.spans
    if provider is None:
        return None
    from tracedance_sdk.recording.providers import ProviderSpans

    return GUARD.attempt("provider", faults, ProviderSpans, provider, with_content=with_content)

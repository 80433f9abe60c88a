"""A call being recorded: its start is on record before it exists, and it ends once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from time import perf_counter_ns, time_ns
from typing import TYPE_CHECKING, Final, Literal, TypeVar

import orjson

from tracedance_sdk.journal import INTERNAL, Attributes, EventRecord, SpanRecord
from tracedance_sdk.otel import CALL_START, MADE_HERE, PATCH, call_attributes, result_attributes
from tracedance_sdk.recording.failures import Failure, describe
from tracedance_sdk.recording.guard import GUARD
from tracedance_sdk.recording.identifiers import new_span_id
from tracedance_sdk.recording.scopes import Scope
from tracedance_sdk.recording.spellings import id_text, name_text
from tracedance_sdk.recording.values import freeze
from tracedance_sdk.trace import call_key

if TYPE_CHECKING:
    from tracedance_sdk.recording.providers import ProviderSpans
    from tracedance_sdk.trace import Json

RequestedBy = Literal["agent", "user"]

_LONGEST_MESSAGE: Final = 8192


class OpenCall(Scope):
    """A call whose start is recorded and whose end is not yet.

    The first of the methods that end it counts; later ones change nothing.

    Attributes:
        change: JSON Patch of the state, once it was taken.
        inner: Ends the run of the models that the tool's own code asks; None while it asks none.
    """

    __slots__ = (
        "_answer", "_attributes", "_clock", "_ended", "_name", "_parent_id", "_start_ns", "change",
        "inner",
    )  # fmt: skip

    def __init__(
        self, parent: Scope, name: str, attributes: Attributes, *, call_id: str, turn: int
    ) -> None:
        self.run = run = parent.run
        self.call_id = call_id
        self.turn = turn
        self.change: str | None = None
        self.inner: Callable[[], object] | None = None
        self._name = name
        self._parent_id = parent.span_id
        self._attributes = attributes
        self._ended = False
        self._answer: str | None = None
        self._start_ns = time_ns()
        self.span = None
        self.span_id = new_span_id()
        if run.spans is not None:
            self._start_span(parent, run.spans)
        run.write(
            EventRecord(
                CALL_START,
                run.otel_trace_id,
                self.span_id,
                self._start_ns,
                attributes,
                self._parent_id,
            )
        )
        self._clock = perf_counter_ns()

    @property
    def name(self) -> str:
        """Of the tool."""
        return self._name

    @property
    def is_in_run_itself(self) -> bool:
        """Whether it is made in no other call."""
        return self._parent_id == self.run.root.span_id

    def _start_span(self, parent: Scope, spans: ProviderSpans) -> None:
        self.span = GUARD.attempt(
            "span",
            self.run.faults,
            spans.start,
            f"execute_tool {self._name}",
            self._attributes,
            parent=parent,
            start_ns=self._start_ns,
            kind=INTERNAL,
        )
        if self.span is not None:
            self.span_id = spans.span_id(self.span)

    def succeed(self, value: object) -> None:
        """End the call with what it returned, as it is now."""
        GUARD.attempt("result", self.run.faults, self._succeed, perf_counter_ns(), value)

    def fail(self, error: BaseException) -> None:
        """End the call with the exception that left it."""
        GUARD.attempt("error", self.run.faults, self._fail, perf_counter_ns(), error)

    def finish(
        self,
        content: str | None,
        *,
        ok: bool | None = True,
        failure: Failure | None = None,
        truncated: bool = False,
        interrupted: bool = False,
        exit_code: int | None = None,
        clock: int | None = None,
    ) -> None:
        """End the call with facts already worked out.

        Args:
            content: JSON ready to be written; None when nothing was observed.
            ok: Whether it succeeded; None when nobody can tell.
            failure: What went wrong.
            truncated: A cap cut the content.
            interrupted: The call did not come to its end.
            exit_code: Of a process.
            clock: When it ended, by ``perf_counter_ns``; None means now.
        """
        if clock is None:
            clock = perf_counter_ns()
        message = None if failure is None else self._message(failure)
        facts = result_attributes(
            ok=ok,
            content=content,
            error_type=None if failure is None else self.run.name(failure.type),
            error_message=message,
            truncated=truncated,
            interrupted=interrupted or (failure is not None and failure.interrupted),
            exit_code=exit_code,
            state_change=self._change(),
        )
        self._end(clock, facts, message)

    def note_answer(self, note: Mapping[str, Json]) -> None:
        """Say under ``answer`` where the call's answer came from, when it was not made."""
        GUARD.attempt("answer", self.run.faults, self._note_answer, note)

    def _note_answer(self, note: Mapping[str, Json]) -> None:
        added = {"op": "add", "path": "/answer", "value": dict(note)}
        self._answer = self.run.text(freeze([added]))

    async def prepare(self) -> None:
        """Wait for nothing: the start of the call is on record."""

    def add(self, item: object) -> None:
        """Take an item of a generator; only a `StreamCall` keeps them."""

    def exhaust(self) -> None:
        """End without a value."""
        self.finish(None)

    async def observe(self) -> None:
        """Take the change of state now, from a source that has to be awaited."""
        watch = self.run.watch
        if watch is not None and self.change is None:
            self.change = await GUARD.attempt_async("state", self.run.faults, watch.change_async)

    def _succeed(self, clock: int, value: object) -> None:
        content = self.run.text(freeze(value))
        facts = result_attributes(ok=True, content=content, state_change=self._change())
        self._end(clock, facts, None)

    def _fail(self, clock: int, error: BaseException) -> None:
        failure = describe(error, self.run.faults)
        message = self._message(failure)
        facts = result_attributes(
            ok=False,
            error_type=self.run.name(failure.type),
            error_message=message,
            interrupted=failure.interrupted,
            state_change=self._change(),
        )
        self._end(clock, facts, message)

    def _change(self) -> str | None:
        watch = self.run.watch
        if watch is None or self.change is not None or self._ended:
            return self.change
        return GUARD.attempt("state", self.run.faults, watch.change)

    def _message(self, failure: Failure) -> str:
        message = self.run.words(failure.message)
        if len(message) > _LONGEST_MESSAGE:
            return message[:_LONGEST_MESSAGE] + " ..."
        return message

    def _end(self, clock: int, facts: Attributes, error: str | None) -> None:
        if self._ended:
            return
        self._ended = True
        run = self.run
        if self.inner is not None:
            GUARD.attempt("end", run.faults, self.inner)
        attributes = {**self._attributes, **facts}
        if self._answer is not None:
            attributes[PATCH] = self._answer
        end_ns = self._start_ns + clock - self._clock
        record = SpanRecord(
            f"execute_tool {self._name}",
            run.otel_trace_id,
            self.span_id,
            self._parent_id,
            INTERNAL,
            self._start_ns,
            end_ns,
            attributes,
            error,
        )
        run.write_span(record)
        if run.spans is not None and self.span is not None:
            run.spans.end(self.span, record)


C = TypeVar("C", bound=OpenCall)


def start_call(
    scope: Scope,
    name: str,
    arguments: object,
    *,
    form: type[C],
    call_id: str | int | None = None,
    requested_by: RequestedBy = "agent",
    as_requested: bool = False,
    is_clean: bool = False,
) -> C:
    """Freeze the arguments, put the start of the call on record and return the open call.

    Args:
        scope: Where it is made. A call made inside another one is requested by ``tool``.
        name: The tool.
        arguments: By name, as passed.
        call_id: When the caller knows it; an integer becomes text.
        requested_by: Who asked for a call made in the run itself.
        form: What sort of open call to make.
        as_requested: Name and id are those of a request that is on record.
        is_clean: The arguments surely hold nothing to be masked.
    """
    run = scope.run
    known_id = id_text(call_id, run.faults)
    if not as_requested:
        name = run.name(name_text(name, run.faults))
        known_id = None if known_id is None else run.words(known_id)
    data = freeze(arguments)
    if scope.call_id is not None and scope.turn is not None:
        by, place = "tool", run.ledger.place_inside(scope.turn, known_id)
    elif requested_by == "user":
        by, place = "user", run.ledger.place_of_user(known_id)
    else:
        by, place = "agent", run.ledger.place(name, known_id, partial(_key, name, data))
    attributes = call_attributes(
        name=name,
        call_id=place.call_id,
        index=place.number,
        turn=place.turn,
        arguments=run.kept(data) if is_clean else run.text(data),
        bound_by=place.bound_by,
        requested_by=by,
        parent_call_id=scope.call_id,
    )
    if place.turn in run.ledger.copies and by == "agent" and not as_requested:
        attributes[MADE_HERE] = True
    return form(scope, name, attributes, call_id=place.call_id, turn=place.turn)


def _key(name: str, data: bytes) -> str:
    return call_key(name, orjson.loads(data))

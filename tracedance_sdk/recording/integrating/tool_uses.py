"""A framework's tool at work: on record, and answered from elsewhere while a run is replayed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from tracedance_sdk.recording.answered_calls import Use
from tracedance_sdk.recording.answering import AnswerSource, AskedCall, asked_here, open_sources
from tracedance_sdk.recording.calls import start_call
from tracedance_sdk.recording.failures import Failure, describe
from tracedance_sdk.recording.guard import GUARD, PROCESS_FAULTS
from tracedance_sdk.recording.reentry import survive_closing
from tracedance_sdk.recording.scopes import Scope, find_scope, open_runs
from tracedance_sdk.recording.shared_calls import SharedCall
from tracedance_sdk.recording.values import freeze

if TYPE_CHECKING:
    from tracedance_sdk.trace import Effect, Json, Result


class ToolOutcome(NamedTuple):
    """What came of a call, as the framework tells it.

    Attributes:
        content: What came back.
        error_type: Of a failure that the framework caught; None when there was none.
        message: The failure's text.
    """

    content: object
    error_type: str | None = None
    message: str = ""

    @classmethod
    def of_failure(cls, content: object, error: BaseException) -> ToolOutcome:
        """Return the outcome of a tool that raised, and what the model was told instead."""
        failure = describe(error, PROCESS_FAULTS)
        return cls(content, failure.type, failure.message)


class ToolUse(NamedTuple):
    """One use of a framework's tool, around which an integration has put itself.

    Attributes:
        name: The tool's.
        arguments: By name, as the model gave them; or a function that returns them, which is
            called when they are needed, and guarded.
        call_id: The model's id of the call, where known.
        effect: What a use does to the world, where the framework says so.
        outcome: Reads what came of the call out of what the framework's code returned; None where
            that is the tool's own result.
        rebuild: Makes what the framework's code returns of a recorded answer.
        can_be_answered: A recorded answer may stand in for the code. False where the code moves
            the framework itself, as handing over to another agent does.
        pauses: Exceptions with which a use waits for somebody: it is no failure, and the next use
            with the same id goes on with the same call.
        failure: Reads what an exception of the library's own says of a failure; None for one that
            is recorded like any other.
        rebuild_failure: Like `rebuild`, of a recorded failure that has content. It may raise. None
            where it is shown to the model like any other answer.
        may_be_body: Made in a framework's tool of the same name, perhaps with a prefix, it is what
            that tool does, and no call of its own.
    """

    name: str
    arguments: object
    call_id: str | None = None
    effect: Effect | None = None
    outcome: Callable[[Any], ToolOutcome] | None = None
    rebuild: Callable[[Json], Any] | None = None
    can_be_answered: bool = True
    pauses: tuple[type[BaseException], ...] = ()
    failure: Callable[[BaseException], ToolOutcome | None] | None = None
    rebuild_failure: Callable[[Json], Any] | None = None
    may_be_body: bool = False

    def run(self, body: Callable[[], Any]) -> Any:
        """Return what the tool's body returns, or a recorded answer. What it raises passes."""
        __tracebackhide__ = True
        if not open_runs and not open_sources:
            return body()
        scope = find_scope()
        ask = self._asked_here()
        call = None if scope is None else self._begin(scope)
        use = None if ask is None else self._use(ask, body, call)
        tokens = None if call is None else call.enter()
        try:
            value = body() if use is None else use.call((), {})
        except BaseException as error:
            if call is not None and tokens is not None:
                call.leave(tokens)
                self._stop(call, error, None if use is None else use.failed)
            raise
        if call is not None and tokens is not None:
            call.leave(tokens)
            self._end(call, value, None if use is None else use.failed)
        return value

    async def run_async(self, body: Callable[[], Awaitable[Any]]) -> Any:
        """Return what the tool's body returns when awaited, or a recorded answer."""
        if not open_runs and not open_sources:
            return await body()
        scope = find_scope()
        if isinstance(scope, SharedCall) and self._is_body_of(scope):
            return await self._run_as_body(scope, body)
        ask = self._asked_here()
        call = None if scope is None else self._begin(scope)
        use = None if ask is None else self._use(ask, body, call)
        tokens = None if call is None else call.enter()
        try:
            value = await (body() if use is None else use.wait((), {}))
        except BaseException as error:
            survive_closing(error)
            if call is not None and tokens is not None:
                call.leave(tokens)
                self._stop(call, error, None if use is None else use.failed)
            raise
        if call is not None and tokens is not None:
            call.leave(tokens)
            await call.observe()
            self._end(call, value, None if use is None else use.failed)
        return value

    def _is_body_of(self, call: SharedCall) -> bool:
        return self.may_be_body and call.is_made_by(self.name, prefixed=True)

    async def _run_as_body(self, call: SharedCall, body: Callable[[], Awaitable[Any]]) -> Any:
        """Return what the body returns; the framework's call has asked whom there is."""
        call.take()
        faults = call.run.faults
        try:
            value = await body()
        except BaseException as error:
            survive_closing(error)
            told = self._told_of(call, error)
            left = describe(error, faults) if told is None else _failure(told)
            GUARD.attempt("error", faults, call.keep_outcome, None, left)
            raise
        told = ToolOutcome(value)
        if self.outcome is not None:
            told = GUARD.attempt("outcome", faults, self.outcome, value) or told
        failure = None if told.error_type is None else _failure(told)
        GUARD.attempt("result", faults, call.keep_outcome, told.content, failure)
        return value

    def _asked_here(self) -> AnswerSource | None:
        return asked_here(self.name) if open_sources and self.can_be_answered else None

    def _begin(self, scope: Scope) -> SharedCall | None:
        call: SharedCall | None = GUARD.attempt("start", scope.run.faults, self._start, scope)
        return call

    def _start(self, scope: Scope) -> SharedCall:
        paused = scope.run.paused.pop(self.call_id or "", None)
        if isinstance(paused, SharedCall) and paused.name == self.name:
            paused.resume(self._given())
            return paused
        return start_call(scope, self.name, self._given(), form=SharedCall, call_id=self.call_id)

    def _given(self) -> object:
        return self.arguments() if callable(self.arguments) else self.arguments

    def _stop(self, call: SharedCall, error: BaseException, failed: Result | None) -> None:
        if self.call_id and isinstance(error, self.pauses):
            call.pause()
            call.run.paused[self.call_id] = call
            return
        if failed is not None and failed.error is not None:
            # Recorded as told, and raised again: what is raised now says less of the error.
            GUARD.attempt("error", call.run.faults, _fail_again, call, failed)
            return
        told = self._told_of(call, error)
        if told is None:
            call.fail(error)
        else:
            GUARD.attempt("error", call.run.faults, call.fail_softly, told.content, _failure(told))

    def _told_of(self, call: SharedCall, error: BaseException) -> ToolOutcome | None:
        if self.failure is None:
            return None
        return GUARD.attempt("error", call.run.faults, self.failure, error)

    def _use(self, source: Any, body: Callable[[], Any], call: SharedCall | None) -> Use:
        # The note of an answer belongs to the call that is current when the source is asked.
        return Use(
            body,
            source,
            self._asked,
            None,
            self.rebuild or _unchanged,
            rebuild_failure=self.rebuild_failure,
            result_of=partial(self._result, call),
        )

    def _result(self, call: SharedCall | None, value: object) -> Result:
        """Return what the tool gave, not what the framework made of it, to whoever is told."""
        from tracedance_sdk.trace import ErrorInfo, Result

        own = None if call is None else call.own_result()
        if own is not None:
            return own
        told = ToolOutcome(value)
        if self.outcome is not None:
            told = GUARD.attempt("outcome", PROCESS_FAULTS, self.outcome, value) or told
        content = orjson.loads(freeze(told.content))
        if told.error_type is None:
            return Result(ok=True, content=content)
        error = ErrorInfo(type=told.error_type, message=told.message)
        return Result(ok=False, content=content, error=error)

    def _asked(self) -> AskedCall:
        told = self._given()
        arguments = orjson.loads(freeze({} if told is None else told))
        given = arguments if isinstance(arguments, dict) else {"input": arguments}
        return AskedCall(self.name, given, self.effect)

    def _end(self, call: SharedCall, value: object, failed: Result | None) -> None:
        GUARD.attempt("end", call.run.faults, self._told, call, value, failed)

    def _told(self, call: SharedCall, value: object, failed: Result | None) -> None:
        if failed is not None and failed.error is not None:
            # Recorded as caught by the framework: what it returns now says less of the error.
            _fail_again(call, failed)
            return
        if self.outcome is None:
            call.succeed(value)
            return
        told = GUARD.attempt("outcome", call.run.faults, self.outcome, value)
        if told is None:
            call.succeed(value)
        elif told.error_type is None:
            call.succeed(told.content)
        else:
            call.fail_softly(told.content, _failure(told))


def _fail_again(call: SharedCall, failed: Result) -> None:
    error = failed.error
    if error is not None:
        call.fail_softly(failed.content, Failure(error.type, error.message, interrupted=False))


def _failure(told: ToolOutcome) -> Failure:
    return Failure(told.error_type or "Error", told.message, interrupted=False)


def _unchanged(content: Json) -> Any:
    return content

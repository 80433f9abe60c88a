"""A call reported by hand: for tools that run elsewhere, and for integrations."""

from __future__ import annotations

from time import perf_counter_ns
from types import TracebackType
from typing import TYPE_CHECKING, Self

from tracedance_sdk.errors import RecorderError
from tracedance_sdk.recording.calls import OpenCall, RequestedBy, start_call
from tracedance_sdk.recording.driving import UNRECORDED, Operation
from tracedance_sdk.recording.failures import Failure
from tracedance_sdk.recording.guard import GUARD
from tracedance_sdk.recording.reentry import survive_closing
from tracedance_sdk.recording.scopes import CLOSED, Tokens, scope_in
from tracedance_sdk.recording.spellings import code_number, words_of
from tracedance_sdk.recording.values import freeze

if TYPE_CHECKING:
    from tracedance_sdk.recording.runs import Run


class HandCall:
    """A call between entering and leaving a ``with`` or ``async with`` statement.

    What is assigned is recorded as it is at that moment. An exception that leaves the statement
    is recorded and goes on. Calls made inside are calls inside this one.

    Example:
        >>> with recorder.call("lookup", {"id": 7}) as call:  # doctest: +SKIP
        ...     call.result = client.get("/customers/7").json()
    """

    def __init__(
        self,
        run: Run,
        name: str,
        arguments: object,
        *,
        call_id: str | int | None,
        requested_by: RequestedBy,
    ) -> None:
        self._run = run
        self._about = (name, arguments, call_id, requested_by)
        self._call: OpenCall | None = None
        self._tokens: Tokens = (None, None)
        self._value: object = None
        self._content: str | None = None
        self._failure: Failure | None = None
        self.exit_code: int | None = None
        self.truncated = False

    @property
    def id(self) -> str | None:
        """The call's id; None before it has begun."""
        return None if self._call is None else self._call.call_id

    @property
    def result(self) -> object:
        """What came back; None until it is assigned."""
        return self._value

    @result.setter
    def result(self, value: object) -> None:
        self._value = value
        self._content = GUARD.attempt("result", self._run.faults, self._freeze, value)

    def fail(self, error_type: str, message: str = "") -> None:
        """Record that the tool reported a failure, without raising anything."""
        faults = self._run.faults
        kind = words_of(error_type, faults) or "Failed"
        self._failure = Failure(kind, words_of(message, faults), interrupted=False)

    def __enter__(self) -> Self:
        if self._call is not None:
            raise RecorderError(f"the call {self._about[0]!r} was entered before; make a new one")
        if not self._run.is_open:
            self._run.unattributed[CLOSED] += 1
            return self
        name, arguments, call_id, requested_by = self._about
        self._call = GUARD.attempt(
            "start",
            self._run.faults,
            start_call,
            scope_in(self._run),
            name,
            arguments,
            form=OpenCall,
            call_id=call_id,
            requested_by=requested_by,
        )
        self._tokens = self._operation.enter()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        survive_closing(error)
        self._operation.leave(self._tokens)
        if self._call is not None:
            GUARD.attempt("end", self._run.faults, self._end, self._call, error)

    async def __aenter__(self) -> Self:
        return self.__enter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        survive_closing(error)
        self._operation.leave(self._tokens)
        if self._call is not None:
            try:
                if error is None:
                    await self._call.observe()
            finally:
                GUARD.attempt("end", self._run.faults, self._end, self._call, error)

    @property
    def _operation(self) -> Operation:
        return UNRECORDED if self._call is None else self._call

    def _freeze(self, value: object) -> str:
        return self._run.text(freeze(value))

    def _end(self, call: OpenCall, error: BaseException | None) -> None:
        if error is not None:
            call.fail(error)
            return
        call.finish(
            self._content,
            ok=self._failure is None,
            failure=self._failure,
            truncated=self.truncated is True,
            exit_code=code_number(self.exit_code, self._run.faults),
            clock=perf_counter_ns(),
        )

"""A call that a framework makes, and the decorated function in it: one call, recorded once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import orjson

from tracedance_sdk.journal import Attributes
from tracedance_sdk.otel import TOOL_ARGUMENTS
from tracedance_sdk.recording.calls import OpenCall
from tracedance_sdk.recording.driving import Unrecorded
from tracedance_sdk.recording.failures import Failure, describe
from tracedance_sdk.recording.guard import GUARD
from tracedance_sdk.recording.scopes import Scope
from tracedance_sdk.recording.values import freeze

if TYPE_CHECKING:
    from tracedance_sdk.trace import Result

_MARKS: Final = ("_", "-", ".", "/", ":")
"""What stands between the name of a server and that of its tool."""


class SharedCall(OpenCall):
    """A call of a framework's tool. A decorated function of that name in its body is its body.

    What the function returns or raises counts before what the framework makes of it.
    """

    __slots__ = ("_content", "_failure", "_is_taken", "_value")

    def __init__(
        self, parent: Scope, name: str, attributes: Attributes, *, call_id: str, turn: int
    ) -> None:
        self._is_taken = False
        self._content: str | None = None
        self._failure: Failure | None = None
        self._value: bytes | None = None
        super().__init__(parent, name, attributes, call_id=call_id, turn=turn)

    def is_made_by(self, name: str, *, prefixed: bool = False) -> bool:
        """Whether a function of this tool's name, called here, is the body of this call.

        Args:
            name: Of the function.
            prefixed: The framework's tool may be called like it with a server's name before.
        """
        if self._is_taken or self._ended:
            return False
        return name == self._name or (
            prefixed and self._name.endswith(tuple(f"{mark}{name}" for mark in _MARKS))
        )

    def body(self, *, reduce: Callable[[list[Any]], object] | None = None) -> Body:
        """Return the operation of that function; it is taken now."""
        self._is_taken = True
        return Body(self, reduce)

    def keep(self, value: object) -> None:
        """Take what the function returned."""
        self._value = freeze(value)
        self._content = self.run.text(self._value)

    def keep_failure(self, error: BaseException) -> None:
        """Take what left the function."""
        self._failure = describe(error, self.run.faults)

    def forget_failure(self) -> None:
        """Take back what left the function: it was called again, and returned."""
        self._failure = None

    def own_result(self) -> Result | None:
        """Return what the function in it gave, with no secret masked; None where there is none."""
        from tracedance_sdk.trace import ErrorInfo, Result

        if self._failure is not None:
            error = ErrorInfo(type=self._failure.type, message=self._failure.message)
            return Result(ok=False, error=error)
        if self._value is None:
            return None
        return Result(ok=True, content=orjson.loads(self._value))

    def take(self) -> None:
        """Say that the body of this call is found."""
        self._is_taken = True

    def keep_outcome(self, content: object, failure: Failure | None) -> None:
        """Take what came of the body, where it was no function that returned or raised.

        What has been kept of a function that raised in it counts before.
        """
        self._value = None if content is None else freeze(content)
        self._content = None if self._value is None else self.run.text(self._value)
        self._failure = failure and (self._failure or failure)

    def pause(self) -> None:
        """Stay open while the framework waits for somebody; the end of the run interrupts it."""
        self.run.streams.add(self)
        self._is_taken = False
        self._content = self._failure = self._value = None

    def resume(self, arguments: object) -> None:
        """Go on, perhaps with other arguments than it was begun with: those of whoever allowed it.

        Args:
            arguments: By name.
        """
        self.run.streams.discard(self)
        text = self.run.text(freeze(arguments))
        if text != self._attributes.get(TOOL_ARGUMENTS):
            self._attributes = {**self._attributes, TOOL_ARGUMENTS: text}

    def interrupt(self) -> None:
        """End with the run, still waiting."""
        self.run.streams.discard(self)
        self.finish(None, ok=None, interrupted=True)

    def fail_softly(self, shown: object, failure: Failure) -> None:
        """End with a failure that the framework caught, and what it told the model instead.

        Args:
            shown: To the model.
            failure: As the framework tells it; what left the tool's function counts before.
        """
        content = None if shown is None else self.run.text(freeze(shown))
        self.finish(content, ok=False, failure=self._failure or failure)

    def _succeed(self, clock: int, value: object) -> None:
        failure = self._failure
        if failure is None and self._content is None:
            super()._succeed(clock, value)
            return
        shown = self._content
        if failure is not None and value is not None:
            # What the framework told the model instead of raising.
            shown = self.run.text(freeze(value))
        self.finish(shown, ok=failure is None, failure=failure, clock=clock)


class Body(Unrecorded):
    """The function that a `SharedCall` is made of."""

    def __init__(self, call: SharedCall, reduce: Callable[[list[Any]], object] | None) -> None:
        self._call = call
        self._reduce = reduce
        self._items: list[Any] = []

    def add(self, item: object) -> None:
        """Take the next item of a generator."""
        self._items.append(item)

    def exhaust(self) -> None:
        """Take the items as its result."""
        reduced = self._items if self._reduce is None else self._reduce(self._items)
        self.succeed(reduced)

    def succeed(self, value: object) -> None:
        """Take its result."""
        GUARD.attempt("result", self._call.run.faults, self._call.keep, value)

    def fail(self, error: BaseException) -> None:
        """Take its failure."""
        GUARD.attempt("error", self._call.run.faults, self._call.keep_failure, error)

"""One dispatcher for every kind of function, shared by the decorators.

The function's kind is worked out once. A plain function may still return a coroutine or a
generator, when a decorator in between hides what it was put around: then the operation goes on
in what was returned. Any other iterator or awaitable that comes back is passed on untouched.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Token
from types import CoroutineType, GeneratorType
from typing import Any, Final

from tracedance_sdk.recording.driving import (
    UNRECORDED,
    Operation,
    await_in,
    iterate_async_in,
    iterate_in,
)
from tracedance_sdk.recording.functions import GENERATORS, creates_only, hidden_kind_of, kind_of
from tracedance_sdk.recording.guard import PROCESS_FAULTS
from tracedance_sdk.recording.scopes import CURRENT

Begin = Callable[[], Operation]
"""Starts the operation; called when the body is about to run."""

_NO_STACK: Final = "stack: RecursionError"
_AWAITABLE: Final = (CoroutineType, GeneratorType)


class Dispatcher:
    """Runs one function in operations.

    Args:
        function: As it was decorated.

    Attributes:
        kind: How its body is run.
        makes_items: It gives its items one by one, itself or under another decorator.
    """

    __slots__ = ("_creates_only", "_generator", "kind", "makes_items")

    def __init__(self, function: Callable[..., Any]) -> None:
        self.kind = kind_of(function)
        self._creates_only = creates_only(function)
        self._generator = GENERATORS.get(hidden_kind_of(function))
        self.makes_items = self._generator is not None

    def run(
        self,
        begin: Begin,
        wrapped: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """Call the function in an operation; what it gives is what it would give without."""
        __tracebackhide__ = True
        if self.kind == "plain":
            try:
                operation = begin()
            except RecursionError:
                PROCESS_FAULTS[_NO_STACK] = PROCESS_FAULTS.get(_NO_STACK, 0) + 1
                operation = UNRECORDED
            return self._run_plain(operation, wrapped, args, kwargs)
        if self.kind == "coroutine" and self._creates_only:
            # Wrong arguments are refused now, as without us; the body is made when it is awaited,
            # so that a coroutine nobody awaits gives one warning and not two.
            probe = wrapped(*args, **kwargs)
            probe.close()
            return _named(await_in(begin, lambda: wrapped(*args, **kwargs)), probe)
        made: Any = wrapped(*args, **kwargs)
        if self.kind == "coroutine" and type(made) in _AWAITABLE:
            return _named(await_in(begin, lambda: made), made)
        if type(made) is self._generator:
            return self._iterate(begin, made)
        begin().succeed(made)
        return made

    def _run_plain(
        self,
        operation: Operation,
        wrapped: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        __tracebackhide__ = True
        tokens = operation.enter()
        try:
            value = wrapped(*args, **kwargs)
        except BaseException as error:
            operation.leave(tokens)
            operation.fail(error)
            raise
        try:
            operation.leave(tokens)
        except RecursionError:
            PROCESS_FAULTS[_NO_STACK] = PROCESS_FAULTS.get(_NO_STACK, 0) + 1
            if tokens[0] is not None and tokens[0].old_value is not Token.MISSING:
                CURRENT.set(tokens[0].old_value)
            elif tokens[0] is not None:
                CURRENT.set(None)
        kind = type(value)
        if kind is CoroutineType:
            return _named(await_in(lambda: operation, lambda: value), value)
        if kind is self._generator:
            return self._iterate(lambda: operation, value)
        try:
            operation.succeed(value)
        except RecursionError:
            # What the function has done must not be lost for want of stack to record it. Nothing
            # that needs a frame of its own may be called here.
            PROCESS_FAULTS[_NO_STACK] = PROCESS_FAULTS.get(_NO_STACK, 0) + 1
        return value

    def _iterate(self, begin: Begin, made: Any) -> Any:
        iterate = iterate_in if self._generator is GeneratorType else iterate_async_in
        return _named(iterate(begin, made), made)


def _named(ours: Any, theirs: Any) -> Any:
    """Give a coroutine or generator of ours the name of the one in it."""
    ours.__name__ = theirs.__name__
    ours.__qualname__ = theirs.__qualname__
    return ours

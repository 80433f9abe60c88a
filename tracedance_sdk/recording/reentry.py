"""Work of a thread that must not begin inside itself.

A signal handler, or the finalizer of an abandoned generator, may run between any two steps of the
code, in the middle of writing a record too; what it has to write then waits for a moment.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable
from contextvars import Context, copy_context
from typing import Any, Final


class OneAtATime(threading.local):
    """Does the pieces of work of each thread one after the other, in the order they came."""

    def __init__(self) -> None:
        self._busy = False
        self._waiting: deque[tuple[Callable[..., object], tuple[Any, ...]]] = deque()

    def do(self, work: Callable[..., object], *args: Any) -> None:
        """Call `work` now, or, inside such a call of the same thread, right after it."""
        if self._busy:
            self._waiting.append((work, args))
            return
        self._busy = True
        try:
            work(*args)
        finally:
            self._busy = False
        while self._waiting and not self._busy:
            later, given = self._waiting.popleft()
            self.do(later, *given)


WRITING: Final = OneAtATime()
"""Keeping records."""


class _Held(threading.local):
    def __init__(self) -> None:
        self.contexts: list[Context] = []


_HELD: Final = _Held()


def survive_closing(error: BaseException | None) -> None:
    """Make it safe to set context variables while a generator or coroutine is being closed.

    Python before 3.12 collects garbage in the middle of an allocation, one inside
    `ContextVar.set` too. When a finalizer then sets a variable, that `set` goes on with the freed
    state of the context, and the process crashes, unless somebody holds the state. It is held
    until `let_go`.

    Args:
        error: What was thrown; anything but GeneratorExit needs no care.
    """
    if sys.version_info < (3, 12) and isinstance(error, GeneratorExit):
        _HELD.contexts.append(copy_context())


def let_go() -> None:
    """Hold contexts no longer; called where something begins, when nothing is being closed."""
    if _HELD.contexts:
        _HELD.contexts.clear()

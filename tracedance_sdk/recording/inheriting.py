"""Threads that begin with a context variable as it was where they were started.

Tasks and `asyncio.to_thread` carry a whole context along. A `threading.Thread` begins with an empty
one, and what a thread pool is given runs in the context of whichever thread takes it. `Inheritance`
makes up for that, for one variable and for a while: it puts itself around ``Thread.start`` and
``ThreadPoolExecutor.submit``. Threads that others start, such as those of a library of C, are not
covered, nor is work that a thread takes from a queue.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

_F = Callable[..., Any]
_Put = dict[tuple[type, str], tuple[_F, _F]]


class Inheritance:
    """Hands a variable on to threads and to the work of thread pools.

    A context that knows of a value of its own keeps it: one that a thread is given, or that work is
    run in (`contextvars.Context.run`).

    Args:
        variable: None stands for no value.
        of_thread: Returns what a thread begins with where the given value is that of whoever starts
            it; None hands it on as it is. Work for a pool has it as it is.

    Example:
        >>> place = ContextVar("place", default=None)
        >>> seen, inheritance = [], Inheritance(place)
        >>> inheritance.begin()
        >>> token = place.set("inside")
        >>> thread = threading.Thread(target=lambda: seen.append(place.get()))
        >>> thread.start()
        >>> thread.join()
        >>> place.reset(token)
        >>> inheritance.end()
        >>> seen
        ['inside']
    """

    def __init__(
        self, variable: ContextVar[Any], of_thread: Callable[[Any], Any] | None = None
    ) -> None:
        self._variable = variable
        self._of_thread = of_thread or _itself
        self._put: _Put = {}

    def begin(self) -> None:
        """Hand the variable on from now on; does nothing where that is so."""
        from concurrent.futures import ThreadPoolExecutor

        self._wrap(threading.Thread, "start", self._starting)
        self._wrap(ThreadPoolExecutor, "submit", self._submitting)

    def end(self) -> None:
        """Put back what was there.

        Where others have put themselves around it meanwhile, theirs stays. What is kept in theirs
        changes nothing as long as the variable has no value.
        """
        for (owner, name), (ours, original) in self._put.items():
            if vars(owner).get(name) is ours:
                setattr(owner, name, original)
        self._put.clear()

    def _wrap(self, owner: type, name: str, around: Callable[[_F], _F]) -> None:
        original = vars(owner)[name]
        if (owner, name) in self._put and self._put[owner, name][0] is original:
            return
        ours = functools.wraps(original)(around(original))
        setattr(owner, name, ours)
        self._put[owner, name] = ours, original

    def _starting(self, original: _F) -> _F:
        variable, of_thread = self._variable, self._of_thread

        def start(thread: threading.Thread) -> None:
            value = variable.get()
            if value is None:
                original(thread)
                return
            own = vars(thread).get("run")
            with contextlib.suppress(Exception):  # a class of others' may have its run kept from us
                _hand_on(thread, variable, of_thread(value))
            try:
                original(thread)
            except BaseException:
                _give_back(thread, own)
                raise

        return start

    def _submitting(self, original: _F) -> _F:
        variable = self._variable

        def submit(pool: Any, function: Any, /, *args: Any, **kwargs: Any) -> Any:
            if not callable(function) or type(pool).__name__ == "InterpreterPoolExecutor":
                return original(pool, function, *args, **kwargs)
            value = variable.get()

            # Also without a value: the thread that takes the work may have begun with one.
            @functools.wraps(function, assigned=("__name__", "__qualname__", "__doc__"), updated=())
            def work(*given: Any, **named: Any) -> Any:
                token = variable.set(value)
                try:
                    return function(*given, **named)
                finally:
                    variable.reset(token)

            return original(pool, work, *args, **kwargs)

        return submit


def _hand_on(thread: threading.Thread, variable: ContextVar[Any], value: object) -> None:
    """Have a thread that is about to start begin with a value."""
    own, body = vars(thread).get("run"), thread.run

    def run() -> None:
        _give_back(thread, own)
        if variable.get() is not None:
            body()
            return
        token = variable.set(value)
        try:
            body()
        finally:
            variable.reset(token)

    thread.run = run  # type: ignore[method-assign]  # of this thread alone, until it runs


def _give_back(thread: threading.Thread, own: Callable[[], None] | None) -> None:
    if own is None:
        vars(thread).pop("run", None)
    else:
        thread.run = own  # type: ignore[method-assign]  # as it was


def _itself(value: Any) -> Any:
    return value

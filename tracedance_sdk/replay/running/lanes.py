"""Event loops in threads of their own, for the async code of others.

All async agents of a process share one, so that a client which they share stays on one loop. Code
that blocks it holds up its neighbours; once that is noticed, they are asked again on a fresh loop,
and the time is given back to them.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
import time
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, Final, NamedTuple

from tracedance_sdk.replay.running.clock import running_clock

_LOOK_S: Final = 0.05
_PATIENCE_S: Final = 5.0
"""A loop that has not gone round for so long is blocked; sooner where a limit is short."""

_SHARE: Final = 4
_MOST_MOVES: Final = 3
_OWNER: contextvars.ContextVar[object] = contextvars.ContextVar("owner", default=None)


class Outcome(NamedTuple):
    """What came of a call: a value, or what was raised."""

    value: Any = None
    error: BaseException | None = None


Work = Callable[[], Coroutine[Any, Any, Outcome]]
"""Makes a coroutine that raises nothing."""


def asked_in_lane() -> object:
    """Return what stands for the request whose coroutine runs here; None outside of any lane.

    A request that is made again, as a neighbour blocked the loop, is another one.
    """
    return _OWNER.get()


class Lane:
    """Where coroutines of others are run, on one loop as long as nobody blocks it.

    Args:
        name: Of the threads.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._home: _Home | None = None

    async def run(self, work: Work) -> Outcome:
        """Return what came of a coroutine.

        Args:
            work: Makes it; called again where a neighbour blocked the loop.
        """
        for moves in range(_MOST_MOVES + 1):
            home = self._open_home()
            ask = home.begin(work)
            answer = asyncio.wrap_future(ask.answer)
            try:
                if moves == _MOST_MOVES or await self._stays(home, ask, answer):
                    return await answer
            finally:
                home.give_up(ask)
        raise AssertionError("the last try is waited for")

    def _open_home(self) -> _Home:
        if self._home is None:
            # It is nobody's, whoever was the first to need it.
            self._home = contextvars.Context().run(_Home, self._name)
        return self._home

    async def _stays(self, home: _Home, ask: _Ask, answer: asyncio.Future[Outcome]) -> bool:
        """Wait; return whether the coroutine is done or blocks the loop itself, not a neighbour."""
        clock = running_clock()
        patience = _PATIENCE_S if clock is None else min(_PATIENCE_S, clock.seconds / _SHARE)
        while True:
            home.ping()
            await asyncio.wait((answer,), timeout=min(_LOOK_S, patience / 2))
            if answer.done():
                return True
            if (blocked_s := home.silent_s) < patience:
                continue
            if self._home is home:
                self._home = None
            if home.holder() is ask:
                return True
            if clock is not None:
                clock.give_back(blocked_s)
            return False


class _Ask:
    """A coroutine on its way."""

    def __init__(self) -> None:
        self.answer: Future[Outcome] = Future()
        self.task: asyncio.Task[None] | None = None
        self.is_given_up = False


class _Home:
    """A loop in a daemon thread."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._loop.set_task_factory(self._make_task)
        self._owners: weakref.WeakKeyDictionary[Any, object] = weakref.WeakKeyDictionary()
        self._pinged_at: float | None = None
        threading.Thread(target=self._serve, name=name, daemon=True).start()

    def begin(self, work: Work) -> _Ask:
        """Start a coroutine in a copy of the caller's context."""
        ask = _Ask()
        context = contextvars.copy_context()
        context.run(_OWNER.set, ask)

        async def answered() -> None:
            outcome = Outcome(error=asyncio.CancelledError())
            try:
                outcome = await work()
            finally:
                ask.task = None
                with contextlib.suppress(Exception):  # nobody waits for it any more
                    ask.answer.set_result(outcome)

        def start() -> None:
            if not ask.is_given_up:
                ask.task = self._loop.create_task(answered(), context=context)

        self._call(start)
        return ask

    def give_up(self, ask: _Ask) -> None:
        """Stop a coroutine, as far as it lets itself be stopped; nobody waits for it."""
        if ask.answer.done() and not ask.answer.cancelled():
            return

        def stop() -> None:
            ask.is_given_up = True
            if ask.task is not None:
                ask.task.cancel()

        self._call(stop)

    def ping(self) -> None:
        """Ask the loop for a sign of life, if none is awaited."""
        if self._pinged_at is None:
            self._pinged_at = time.monotonic()
            self._call(self._answer_ping)

    @property
    def silent_s(self) -> float:
        """For how long a sign of life has been awaited."""
        at = self._pinged_at
        return 0.0 if at is None else time.monotonic() - at

    def holder(self) -> object:
        """Return whose code the loop is running now; None where nobody knows."""
        task = asyncio.current_task(self._loop)
        return None if task is None else self._owners.get(task)

    def _answer_ping(self) -> None:
        self._pinged_at = None

    def _call(self, function: Callable[[], None]) -> None:
        with contextlib.suppress(RuntimeError):  # somebody has closed the loop: it stays silent
            self._loop.call_soon_threadsafe(function)

    def _make_task(self, loop: asyncio.AbstractEventLoop, work: Any, **more: Any) -> Any:
        task: asyncio.Task[Any] = asyncio.Task(work, loop=loop, **more)
        context: contextvars.Context | None = more.get("context")
        self._owners[task] = _OWNER.get() if context is None else context.get(_OWNER)
        return task

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        while not self._loop.is_closed():
            # A task that is left by SystemExit or KeyboardInterrupt leaves the loop as well.
            with contextlib.suppress(BaseException):
                self._loop.run_forever()

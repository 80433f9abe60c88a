"""Calls that an agent makes of its own tools while it is asked: the run answers them.

A framework's agent does not ask for calls in its reply; it makes them, and replies when it is done.
Its tools are recorded ones (`tool`, or those of an integration), so each use asks here first.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from typing import Any, NamedTuple, Self

from tracedance_sdk.errors import InvalidOption, UnrecordedCall
from tracedance_sdk.recording import AskedCall, GivenAnswer, InUse, asked_of, in_use
from tracedance_sdk.replay.running.lanes import asked_in_lane

Make = Callable[[AskedCall], Awaitable[GivenAnswer]]
"""Answers a call on the loop of the run."""


class OwnCalls:
    """Answers, one after the other, what an agent calls itself, on the loop of the run.

    While it is entered, it is in use. What the agent does is done in `asked`: when it is made, when
    it replies, when it is closed. What is started there, and goes on when the run is over, gets no
    more answers.
    """

    def __init__(self) -> None:
        self._is_over = False
        self._run: _Run | None = None
        self._request: object = None
        self._stack = contextlib.ExitStack()
        self._entered: list[InUse] = []

    def __enter__(self) -> Self:
        self._entered.append(self._stack.enter_context(in_use(self)))
        return self

    def __exit__(self, *raised: object) -> None:
        self.end()
        self._entered.clear()
        self._stack.close()

    def asked(self) -> contextlib.AbstractContextManager[None]:
        """Ask here about the calls that are made in this context."""
        return asked_of(self._entered[-1])

    def begin(self, make: Make, on_again: Callable[[], object]) -> None:
        """Answer from now on, on the loop that runs here.

        Args:
            make: Answers a call. It is called in a copy of the current context.
            on_again: Called when the agent makes calls a second time, as it had to be asked again
                in the middle of its work: what it is answered now is no longer what it was.
        """
        self._run = _Run(
            make, on_again, asyncio.get_running_loop(), asyncio.Lock(), contextvars.copy_context()
        )

    def end(self) -> None:
        """Answer nothing any more: the run is over."""
        self._is_over = True

    def begin_reply(self) -> None:
        """Expect the calls of a new request."""
        self._request = None

    def answer(self, asked: AskedCall) -> GivenAnswer:
        """Return the answer to a call that is made in a thread of the agent's."""
        run = self._running(asked)
        if _running_loop() is run.loop:
            raise InvalidOption(
                f"{asked.name} would wait for the loop that it holds up; an agent with tools of its"
                " own does not say runs_apart"
            )
        return self._begun(run, asked).result()

    async def answer_async(self, asked: AskedCall) -> GivenAnswer:
        """Return the answer to a call that is awaited, on whatever loop."""
        return await asyncio.wrap_future(self._begun(self._running(asked), asked))

    def _begun(self, run: _Run, asked: AskedCall) -> Future[GivenAnswer]:
        found: Future[GivenAnswer] = Future()
        request = asked_in_lane()

        async def answer() -> None:
            try:
                found.set_result(await self._answered(run, asked, request))
            except BaseException as error:  # noqa: BLE001 - whoever waits gets it
                found.set_exception(error)

        work: Coroutine[Any, Any, None] = answer()
        context = run.context.copy()
        try:
            run.loop.call_soon_threadsafe(lambda: _start(run.loop, work, context))
        except RuntimeError as error:  # the loop is closed
            work.close()
            raise _late(asked) from error
        return found

    async def _answered(self, run: _Run, asked: AskedCall, request: object) -> GivenAnswer:
        async with run.turn:
            self._running(asked)
            self._request = self._request or request
            if request is not None and request is not self._request:
                run.on_again()
                raise UnrecordedCall(
                    f"{asked.name} is called in vain: the run begins anew", writes=True
                )
            return await run.make(asked)

    def _running(self, asked: AskedCall) -> _Run:
        """Return the run that a call belongs to.

        Raises:
            UnrecordedCall: It has not begun, or is over.
        """
        if self._is_over:
            raise _late(asked)
        if self._run is None:
            raise UnrecordedCall(
                f"{asked.name} was called before the agent was asked anything; it was not run",
                writes=True,
            )
        return self._run


class _Run(NamedTuple):
    """Who answers, and where; `turn` is held while a call is answered."""

    make: Make
    on_again: Callable[[], object]
    loop: asyncio.AbstractEventLoop
    turn: asyncio.Lock
    # What answers, such as a pure tool, is not the agent's, and is not asked about.
    context: contextvars.Context


def _late(asked: AskedCall) -> UnrecordedCall:
    return UnrecordedCall(
        f"{asked.name} was called when the run was over; it was not run", writes=True
    )


def _start(
    loop: asyncio.AbstractEventLoop,
    work: Coroutine[Any, Any, None],
    context: contextvars.Context,
) -> None:
    task = loop.create_task(work, context=context)
    _AT_WORK.add(task)
    task.add_done_callback(_AT_WORK.discard)


_AT_WORK: set[asyncio.Task[None]] = set()
"""A loop holds its tasks weakly."""


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None

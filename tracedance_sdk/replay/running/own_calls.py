"""Calls that an agent makes of its own tools while it is asked: the run answers them.

A framework's agent does not ask for calls in its reply; it makes them, and replies when it is done.
Its tools are recorded ones (`tool`, or those of an integration), so each use asks here first.
"""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from typing import Any

from tracedance_sdk.errors import InvalidOption, UnrecordedCall
from tracedance_sdk.recording import AskedCall, GivenAnswer
from tracedance_sdk.replay.running.lanes import asked_in_lane

Make = Callable[[AskedCall], Awaitable[GivenAnswer]]
"""Answers a call on the loop of the run."""


class OwnCalls:
    """Answers, one after the other, what an agent calls itself; made on the loop of the run.

    Args:
        make: Answers a call.
        on_again: Called when the agent makes calls a second time, as it had to be asked again in
            the middle of its work: what it is answered now is no longer what it was.

    Attributes:
        is_left_behind: The run is over, and the agent is still at work: it gets no more answers.
    """

    def __init__(self, make: Make, on_again: Callable[[], object]) -> None:
        self.is_left_behind = False
        self._make = make
        self._on_again = on_again
        self._request: object = None
        self._loop = asyncio.get_running_loop()
        self._turn = asyncio.Lock()
        # What answers, such as a pure tool, is not the agent's, and is not asked about.
        self._context = contextvars.copy_context()

    def begin_reply(self) -> None:
        """Expect the calls of a new request."""
        self._request = None

    def answer(self, asked: AskedCall) -> GivenAnswer:
        """Return the answer to a call that is made in a thread of the agent's."""
        if _running_loop() is self._loop:
            raise InvalidOption(
                f"{asked.name} would wait for the loop that it holds up; an agent with tools of its"
                " own does not say runs_apart"
            )
        return self._begun(asked).result()

    async def answer_async(self, asked: AskedCall) -> GivenAnswer:
        """Return the answer to a call that is awaited, on whatever loop."""
        return await asyncio.wrap_future(self._begun(asked))

    def _begun(self, asked: AskedCall) -> Future[GivenAnswer]:
        self._refuse_late(asked)
        found: Future[GivenAnswer] = Future()
        request = asked_in_lane()

        async def answer() -> None:
            try:
                found.set_result(await self._answered(asked, request))
            except BaseException as error:  # noqa: BLE001 - whoever waits gets it
                found.set_exception(error)

        work: Coroutine[Any, Any, None] = answer()
        context = self._context.copy()
        self._loop.call_soon_threadsafe(lambda: _start(self._loop, work, context))
        return found

    async def _answered(self, asked: AskedCall, request: object) -> GivenAnswer:
        async with self._turn:
            self._refuse_late(asked)
            self._request = self._request or request
            if request is not None and request is not self._request:
                self._on_again()
                raise UnrecordedCall(
                    f"{asked.name} is called in vain: the run begins anew", writes=True
                )
            return await self._make(asked)

    def _refuse_late(self, asked: AskedCall) -> None:
        if self.is_left_behind:
            raise UnrecordedCall(
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

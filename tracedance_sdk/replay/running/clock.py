"""How long somebody may take, without the time in which somebody else held them up."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from contextvars import ContextVar


class Clock:
    """The time that is left of a limit.

    Attributes:
        seconds: The limit.
    """

    def __init__(self, timeout: asyncio.Timeout, seconds: float) -> None:
        self.seconds = seconds
        self._timeout = timeout

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Count no time meanwhile: it is another's."""
        loop = asyncio.get_running_loop()
        at = self._timeout.when()
        left = self.seconds if at is None else at - loop.time()
        self._timeout.reschedule(None)
        try:
            yield
        finally:
            self._timeout.reschedule(loop.time() + left)

    def give_back(self, seconds: float) -> None:
        """Allow so many seconds more, which were lost to another."""
        at = self._timeout.when()
        if at is not None and not self._timeout.expired():
            self._timeout.reschedule(at + seconds)


_CLOCK: ContextVar[Clock | None] = ContextVar("clock", default=None)


def running_clock() -> Clock | None:
    """Return the clock of whoever is waited for here."""
    return _CLOCK.get()


@contextlib.asynccontextmanager
async def limited(seconds: float) -> AsyncIterator[Clock]:
    """Let what is waited for inside take so many seconds.

    Args:
        seconds: The limit.

    Raises:
        TimeoutError: It took longer.
    """
    async with asyncio.timeout(seconds) as timeout:
        clock = Clock(timeout, seconds)
        mark = _CLOCK.set(clock)
        try:
            yield clock
        finally:
            _CLOCK.reset(mark)

"""Other people's code, run where it can hold nobody up.

Agents, graders, customers and tools are called in threads of their own, and their coroutines run on
loops of their own (`Lane`). The loop that runs the tests is never theirs: whoever does not return
is left behind when their time is over. The threads are daemons, so that the process can end.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import threading
from collections.abc import Callable
from typing import Any, Final, TypeVar

from tracedance_sdk.replay.running.lanes import Lane, Outcome
from tracedance_sdk.replay.running.raised import leaf_of, place_of
from tracedance_sdk.trace import spelled_out

T = TypeVar("T")

THREAD_NAME: Final = "tracedance apart"
"""Of threads that are running other people's code."""

AGENTS: Final = Lane("tracedance agents")
CUSTOMERS: Final = Lane("tracedance customers")
GRADERS: Final = Lane("tracedance graders")

_LONGEST: Final = 1_000


class ForeignFailure(Exception):
    """What other people's code raised, whatever it was.

    Attributes:
        error: What was raised.
        told: The same in one line, such as ``RuntimeError: out of ideas``.
    """

    def __init__(self, error: BaseException) -> None:
        self.error = error
        self.told = told_of(error)
        super().__init__(self.told)

    @property
    def told_with_place(self) -> str:
        """The same with the line it came from, such as ``RuntimeError: no (at agents.py:17)``."""
        place = place_of(self.error)
        return self.told if place is None else f"{self.told} (at {one_line(place)})"


def written(text: str) -> str:
    """Return a text of others as a plain one that can be written."""
    return str(spelled_out(str.__str__(text)))


def one_line(text: str) -> str:
    """Return a text of others in one line of bounded length that can be written."""
    line = " ".join(written(str.__str__(text)[: 4 * _LONGEST]).split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."


def told_of(error: BaseException) -> str:
    """Return what was raised in one line, also where it cannot speak for itself.

    Of a group that holds one exception, that one.
    """
    error = leaf_of(error)
    name = type(error).__name__
    try:
        text = one_line(str(error))
    except BaseException:  # noqa: BLE001 - its own method; what it was is known all the same
        text = ""
    return f"{name}: {text}" if text else name


async def call_apart(function: Callable[..., Any], *arguments: Any, lane: Lane) -> Any:
    """Call a function that may be async, and return what it gives.

    Args:
        function: Other people's.
        arguments: For the function.
        lane: Where its coroutine runs.

    Raises:
        ForeignFailure: It raised something, be it SystemExit or KeyboardInterrupt: those come from
            the code that was called; a key that is pressed reaches the main thread.
    """
    if is_async(function):
        return _value(await lane.run(lambda: _outcome(function, arguments)))
    found = _value(await _in_thread(function, arguments))
    if inspect.isawaitable(found):
        return _value(await lane.run(lambda: _outcome(_itself, (found,))))
    return found


async def in_thread(function: Callable[..., T], *arguments: Any) -> T:
    """Call a function that blocks and return what it gives; raise what it raises.

    Raises:
        ForeignFailure: It raised what would end the program.
    """
    outcome = await _in_thread(function, arguments)
    if isinstance(outcome.error, Exception):
        raise outcome.error
    found: T = _value(outcome)
    return found


def runs_apart(who: object) -> bool:
    """Whether somebody holds nobody up and may be asked on the loop that runs the tests."""
    return getattr(who, "runs_apart", False) is True


def is_async(function: Any) -> bool:
    """Whether calling it only makes a coroutine."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - it is looked at, not called
    )


def _itself(value: Any) -> Any:
    return value


def _value(outcome: Outcome) -> Any:
    if outcome.error is not None:
        raise ForeignFailure(outcome.error) from outcome.error
    return outcome.value


async def _outcome(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Outcome:
    try:
        found = function(*arguments)
        return Outcome(await found if inspect.isawaitable(found) else found)
    except BaseException as error:  # noqa: BLE001 - whoever asked is told
        return Outcome(error=error)


async def _in_thread(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Outcome:
    """Call a function in a daemon thread; nobody waits for it once its time is over."""
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[Outcome] = loop.create_future()
    context = contextvars.copy_context()

    def settle(outcome: Outcome) -> None:
        if not answered.done():
            answered.set_result(outcome)

    def work() -> None:
        try:
            outcome = Outcome(context.run(function, *arguments))
        except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
            outcome = Outcome(error=error)
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, outcome)

    threading.Thread(target=work, name=THREAD_NAME, daemon=True).start()
    return await answered

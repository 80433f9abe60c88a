"""Run a function's body inside an operation, whatever kind of function it is.

An operation is a call or a run. Its scope is current only while the body runs, and it ends once.
The drivers treat the body alike: a coroutine, and the two kinds of generator, of which every step
is passed on as it came (values sent, exceptions thrown, closing). Nothing begins before the body.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from typing import Any, Final, Protocol, TypeVar

from tracedance_sdk.recording.reentry import let_go, survive_closing
from tracedance_sdk.recording.scopes import Tokens

_T = TypeVar("_T")


class Operation(Protocol):
    """What the drivers need of a call or a run."""

    async def prepare(self) -> None:
        """Await what has to be awaited before the body runs."""

    def enter(self) -> Tokens:
        """Make the operation's scope the current one."""

    def leave(self, tokens: Tokens, /) -> None:
        """Make the scope before it the current one again."""

    def add(self, item: object, /) -> None:
        """Take the next item of a generator."""

    def exhaust(self) -> None:
        """End: the generator came to its end."""

    def succeed(self, value: object, /) -> None:
        """End with a value."""

    def fail(self, error: BaseException, /) -> None:
        """End with the exception that left the body."""

    async def observe(self) -> None:
        """Await what has to be awaited before the end is written."""


class Unrecorded:
    """The operation of a body that could not be recorded: it leaves no trace."""

    async def prepare(self) -> None:
        """Wait for nothing."""

    def enter(self) -> Tokens:
        """Change nothing."""
        return None, None

    def leave(self, tokens: Tokens) -> None:
        """Change nothing."""

    def add(self, item: object) -> None:
        """Forget the item."""

    def exhaust(self) -> None:
        """Forget the end."""

    def succeed(self, value: object) -> None:
        """Forget the value."""

    def fail(self, error: BaseException) -> None:
        """Forget the exception."""

    async def observe(self) -> None:
        """Wait for nothing."""


UNRECORDED: Final = Unrecorded()


async def await_in(begin: Callable[[], Operation], body: Callable[[], Awaitable[_T]]) -> _T:
    """Await a coroutine."""
    operation = begin()
    await operation.prepare()
    tokens = operation.enter()
    try:
        value = await body()
    except Exception as error:
        operation.leave(tokens)
        try:
            await operation.observe()
        finally:
            operation.fail(error)
        raise
    except BaseException as error:
        survive_closing(error)
        operation.leave(tokens)
        operation.fail(error)
        raise
    operation.leave(tokens)
    try:
        await operation.observe()
    finally:
        operation.succeed(value)
    return value


def iterate_in(
    begin: Callable[[], Operation], body: Generator[Any, Any, Any]
) -> Generator[Any, Any, Any]:
    """Iterate a generator; this is PEP 380's ``yield from`` with the scope put around each step."""
    let_go()
    operation = begin()
    sent: Any = None
    thrown: BaseException | None = None
    while True:
        tokens = operation.enter()
        try:
            item = body.send(sent) if thrown is None else body.throw(thrown)
        except StopIteration as stop:
            operation.leave(tokens)
            operation.exhaust()
            return stop.value
        except BaseException as error:
            operation.leave(tokens)
            operation.fail(error)
            raise
        operation.leave(tokens)
        operation.add(item)
        sent = thrown = None
        try:
            sent = yield item
        except BaseException as error:  # noqa: BLE001  # thrown into the body in the next step
            survive_closing(error)
            thrown = error


async def iterate_async_in(
    begin: Callable[[], Operation], body: AsyncGenerator[Any, Any]
) -> AsyncGenerator[Any, Any]:
    """Iterate an asynchronous generator."""
    operation = begin()
    await operation.prepare()
    sent: Any = None
    thrown: BaseException | None = None
    while True:
        tokens = operation.enter()
        try:
            item = await (body.asend(sent) if thrown is None else body.athrow(thrown))
        except StopAsyncIteration:
            operation.leave(tokens)
            try:
                await operation.observe()
            finally:
                operation.exhaust()
            return
        except BaseException as error:
            operation.leave(tokens)
            operation.fail(error)
            raise
        operation.leave(tokens)
        operation.add(item)
        sent = thrown = None
        try:
            sent = yield item
        except BaseException as error:  # noqa: BLE001  # thrown into the body in the next step
            thrown = error

"""A streamed reply on its way to whoever reads it: each piece is seen, and its end told once."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from typing import Any, Protocol

from tracedance_sdk.recording.guard import GUARD, PROCESS_FAULTS
from tracedance_sdk.recording.integrating.model_calls import ModelCall, ModelReply
from tracedance_sdk.recording.reentry import survive_closing


class Pieces(Protocol):
    """Collects the pieces of a reply."""

    def add(self, piece: Any, /) -> object:
        """Take the next piece."""

    def reply(self) -> ModelReply | None:
        """Return the reply as far as it has come."""


def watched(
    pieces: Iterator[Any], call: ModelCall, collected: Pieces
) -> Generator[Any, None, None]:
    """Yield the pieces of a reply, and end its model call when they end."""
    add = _adder(collected)
    try:
        for piece in pieces:
            add(piece)
            yield piece
    except GeneratorExit as error:
        survive_closing(error)
        call.abandon(collected.reply)
        raise
    except BaseException as error:
        call.fail(error, collected.reply)
        raise
    call.succeed(collected.reply)


async def watched_async(
    pieces: AsyncIterator[Any], call: ModelCall, collected: Pieces
) -> AsyncGenerator[Any, None]:
    """Yield the pieces of a reply, and end its model call when they end."""
    add = _adder(collected)
    try:
        async for piece in pieces:
            add(piece)
            yield piece
    except GeneratorExit as error:
        survive_closing(error)
        call.abandon(collected.reply)
        raise
    except BaseException as error:
        call.fail(error, collected.reply)
        raise
    call.succeed(collected.reply)


def _adder(collected: Pieces) -> Callable[[Any], object]:
    def add(piece: Any) -> None:
        GUARD.attempt("piece", PROCESS_FAULTS, collected.add, piece)

    return add

"""A streamed reply on its way to whoever reads it: each piece is seen, and its end told once."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from typing import Any, Protocol

from tracedance_sdk.recording.driving import Unrecorded
from tracedance_sdk.recording.guard import GUARD, PROCESS_FAULTS
from tracedance_sdk.recording.integrating.model_calls import ModelCall, ModelReply
from tracedance_sdk.recording.reentry import survive_closing


class Pieces(Protocol):
    """Collects the pieces of a reply."""

    def add(self, piece: Any, /) -> object:
        """Take the next piece."""

    def reply(self) -> ModelReply | None:
        """Return the reply as far as it has come."""


class Reading(Unrecorded):
    """A streamed reply as an operation: while the library works on a step, it is one model call.

    To be driven by `tracedance_sdk.recording.driving.iterate_in` and its kin, where the steps
    themselves may ask another library whose integration is installed too.

    Args:
        call: The open call.
        pieces: Collects what comes.
    """

    def __init__(self, call: ModelCall, pieces: Pieces) -> None:
        self._call = call
        self._pieces = pieces
        self._add = _adder(pieces)
        call.seen_so_far = pieces.reply

    def enter(self) -> Any:
        """Record no other model call made in this step."""
        return self._call.enter()

    def leave(self, tokens: Any) -> None:
        """Undo `enter`."""
        self._call.leave(tokens)

    def add(self, item: object) -> None:
        """Take the next piece."""
        self._add(item)

    def exhaust(self) -> None:
        """End with the reply."""
        self._call.succeed(self._pieces.reply)

    def fail(self, error: BaseException) -> None:
        """End with what had come, and why no more does."""
        if isinstance(error, GeneratorExit):
            self._call.abandon(self._pieces.reply)
        else:
            self._call.fail(error, self._pieces.reply)


def watched(
    pieces: Iterator[Any], call: ModelCall, collected: Pieces
) -> Generator[Any, None, None]:
    """Return the pieces of a reply, and end its model call when they end.

    If its run ends first, the call ends with what has come.
    """
    call.seen_so_far = collected.reply
    return _watched(pieces, call, collected)


def _watched(
    pieces: Iterator[Any], call: ModelCall, collected: Pieces
) -> Generator[Any, None, None]:
    add = _adder(collected)
    try:
        for piece in pieces:
            add(piece)
            yield piece
    except GeneratorExit as error:
        survive_closing(error)
        leave_early(call, collected)
        raise
    except BaseException as error:
        call.fail(error, collected.reply)
        raise
    call.succeed(collected.reply)


def watched_async(
    pieces: AsyncIterator[Any], call: ModelCall, collected: Pieces
) -> AsyncGenerator[Any, None]:
    """Return the pieces of a reply, and end its model call when they end; see `watched`."""
    call.seen_so_far = collected.reply
    return _watched_async(pieces, call, collected)


async def _watched_async(
    pieces: AsyncIterator[Any], call: ModelCall, collected: Pieces
) -> AsyncGenerator[Any, None]:
    add = _adder(collected)
    try:
        async for piece in pieces:
            add(piece)
            yield piece
    except GeneratorExit as error:
        survive_closing(error)
        leave_early(call, collected)
        raise
    except BaseException as error:
        call.fail(error, collected.reply)
        raise
    call.succeed(collected.reply)


def leave_early(call: ModelCall, collected: Pieces) -> None:
    """End with what has come, which may be all there is; nobody reads on."""
    if GUARD.attempt("piece", PROCESS_FAULTS, getattr, collected, "is_whole", False):
        call.succeed(collected.reply)
    else:
        call.abandon(collected.reply)


def _adder(collected: Pieces) -> Callable[[Any], object]:
    def add(piece: Any) -> None:
        GUARD.attempt("piece", PROCESS_FAULTS, collected.add, piece)

    return add

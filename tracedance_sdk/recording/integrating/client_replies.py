"""What a model's client gives back: a parsed reply, a stream, or a response nobody has read yet.

A stream is seen while it is read, and ends early when it is closed. A response that its body has
not been read of is left alone: the reply is known once the program has read it, as a whole or in
pieces, and otherwise the turn says ``not_seen``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from functools import partial
from types import AsyncGeneratorType, GeneratorType
from typing import Any, Final

from tracedance_sdk.recording.guard import GUARD, PROCESS_FAULTS
from tracedance_sdk.recording.integrating.client_bodies import (
    NOT_SEEN,
    Body,
    read_body,
    said_or_failed,
)
from tracedance_sdk.recording.integrating.model_calls import ModelCall, ModelReply, call_around
from tracedance_sdk.recording.integrating.patches import Patches
from tracedance_sdk.recording.integrating.streams import (
    Pieces,
    leave_early,
    watched,
    watched_async,
)

_MARK: Final = "_tracedance_following"
IN_PIECES: Final = {"iter_bytes": "", "iter_text": "", "iter_lines": "\n"}
"""Methods that give a body in pieces → what they take from the end of each."""


class Following:
    """The way of one reply from the client to the program.

    Args:
        call: The open call.
        read: Returns the reply in a parsed body.
        pieces: Makes what collects the pieces of a stream.
    """

    def __init__(
        self,
        call: ModelCall,
        read: Callable[[Any], ModelReply | None],
        pieces: Callable[[], Pieces],
    ) -> None:
        self._call = call
        call.following = self
        self._read = read
        self._pieces = pieces
        self._is_stream = False
        self._body: Body | None = None

    def begin(self, found: Any) -> Any:
        """Follow what the client returned, and return it for the program."""
        if callable(getattr(found, "model_dump", None)) or isinstance(found, Mapping):
            self._call.succeed(partial(said_or_failed, self._read, found))
        elif _is_stream(found):
            self._watch(found)
        elif hasattr(found, "http_response"):
            self._wait(found)
        elif isinstance(found, (GeneratorType, AsyncGeneratorType)):
            # Somebody else, between the client and us, passes the pieces on.
            return _seeing(found)(found, self._call, self._pieces())
        else:
            self._call.succeed(lambda: NOT_SEEN)
        return found

    def _watch(self, stream: Any) -> None:
        pieces = stream._iterator
        self._is_stream = True
        stream._iterator = _seeing(pieces)(pieces, self._call, self._pieces())
        setattr(stream, _MARK, self)

    def _wait(self, response: Any) -> None:
        self._call.seen_so_far = lambda: NOT_SEEN
        setattr(response, _MARK, self)
        self.after("response", response, None)

    def after(self, did: str, response: Any, value: Any) -> None:
        """Take notice of what the program did with a response or a stream.

        Args:
            did: Name of the method.
            response: Whose.
            value: What it returned.
        """
        if self._call.is_over:
            return
        if did == "parse" and not self._is_stream and _is_stream(value):
            self._watch(value)
        elif did == "close":
            self._close(response)
        elif not self._is_stream:
            content = _content(response)
            if content is not None:
                self._call.succeed(partial(self._read_whole, content))

    def in_pieces(self, did: str, found: Any) -> Any:
        """Return the pieces of a body for the program to read, so that they are seen.

        Args:
            did: Name of the method that gave them.
            found: The pieces.
        """
        if self._call.is_over or self._is_stream or self._body is not None:
            return found
        self._body = Body(self._read, self._pieces, end=IN_PIECES[did])
        return _seeing(found)(found, self._call, self._body)

    def _close(self, response: Any) -> None:
        if self._is_stream:
            self._call.abandon(self._call.seen_so_far)
            return
        if self._body is not None and self._body.has_begun:
            leave_early(self._call, self._body)
            return
        content = _content(response)
        self._call.succeed(
            (lambda: NOT_SEEN) if content is None else partial(self._read_whole, content)
        )

    def failed(self, response: Any, error: BaseException) -> None:
        """Take notice of what was raised while a response was read.

        The client cannot make of every reply what the program wants. What it reads before the
        program has it ends with the request.
        """
        if self._is_stream:
            return
        content = _content(response)
        read = None if content is None else partial(self._read_words, content)
        if _followed(response) is self:
            self._call.fail(error, read)
        else:
            self._call.seen_so_far = read

    def _read_words(self, content: bytes) -> ModelReply | None:
        return read_body(content, self._read, self._pieces)[0]

    def _read_whole(self, content: bytes) -> ModelReply | None:
        return self._read_words(content) or NOT_SEEN


def _is_stream(value: Any) -> bool:
    return isinstance(getattr(value, "_iterator", None), (Iterator, AsyncIterator))


def _seeing(pieces: Any) -> Any:
    # The pieces tell it themselves: what tracers put around a stream has the methods of both.
    return watched_async if isinstance(pieces, AsyncIterator) else watched


def _content(response: Any) -> bytes | None:
    """Return the body of a response that has been read as a whole."""
    try:
        content: bytes = response.http_response.content
    except RuntimeError:
        # Not read, or passed on piece by piece.
        return None
    return content


def follow_replies(patches: Patches, owner: type[Any], *names: str) -> None:
    """Have it noticed what programs do with a client's responses or streams.

    Args:
        patches: To be undone.
        owner: The class.
        names: Of its methods; those that it does not have itself are left out.
    """
    import inspect

    for name in names:
        method = vars(owner).get(name)
        if method is None:
            continue
        around: Any = _following_async if inspect.iscoroutinefunction(method) else _following
        patches.wrap(owner, name, partial(_in_pieces if name in IN_PIECES else around, name))


def _following(did: str, wrapped: Any, response: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    try:
        value = wrapped(*args, **kwargs)
    except BaseException as error:
        _tell_failure(response, error)
        raise
    followed = _known_to(response)
    if followed is not None:
        GUARD.attempt("reply", PROCESS_FAULTS, followed.after, did, response, value)
    return value


def _in_pieces(did: str, wrapped: Any, response: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    found = wrapped(*args, **kwargs)
    followed = _followed(response)
    if followed is None:
        return found
    seen = GUARD.attempt("reply", PROCESS_FAULTS, followed.in_pieces, did, found)
    return found if seen is None else seen


async def _following_async(
    did: str, wrapped: Any, response: Any, args: Any, kwargs: dict[str, Any]
) -> Any:
    try:
        value = await wrapped(*args, **kwargs)
    except BaseException as error:
        _tell_failure(response, error)
        raise
    followed = _known_to(response)
    if followed is not None:
        GUARD.attempt("reply", PROCESS_FAULTS, followed.after, did, response, value)
    return value


def _tell_failure(response: Any, error: BaseException) -> None:
    followed = _known_to(response) or _asked_here()
    if followed is not None:
        GUARD.attempt("reply", PROCESS_FAULTS, followed.failed, response, error)


def _known_to(response: Any) -> Following | None:
    """Return what follows a response, or a stream made of one."""
    return _followed(response) or _followed(getattr(response, "_raw_stream", None))


def _asked_here() -> Following | None:
    """Return what follows the reply to the request that is being made here."""
    call = call_around()
    return None if call is None else call.following


def _followed(response: Any) -> Following | None:
    found: Following | None = getattr(response, "__dict__", {}).get(_MARK)
    return found

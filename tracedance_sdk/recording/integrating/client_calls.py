"""The methods of a model's client that send requests, on record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from tracedance_sdk.recording.guard import GUARD, PROCESS_FAULTS
from tracedance_sdk.recording.integrating.client_replies import Following
from tracedance_sdk.recording.integrating.client_requests import asked_in, is_recorded, settled
from tracedance_sdk.recording.integrating.model_calls import (
    ModelCall,
    ModelReply,
    start_model_call,
)
from tracedance_sdk.recording.integrating.streams import Pieces

if TYPE_CHECKING:
    from tracedance_sdk.formats import ModelRequest


class ClientApi:
    """One of a client's APIs; `call` and `call_async` go around the methods that send requests.

    Args:
        read_request: Returns what the body of a request asks.
        read_reply: Returns the reply in a body that came back, which may be a model of the
            client's.
        pieces: Makes what collects the pieces of a stream.
        messages: Name of the argument with the conversation.
        listed: Names of arguments that may be iterators or hold some.
    """

    def __init__(
        self,
        read_request: Callable[[Mapping[str, Any]], ModelRequest],
        read_reply: Callable[[Any], ModelReply | None],
        pieces: Callable[[], Pieces],
        *,
        messages: str = "messages",
        listed: tuple[str, ...] = ("tools",),
    ) -> None:
        self._read_request = read_request
        self._read_reply = read_reply
        self._pieces = pieces
        self._messages = messages
        self._listed = (messages, *listed)

    def call(self, wrapped: Any, _: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Send a request, on record."""
        given = self.settled(kwargs)
        return self.send(given, lambda: wrapped(*args, **given))

    async def call_async(self, wrapped: Any, _: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Send a request, on record."""
        given = self.settled(kwargs)
        return await self.send_async(given, lambda: wrapped(*args, **given))

    def settled(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return arguments that can be read more than once; the same where nothing is recorded."""
        found = GUARD.attempt("request", PROCESS_FAULTS, self._settle, given)
        return given if found is None else found

    def _settle(self, given: dict[str, Any]) -> dict[str, Any]:
        return settled(given, self._listed) if is_recorded() else given

    def send(
        self, given: Mapping[str, Any], ask: Callable[[], Any], *, within: str | None = None
    ) -> Any:
        """Return what the client gives back.

        Args:
            given: The arguments, as they were settled.
            ask: Sends the request.
            within: Attribute of what comes that holds the stream.
        """
        call = self._start(given)
        if call is None:
            return ask()
        following = Following(call, self._read_reply, self._pieces)
        token = call.enter()
        try:
            found = ask()
        except BaseException as error:
            call.leave(token)
            call.fail(error, call.seen_so_far)
            raise
        call.leave(token)
        return _begun(following, found, within)

    async def send_async(
        self, given: Mapping[str, Any], ask: Callable[[], Any], *, within: str | None = None
    ) -> Any:
        """Return what the client gives back; see `send`."""
        call = self._start(given)
        if call is None:
            return await ask()
        following = Following(call, self._read_reply, self._pieces)
        token = call.enter()
        try:
            found = await ask()
        except BaseException as error:
            call.leave(token)
            call.fail(error, call.seen_so_far)
            raise
        call.leave(token)
        return _begun(following, found, within)

    def _start(self, given: Mapping[str, Any]) -> ModelCall | None:
        return start_model_call(partial(asked_in, given, self._read_request, self._messages))


def _begun(following: Following, found: Any, within: str | None) -> Any:
    """Return what the program gets for what the client gave back."""
    if within is None:
        seen = GUARD.attempt("reply", PROCESS_FAULTS, following.begin, found)
        return found if seen is None else seen
    GUARD.attempt("reply", PROCESS_FAULTS, _begin_within, following, found, within)
    return found


def _begin_within(following: Following, found: Any, within: str) -> None:
    following.begin(getattr(found, within))

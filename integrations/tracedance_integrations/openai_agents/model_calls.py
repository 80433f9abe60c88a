"""Requests to models, of whatever class: streamed or not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextvars import ContextVar, Token
from functools import partial
from typing import Any, Final

from tracedance_integrations.openai_agents import reading
from tracedance_integrations.openai_agents.runs import RELAY
from tracedance_sdk.formats import said_in_responses
from tracedance_sdk.recording.integrating import ModelCall, ModelReply, attempt, start_model_call
from tracedance_sdk.recording.scopes import open_runs


class Received:
    """What the provider sent, of which the SDK passes on a part.

    Attributes:
        model: The model that answered.
        finish_reason: Why it stopped.
        id: Of the reply.
    """

    def __init__(self) -> None:
        self.model: str | None = None
        self.finish_reason: str | None = None
        self.id: str | None = None

    def take(self, found: Any) -> None:
        """Take a response, a completion, or a chunk of one."""
        self.model = getattr(found, "model", None) or self.model
        self.id = getattr(found, "id", None) or self.id
        for choice in getattr(found, "choices", None) or ():
            self.finish_reason = choice.finish_reason or self.finish_reason


_RECEIVED: Final[ContextVar[Received | None]] = ContextVar("tracedance_received", default=None)


async def fetch(wrapped: Any, _: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Send a request, and see what the provider sent before the SDK makes its own of it."""
    found = await wrapped(*args, **kwargs)
    received = _RECEIVED.get()
    if received is not None:
        attempt("received", _see, received, found)
    return found


def _see(received: Received, found: Any) -> None:
    from openai import AsyncStream

    stream = found[1] if isinstance(found, tuple) else found
    if not isinstance(stream, AsyncStream):
        received.take(stream)
    elif isinstance(found, tuple):
        # Chunks of a chat completion, of which the SDK makes events that name the model asked for.
        stream._iterator = _Seen(stream._iterator, received)


class _Seen:
    """Chunks on their way."""

    def __init__(self, chunks: AsyncIterator[Any], received: Received) -> None:
        self._chunks = chunks
        self._received = received

    def __aiter__(self) -> _Seen:
        return self

    async def __anext__(self) -> Any:
        chunk = await self._chunks.__anext__()
        attempt("received", self._received.take, chunk)
        return chunk

    def __getattr__(self, name: str) -> Any:
        return getattr(self._chunks, name)


class _Asked:
    """A request on record, and the context it is sent in."""

    def __init__(self, call: ModelCall) -> None:
        self.call = call
        self.received = Received()

    def enter(self) -> tuple[Any, Token[Received | None]]:
        """Let the code here belong to the request."""
        return self.call.enter(), _RECEIVED.set(self.received)

    def leave(self, tokens: tuple[Any, Token[Received | None]]) -> None:
        """Undo `enter`."""
        self.call.leave(tokens[0])
        _RECEIVED.reset(tokens[1])


def _ask(model: Any, args: Any, kwargs: dict[str, Any]) -> _Asked | None:
    if not open_runs:
        return None
    relay = RELAY.get()
    tokens = None if relay is None else relay.enter()
    try:
        call = start_model_call(partial(reading.request, model, *args, **kwargs))
    finally:
        if relay is not None and tokens is not None:
            relay.leave(tokens)
    return None if call is None else _Asked(call)


async def get_response(wrapped: Any, model: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Ask a model, on record."""
    asked = _ask(model, args, kwargs)
    if asked is None:
        return await wrapped(*args, **kwargs)
    tokens = asked.enter()
    try:
        response = await wrapped(*args, **kwargs)
    except BaseException as error:
        asked.leave(tokens)
        asked.call.fail(error)
        raise
    asked.leave(tokens)
    asked.call.succeed(partial(_reply, response, asked.received))
    return response


def stream_response(wrapped: Any, model: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Ask a model for a streamed reply, on record from its first piece on."""
    stream = wrapped(*args, **kwargs)
    return _Stream(stream, partial(_ask, model, args, kwargs)) if open_runs else stream


class _Stream:
    """A streamed reply, whose model call ends when it has been read or is closed."""

    def __init__(self, events: Any, ask: Any) -> None:
        self._events = events
        self._ask = ask
        self._asked: _Asked | None = None
        self._has_begun = False
        self._pieces = _Pieces()

    def __aiter__(self) -> _Stream:
        return self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._events, name)

    async def __anext__(self) -> Any:
        if not self._has_begun:
            self._has_begun = True
            self._asked = self._ask()
        asked = self._asked
        if asked is None:
            return await self._events.__anext__()
        tokens = asked.enter()
        try:
            event = await self._events.__anext__()
        except StopAsyncIteration:
            asked.leave(tokens)
            asked.call.succeed(self._reply)
            raise
        except BaseException as error:
            asked.leave(tokens)
            asked.call.fail(error, self._reply)
            raise
        asked.leave(tokens)
        attempt("piece", self._pieces.add, event)
        return event

    async def aclose(self) -> None:
        """Close the stream; what came of the reply is on record."""
        if self._asked is not None:
            self._asked.call.abandon(self._reply)
        close = getattr(self._events, "aclose", None)
        if close is not None:
            await close()

    def _reply(self) -> ModelReply | None:
        received = Received() if self._asked is None else self._asked.received
        return self._pieces.reply(received)


class _Pieces:
    """The events of a streamed reply, which the SDK gives in the shape of responses."""

    def __init__(self) -> None:
        self._items: dict[int, Any] = {}
        self._texts: dict[int, str] = {}
        self._response: Any = None

    def add(self, event: Any) -> None:
        """Take the next event."""
        kind = event.type
        if kind == "response.output_item.done":
            self._items[event.output_index] = event.item
        elif kind == "response.output_text.delta":
            self._texts[event.output_index] = self._texts.get(event.output_index, "") + event.delta
        elif hasattr(event, "response"):
            self._response = event.response

    def reply(self, received: Received) -> ModelReply | None:
        """Return the reply as far as it has come."""
        if self._response is None:
            return None
        body = reading.plain(self._response)
        if not body.get("output"):
            done = {place: reading.plain(item) for place, item in self._items.items()}
            begun = {
                place: {"type": "message", "role": "assistant", "content": text}
                for place, text in self._texts.items()
            }
            body["output"] = [item for _, item in sorted({**begun, **done}.items())]
        return _told(body, received)


def _reply(response: Any, received: Received) -> ModelReply:
    body = {
        "id": response.response_id,
        "output": [reading.plain(item) for item in response.output],
        "usage": reading.usage(response.usage),
    }
    return _told(body, received)


def _told(body: dict[str, Any], received: Received) -> ModelReply:
    said = said_in_responses(body)
    return ModelReply(
        said.message,
        received.model or said.model,
        said.usage,
        received.finish_reason or said.finish_reason,
        received.id or said.id,
    )

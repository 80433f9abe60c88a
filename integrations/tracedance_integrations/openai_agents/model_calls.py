"""Requests to models, of whatever class: streamed or not."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable
from contextvars import ContextVar
from functools import partial
from typing import Any, Final

from tracedance_integrations.openai_agents import reading
from tracedance_integrations.openai_agents.runs import RELAY
from tracedance_sdk.formats import said_in_responses
from tracedance_sdk.recording.contexts import reset_quietly
from tracedance_sdk.recording.driving import UNRECORDED, Operation, iterate_async_in
from tracedance_sdk.recording.integrating import (
    ModelCall,
    ModelReply,
    Reading,
    attempt,
    reply_in,
    start_model_call,
)
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


class _Asked(Reading):
    """A request on record, and the context it is sent in."""

    def __init__(self, call: ModelCall) -> None:
        pieces = _Pieces()
        super().__init__(call, pieces)
        self.call = call
        self.received = pieces.received

    def enter(self) -> Any:
        """Let the code here belong to the request."""
        return super().enter(), _RECEIVED.set(self.received)

    def leave(self, tokens: Any) -> None:
        """Undo `enter`."""
        super().leave(tokens[0])
        reset_quietly(_RECEIVED, tokens[1])


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
    events = wrapped(*args, **kwargs)
    if not open_runs:
        return events
    begin = partial(_begin, model, args, kwargs)
    return iterate_async_in(begin, events) if inspect.isasyncgen(events) else _Stream(begin, events)


def _begin(model: Any, args: Any, kwargs: dict[str, Any]) -> Operation:
    return _ask(model, args, kwargs) or UNRECORDED


class _Stream:
    """A streamed reply that is no generator; its model call ends when it is read or closed."""

    def __init__(self, begin: Callable[[], Operation], events: Any) -> None:
        self._begin = begin
        self._events = events
        self._operation: Operation | None = None

    def __aiter__(self) -> _Stream:
        self._events = aiter(self._events)
        return self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._events, name)

    async def __anext__(self) -> Any:
        if self._operation is None:
            self._operation = self._begin()
        operation = self._operation
        tokens = operation.enter()
        try:
            event = await anext(self._events)
        except StopAsyncIteration:
            operation.leave(tokens)
            operation.exhaust()
            raise
        except BaseException as error:
            operation.leave(tokens)
            operation.fail(error)
            raise
        operation.leave(tokens)
        operation.add(event)
        return event

    async def aclose(self) -> None:
        """Close the stream; what came of the reply is on record."""
        if self._operation is not None:
            self._operation.fail(GeneratorExit())
        close = getattr(self._events, "aclose", None)
        if close is not None:
            await close()


class _Pieces:
    """The events of a streamed reply, which the SDK gives in the shape of responses."""

    def __init__(self) -> None:
        self.received = Received()
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

    def reply(self) -> ModelReply | None:
        """Return the reply as far as it has come."""
        if self._response is None and not self._items and not self._texts:
            return None
        body = {} if self._response is None else reading.plain(self._response)
        if not body.get("output"):
            done = {place: reading.plain(item) for place, item in self._items.items()}
            begun = {
                place: {"type": "message", "role": "assistant", "content": text}
                for place, text in self._texts.items()
            }
            body["output"] = [item for _, item in sorted({**begun, **done}.items())]
        return _told(body, self.received)


def _reply(response: Any, received: Received) -> ModelReply:
    body = {
        "id": response.response_id,
        "output": [reading.plain(item) for item in response.output],
        "usage": reading.usage(response.usage),
    }
    return _told(body, received)


def _told(body: dict[str, Any], received: Received) -> ModelReply:
    reply = reply_in(said_in_responses(body))
    return reply._replace(
        model=received.model or reply.model,
        finish_reason=received.finish_reason or reply.finish_reason,
        response_id=received.id or reply.response_id,
    )

"""Requests to models, of whatever class: streamed or not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from tracedance_integrations.pydantic_ai import reading
from tracedance_sdk.recording.guard import GUARD, PROCESS_FAULTS
from tracedance_sdk.recording.integrating import ModelCall, start_model_call, watched_async


async def request(wrapped: Any, model: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Ask a model, on record."""
    call = start_model_call(partial(reading.request, model, *args, **kwargs))
    if call is None:
        return await wrapped(*args, **kwargs)
    token = call.enter()
    try:
        response = await wrapped(*args, **kwargs)
    except BaseException as error:
        call.leave(token)
        call.fail(error)
        raise
    call.leave(token)
    call.succeed(partial(reading.reply, response))
    return response


def request_stream(wrapped: Any, model: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Ask a model for a streamed response, on record."""
    call = start_model_call(partial(reading.request, model, *args, **kwargs))
    if call is None:
        return wrapped(*args, **kwargs)
    return _streamed(call, partial(wrapped, *args, **kwargs))


@asynccontextmanager
async def _streamed(call: ModelCall, opened: Any) -> AsyncIterator[Any]:
    """Hold a response open. The call ends when it has been read, or is left before."""
    said = _Said()
    token = call.enter()
    try:
        manager = opened()
        response = await manager.__aenter__()
    except BaseException as error:
        call.leave(token)
        call.fail(error)
        raise
    call.leave(token)
    GUARD.attempt("stream", PROCESS_FAULTS, said.watch, call, response)
    try:
        yield response
    except BaseException as error:
        if isinstance(error, GeneratorExit):
            call.abandon(said.reply)
        call.fail(error, said.reply)
        if not await manager.__aexit__(type(error), error, error.__traceback__):
            raise
    else:
        call.abandon(said.reply)
        await manager.__aexit__(None, None, None)


class _Said:
    """A streamed response, which puts itself together."""

    def __init__(self) -> None:
        self._response: Any = None

    def watch(self, call: ModelCall, response: Any) -> None:
        """End the call when the response has been read."""
        self._response = response
        events = response._get_event_iterator
        response._get_event_iterator = lambda: watched_async(events(), call, self)

    def add(self, event: Any) -> None:
        """Take nothing: the response keeps what came."""

    def reply(self) -> Any:
        """Return the reply as far as it has come."""
        return None if self._response is None else reading.reply(self._response.get())

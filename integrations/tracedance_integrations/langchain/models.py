"""Chat models: what they are asked and what they answer.

LangChain's callbacks do not tell of a cancelled call, and a handler that runs inline keeps others
from being told of some; so the methods are wrapped through which every call goes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final

from tracedance_integrations.langchain.messages import facts_of, read
from tracedance_sdk.formats import (
    ModelRequest,
    reply_facts_from_langchain,
    request_from_langchain,
)
from tracedance_sdk.recording.driving import (
    UNRECORDED,
    Operation,
    iterate_async_in,
    iterate_in,
)
from tracedance_sdk.recording.integrating import (
    ModelReply,
    Patches,
    Pieces,
    Reading,
    attempt,
    start_model_call,
)

_PLAIN: Final = frozenset((str, int, float, bool, list, tuple, dict))


def model_hooks(patches: Patches) -> None:
    """Put the hooks into LangChain's base class of chat models."""
    from langchain_core.language_models.chat_models import BaseChatModel

    for name, around in (
        ("_generate_with_cache", _generate),
        ("_agenerate_with_cache", _generate_async),
        ("stream", _stream),
        ("astream", _stream_async),
    ):
        attempt("install langchain", patches.wrap, BaseChatModel, name, around)
    for name, around in (("_iter_v2_events", _events), ("_aiter_v2_events", _events_async)):
        if hasattr(BaseChatModel, name):
            patches.wrap(BaseChatModel, name, around)


def _generate(wrapped: Any, model: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    call = start_model_call(partial(_request, model, args, kwargs))
    if call is None:
        return wrapped(*args, **kwargs)
    token = call.enter()
    try:
        result = wrapped(*args, **kwargs)
    except BaseException as error:
        call.leave(token)
        call.fail(error)
        raise
    call.leave(token)
    call.succeed(lambda: _reply(result.generations[0].message))
    return result


async def _generate_async(wrapped: Any, model: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    call = start_model_call(partial(_request, model, args, kwargs))
    if call is None:
        return await wrapped(*args, **kwargs)
    token = call.enter()
    try:
        result = await wrapped(*args, **kwargs)
    except BaseException as error:
        call.leave(token)
        call.fail(error)
        raise
    call.leave(token)
    call.succeed(lambda: _reply(result.generations[0].message))
    return result


def _stream(wrapped: Any, model: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    begin = partial(_begin, partial(_streamed, model, args, kwargs), _Chunks())
    return iterate_in(begin, wrapped(*args, **kwargs))


def _stream_async(wrapped: Any, model: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    begin = partial(_begin, partial(_streamed, model, args, kwargs), _Chunks())
    return iterate_async_in(begin, wrapped(*args, **kwargs))


def _events(wrapped: Any, model: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    begin = partial(_begin, partial(_request, model, args, kwargs), _Events(kwargs.get("stream")))
    return iterate_in(begin, wrapped(*args, **kwargs))


def _events_async(wrapped: Any, model: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    begin = partial(_begin, partial(_request, model, args, kwargs), _Events(kwargs.get("stream")))
    return iterate_async_in(begin, wrapped(*args, **kwargs))


def _begin(request: Callable[[], ModelRequest], pieces: Pieces) -> Operation:
    call = start_model_call(request)
    return UNRECORDED if call is None else Reading(call, pieces)


class _Chunks:
    """The chunks of a streamed message."""

    def __init__(self) -> None:
        self._chunks: list[Any] = []

    def add(self, chunk: Any) -> None:
        """Take the next chunk."""
        self._chunks.append(chunk)

    def reply(self) -> ModelReply | None:
        """Return the reply as far as it has come."""
        if not self._chunks:
            return None
        first, *rest = self._chunks
        return _reply(first + rest if rest else first)


class _Events:
    """A streamed message that the library itself puts together out of events."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def add(self, event: Any) -> None:
        """Leave it to the library."""

    def reply(self) -> ModelReply | None:
        """Return the reply, once it is whole."""
        message = getattr(self._stream, "output_message", None)
        return None if message is None else _reply(message)


def _request(model: Any, args: Any, kwargs: dict[str, Any]) -> ModelRequest:
    """Read the arguments of the methods that take messages."""
    messages = args[0] if args else kwargs["messages"]
    stop = args[1] if len(args) > 1 else kwargs.get("stop")
    return _asked(model, messages, stop, kwargs)


def _streamed(model: Any, args: Any, kwargs: dict[str, Any]) -> ModelRequest:
    """Read the arguments of the methods that take whatever becomes messages."""
    given = args[0] if args else kwargs["input"]
    messages = model._convert_input(given).to_messages()
    return _asked(model, messages, kwargs.get("stop"), kwargs)


def _asked(model: Any, messages: Iterable[Any], stop: Any, kwargs: dict[str, Any]) -> ModelRequest:
    made = {key: value for key, value in vars(model).items() if type(value) in _PLAIN}
    called = {key: _plain(value) for key, value in kwargs.items() if value is not None}
    given = {**made, **called} if stop is None else {**made, **called, "stop": stop}
    return request_from_langchain(map(read, messages), given)


def _plain(value: Any) -> Any:
    """Return a setting as JSON; a class, such as that of a wanted answer, as its name."""
    return value.__name__ if isinstance(value, type) else value


def _reply(message: Any) -> ModelReply:
    return ModelReply(read(message), **reply_facts_from_langchain(facts_of(message)))

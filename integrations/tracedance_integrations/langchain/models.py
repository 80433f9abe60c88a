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
    ModelCall,
    ModelReply,
    Patches,
    Pieces,
    Reading,
    attempt,
    start_model_call,
)

_PLAIN: Final = frozenset((str, int, float, bool, list, tuple, dict))
_TOLD: Final = "on_llm_new_token"
"""Method of the manager of a model's run; what it is told, callbacks are told."""


def model_hooks(patches: Patches) -> None:
    """Put the hooks into LangChain's base class of chat models."""
    from langchain_core.language_models.chat_models import BaseChatModel

    for name, around in (
        ("_generate_with_cache", _generate),
        ("_agenerate_with_cache", _generate_async),
        ("stream", _stream),
        ("astream", _stream_async),
    ):
        patches.wrap(BaseChatModel, name, around)
    for name, around in (("_iter_v2_events", _events), ("_aiter_v2_events", _events_async)):
        if hasattr(BaseChatModel, name):
            patches.wrap(BaseChatModel, name, around)


def _generate(wrapped: Any, model: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    call = start_model_call(partial(_request, model, args, kwargs))
    if call is None:
        return wrapped(*args, **kwargs)
    passing = _passing(call, args, kwargs)
    token = call.enter()
    try:
        result = wrapped(*args, **kwargs)
    except BaseException as error:
        call.leave(token)
        call.fail(error, passing.reply)
        raise
    finally:
        passing.let_be()
    call.leave(token)
    call.succeed(lambda: _reply(result.generations[0].message))
    return result


async def _generate_async(wrapped: Any, model: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    call = start_model_call(partial(_request, model, args, kwargs))
    if call is None:
        return await wrapped(*args, **kwargs)
    passing = _passing(call, args, kwargs)
    token = call.enter()
    try:
        result = await wrapped(*args, **kwargs)
    except BaseException as error:
        call.leave(token)
        call.fail(error, passing.reply)
        raise
    finally:
        passing.let_be()
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
    return iterate_in(partial(_begin_events, model, args, kwargs), wrapped(*args, **kwargs))


def _events_async(wrapped: Any, model: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    return iterate_async_in(partial(_begin_events, model, args, kwargs), wrapped(*args, **kwargs))


def _begin(request: Callable[[], ModelRequest], pieces: Pieces) -> Operation:
    call = start_model_call(request)
    return UNRECORDED if call is None else Reading(call, pieces)


def _begin_events(model: Any, args: Any, kwargs: dict[str, Any]) -> Operation:
    call = start_model_call(partial(_request, model, args, kwargs))
    manager, stream = kwargs.get("run_manager"), kwargs.get("stream")
    if call is not None:
        return Reading(call, attempt("stream", _Passing, manager, stream) or _Passing(None))
    around = getattr(manager, _TOLD, None)
    if isinstance(around, _Passing):
        around.stream = stream
    return UNRECORDED


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


class _Passing:
    """A message on its way while somebody reads along, as in a graph whose tokens are streamed.

    The library tells its own manager of the run of each chunk, by the method that this stands in
    for. Where it makes events of them, it puts the message together itself.
    """

    def __init__(self, manager: Any, stream: Any = None) -> None:
        self.stream = stream
        self._chunks = _Chunks()
        self._manager = manager
        self._pass_on: Any = getattr(manager, _TOLD, None)
        if self._pass_on is not None:
            setattr(manager, _TOLD, self)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Take a chunk, and pass it on."""
        attempt("piece", self._take, kwargs.get("chunk"))
        return self._pass_on(*args, **kwargs)

    def _take(self, chunk: Any) -> None:
        if chunk is not None:
            self._chunks.add(chunk.message)

    def add(self, event: Any) -> None:
        """Leave the events to the library."""

    def reply(self) -> ModelReply | None:
        """Return the reply as far as it has come."""
        whole = getattr(self.stream, "output_message", None)
        if whole is not None:
            return _reply(whole)
        found = self._chunks.reply()
        if found is None and getattr(self.stream, "has_events", False):
            return _reply(self.stream._assemble_message())
        return found

    def let_be(self) -> None:
        """Give the manager its own method back."""
        if self._pass_on is not None and vars(self._manager).get(_TOLD) is self:
            delattr(self._manager, _TOLD)


def _passing(call: ModelCall, args: Any, kwargs: dict[str, Any]) -> _Passing:
    manager = args[2] if len(args) > 2 else kwargs.get("run_manager")
    passing = attempt("stream", _Passing, manager) or _Passing(None)
    call.seen_so_far = passing.reply
    return passing


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

"""Anthropic's Python client: messages, plain and streamed, in beta too, and its tool runner.

    from tracedance_integrations import anthropic as td_anthropic

    td_anthropic.install()

Every request made inside an open recorder becomes turns of its run; what the tool runner runs
becomes calls. `install` changes the client's classes and `uninstall` puts them back.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import wrapt

from tracedance_sdk.formats import ModelRequest, request_from_anthropic, turn_from_anthropic
from tracedance_sdk.recording.integrating import (
    Integration,
    ModelCall,
    ModelReply,
    Patches,
    ToolUse,
    reply_of,
    start_model_call,
    watched,
    watched_async,
)


def _create(wrapped: Any, _: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    call = start_model_call(partial(_request, kwargs))
    if call is None:
        return wrapped(*args, **kwargs)
    token = call.enter()
    try:
        found = wrapped(*args, **kwargs)
    except BaseException as error:
        call.leave(token)
        call.fail(error)
        raise
    call.leave(token)
    return _seen(call, found)


async def _create_async(wrapped: Any, _: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    call = start_model_call(partial(_request, kwargs))
    if call is None:
        return await wrapped(*args, **kwargs)
    token = call.enter()
    try:
        found = await wrapped(*args, **kwargs)
    except BaseException as error:
        call.leave(token)
        call.fail(error)
        raise
    call.leave(token)
    return _seen(call, found)


def _seen(call: ModelCall, found: Any) -> Any:
    """Return what came, its end told: now, or when it has been read."""
    from anthropic import AsyncStream, Stream

    if isinstance(found, (Stream, AsyncStream)):
        _watch(found, call)
    else:
        call.succeed(lambda: _reply(found))
    return found


def _watch(stream: Any, call: ModelCall) -> None:
    """Have the events of a stream seen, however it is read."""
    see = watched_async if hasattr(stream, "__aiter__") else watched
    stream._iterator = see(stream._iterator, call, _Events())


def _stream(wrapped: Any, _: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Return the manager of a stream, which makes the request when it is entered."""
    return _Manager(wrapped(*args, **kwargs), kwargs)


class _Manager(wrapt.ObjectProxy):  # type: ignore[type-arg]  # generic in stubs only
    """A manager of a stream whose request is on record."""

    def __init__(self, manager: Any, asked: dict[str, Any]) -> None:
        super().__init__(manager)
        self._self_asked = asked

    def __enter__(self) -> Any:
        call = start_model_call(partial(_request, self._self_asked))
        if call is None:
            return self.__wrapped__.__enter__()
        token = call.enter()
        try:
            stream = self.__wrapped__.__enter__()
        except BaseException as error:
            call.leave(token)
            call.fail(error)
            raise
        call.leave(token)
        _watch(stream._raw_stream, call)
        return stream

    async def __aenter__(self) -> Any:
        call = start_model_call(partial(_request, self._self_asked))
        if call is None:
            return await self.__wrapped__.__aenter__()
        token = call.enter()
        try:
            stream = await self.__wrapped__.__aenter__()
        except BaseException as error:
            call.leave(token)
            call.fail(error)
            raise
        call.leave(token)
        _watch(stream._raw_stream, call)
        return stream

    async def __aexit__(self, *given: object) -> Any:
        return await self.__wrapped__.__aexit__(*given)


def _use_tool(wrapped: Any, tool: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    given = args[0] if args else kwargs.get("input")
    return ToolUse(tool.name, given).run(lambda: wrapped(*args, **kwargs))


async def _use_tool_async(wrapped: Any, tool: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    given = args[0] if args else kwargs.get("input")
    return await ToolUse(tool.name, given).run_async(lambda: wrapped(*args, **kwargs))


class _Events:
    """The events of a streamed message."""

    def __init__(self) -> None:
        self._message: dict[str, Any] | None = None
        self._blocks: dict[int, dict[str, Any]] = {}
        self._inputs: dict[int, str] = {}

    def add(self, event: Any) -> None:
        """Take the next event."""
        kind = event.type
        if kind == "message_start":
            self._message = _plain(event.message)
        elif kind == "content_block_start":
            self._blocks[event.index] = _plain(event.content_block)
        elif kind == "content_block_delta":
            self._extend(event.index, event.delta)
        elif kind == "message_delta" and self._message is not None:
            self._message |= _plain(event.delta)
            counted = {k: v for k, v in _plain(event.usage).items() if v is not None}
            self._message["usage"] = {**(self._message.get("usage") or {}), **counted}

    def _extend(self, place: int, delta: Any) -> None:
        block = self._blocks[place]
        if delta.type == "text_delta":
            block["text"] = block.get("text", "") + delta.text
        elif delta.type == "input_json_delta":
            self._inputs[place] = self._inputs.get(place, "") + delta.partial_json
        elif delta.type == "thinking_delta":
            block["thinking"] = block.get("thinking", "") + delta.thinking
        elif delta.type == "signature_delta":
            block["signature"] = delta.signature

    def reply(self) -> ModelReply | None:
        """Return the message as far as it has come."""
        if self._message is None:
            return None
        for place, text in self._inputs.items():
            self._blocks[place]["input"] = _parsed(text)
        content = [block for _, block in sorted(self._blocks.items())]
        return _of_body({**self._message, "content": content})


def _parsed(text: str) -> Any:
    try:
        return json.loads(text) if text else {}
    except ValueError:
        # Cut off; it is kept as the text that came.
        return text


def _reply(found: Any) -> ModelReply | None:
    parse = getattr(found, "parse", None)
    if callable(parse) and not hasattr(found, "model_dump"):
        # A raw response: its body is parsed once, and kept by the client.
        found = parse()
    body = _plain(found)
    return _of_body(body) if isinstance(body, dict) else None


def _of_body(body: dict[str, Any]) -> ModelReply:
    return reply_of(turn_from_anthropic(body), response_id=body.get("id"))


def _request(given: Mapping[str, Any]) -> ModelRequest:
    return request_from_anthropic(_plain(given))


def _plain(value: Any) -> Any:
    """Return arguments as JSON; what the client was not given, or marks as such, is left out."""
    if isinstance(value, Mapping):
        return {k: _plain(v) for k, v in value.items() if not _is_absent(v)}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    for name in ("to_dict", "model_dump"):
        dump = getattr(value, name, None)
        if callable(dump) and not isinstance(value, type):
            return dump() if name == "to_dict" else dump(mode="json", warnings=False)
    return value


def _is_absent(value: Any) -> bool:
    return type(value).__name__ in ("NotGiven", "Omit") or value is None


def _hooks(patches: Patches) -> None:
    from anthropic.resources import beta
    from anthropic.resources.messages import AsyncMessages, Messages

    for plain, waiting in (
        (Messages, AsyncMessages),
        (beta.messages.Messages, beta.messages.AsyncMessages),
    ):
        for name in ("create", "parse"):
            if hasattr(plain, name):
                patches.wrap(plain, name, _create)
                patches.wrap(waiting, name, _create_async)
        if hasattr(plain, "stream"):
            patches.wrap(plain, "stream", _stream)
            patches.wrap(waiting, "stream", _stream)
    with contextlib.suppress(ImportError):
        # Clients before 0.69 have no tool runner.
        from anthropic.lib.tools import _beta_functions as tools

        patches.wrap(tools.BetaFunctionTool, "call", _use_tool)
        patches.wrap(tools.BetaAsyncFunctionTool, "call", _use_tool_async)


_INTEGRATION: Final = Integration(
    "anthropic", module="anthropic", package="anthropic", oldest="0.60", below="3", hooks=_hooks
)


def install() -> None:
    """Record what the client is asked and what it answers, inside open recorders.

    Raises:
        MissingDependency: The client is not installed.
    """
    _INTEGRATION.install()


def uninstall() -> None:
    """Take the hooks out again."""
    _INTEGRATION.uninstall()

"""OpenAI's Python client: chat completions and responses, streamed, parsed or plain.

    from tracedance_integrations import openai as td_openai

    td_openai.install()

Every request made inside an open recorder becomes turns of its run. `install` changes the client's
classes and `uninstall` puts them back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from tracedance_sdk.formats import (
    ModelRequest,
    request_from_chat,
    request_from_responses,
    turn_from_chat,
    turn_from_responses,
)
from tracedance_sdk.recording.integrating import (
    Integration,
    ModelCall,
    ModelReply,
    Patches,
    reply_of,
    start_model_call,
    watched,
    watched_async,
)


class _Api:
    """One of the client's two APIs."""

    def __init__(
        self,
        read_request: Callable[[Mapping[str, Any]], ModelRequest],
        read_reply: Callable[[Any], Any],
        pieces: Callable[[], Any],
    ) -> None:
        self._read_request = read_request
        self._read_reply = read_reply
        self._pieces = pieces

    def call(self, wrapped: Any, _: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Send a request, on record."""
        call = start_model_call(partial(self._request, kwargs))
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
        return self._seen(call, found)

    async def call_async(self, wrapped: Any, _: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Send a request, on record."""
        call = start_model_call(partial(self._request, kwargs))
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
        return self._seen(call, found)

    def _request(self, given: Mapping[str, Any]) -> ModelRequest:
        return self._read_request(_plain(given))

    def _seen(self, call: ModelCall, found: Any) -> Any:
        """Return what came, its end told: now, or when it has been read."""
        from openai import AsyncStream, Stream

        if isinstance(found, Stream):
            found._iterator = watched(found._iterator, call, self._pieces())
        elif isinstance(found, AsyncStream):
            found._iterator = watched_async(found._iterator, call, self._pieces())
        else:
            call.succeed(lambda: self.reply(found))
        return found

    def reply(self, found: Any) -> ModelReply | None:
        """Return the reply in a parsed response of the client."""
        body = _body(found)
        if body is None:
            return None
        return reply_of(self._read_reply(body), response_id=body.get("id"))


class _ChatPieces:
    """The chunks of a streamed chat completion."""

    def __init__(self) -> None:
        from openai.lib.streaming.chat import ChatCompletionStreamState

        self._state: Any = ChatCompletionStreamState()
        self._has_any = False

    def add(self, chunk: Any) -> None:
        """Take the next chunk."""
        self._state.handle_chunk(chunk)
        self._has_any = True

    def reply(self) -> ModelReply | None:
        """Return the reply as far as it has come."""
        if not self._has_any:
            return None
        return _CHAT.reply(self._state.current_completion_snapshot)


class _ResponsePieces:
    """The events of a streamed response."""

    def __init__(self) -> None:
        self._items: dict[int, Any] = {}
        self._texts: dict[int, str] = {}
        self._last: Any = None

    def add(self, event: Any) -> None:
        """Take the next event."""
        kind = event.type
        if kind == "response.output_item.done":
            self._items[event.output_index] = event.item
        elif kind == "response.output_text.delta":
            self._texts[event.output_index] = self._texts.get(event.output_index, "") + event.delta
        elif hasattr(event, "response"):
            self._last = event.response

    def reply(self) -> ModelReply | None:
        """Return the reply as far as it has come."""
        body = None if self._last is None else _body(self._last)
        if body is None:
            return None
        if not body.get("output"):
            done = {place: _body(item) for place, item in self._items.items()}
            begun = {
                place: {"type": "message", "role": "assistant", "content": text}
                for place, text in self._texts.items()
            }
            body["output"] = [item for _, item in sorted({**begun, **done}.items())]
        return reply_of(turn_from_responses(body), response_id=body.get("id"))


def _body(found: Any) -> dict[str, Any] | None:
    parse = getattr(found, "parse", None)
    if callable(parse) and not hasattr(found, "model_dump"):
        # A raw response: its body is parsed once, and kept by the client.
        found = parse()
    dump = getattr(found, "model_dump", None)
    if not callable(dump):
        return None
    body = dump(mode="json", exclude_unset=True, warnings=False)
    return body if isinstance(body, dict) else None


def _plain(value: Any) -> Any:
    """Return arguments as JSON; what the client was not given, or marks as such, is left out."""
    if isinstance(value, Mapping):
        return {k: _plain(v) for k, v in value.items() if not _is_absent(v)}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):
        return dump(mode="json", exclude_unset=True, warnings=False)
    return value


def _is_absent(value: Any) -> bool:
    return type(value).__name__ in ("NotGiven", "Omit") or value is None


_CHAT: Final = _Api(request_from_chat, turn_from_chat, _ChatPieces)
_RESPONSES: Final = _Api(request_from_responses, turn_from_responses, _ResponsePieces)


def _hooks(patches: Patches) -> None:
    from openai.resources.chat.completions import AsyncCompletions, Completions
    from openai.resources.responses import AsyncResponses, Responses

    for names, plain, waiting, api in (
        (("create", "parse"), Completions, AsyncCompletions, _CHAT),
        (("create", "parse"), Responses, AsyncResponses, _RESPONSES),
    ):
        for name in names:
            patches.wrap(plain, name, api.call)
            patches.wrap(waiting, name, api.call_async)


_INTEGRATION: Final = Integration(
    "openai", module="openai", package="openai", oldest="1.99", below="4", hooks=_hooks
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

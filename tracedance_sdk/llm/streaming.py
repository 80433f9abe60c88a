"""Streamed replies, put together to the body that the API sends without streaming.

The SDKs' own accumulators do that. What they pass over in silence is checked here: a stream that
ends before its reply does, and arguments of a call that are no JSON.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any, Final

_MISSHAPEN: Final = (
    LookupError,
    TypeError,
    AttributeError,
    ValueError,
    RuntimeError,
    AssertionError,
)
"""What the accumulators raise at events of another shape than the API's."""

_PLAIN: Final[dict[str, Any]] = {"mode": "json", "warnings": False}
"""How a body is written; warnings would quote it."""

_GRACE_S: Final = 2.0
"""How long what follows a whole reply is waited for: the usage, the end of the stream."""


class CutStream(Exception):
    """A stream that ended before its reply did."""


class OddStream(Exception):
    """A stream whose events are not what the API promises."""


class ToldError(Exception):
    """An error that is told in an event of a stream.

    Attributes:
        body: The event: a code and a message.
    """

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__("the stream told an error")
        self.body = body


async def chat_completion(stream: Any) -> dict[str, Any]:
    """Return the body of a chat completion that OpenAI's SDK streams.

    Raises:
        CutStream: No choice ended.
        OddStream: An event of another shape.
        Exception: Of the SDK or its HTTP library, see `missing_of`.
    """
    from openai.lib.streaming.chat import ChatCompletionStreamState

    state = ChatCompletionStreamState()
    last: dict[str, Any] = {}

    def feed(chunk: Any) -> bool:
        # The accumulator keeps these of the last chunk, where they may be absent again.
        for name in ("usage", "system_fingerprint"):
            if getattr(chunk, name, None) is not None:
                last[name] = chunk.to_dict(**_PLAIN)[name]
        if chunk.choices:
            state.handle_chunk(chunk)
        return any(choice.finish_reason for choice in chunk.choices)

    await _fed(stream, feed)
    body: dict[str, Any] = state.current_completion_snapshot.to_dict(**_PLAIN) | last
    _drop_unsent(body, "system_fingerprint")
    for choice in body["choices"]:
        _as_sent(choice["message"])
    return body


async def response_object(stream: Any) -> dict[str, Any]:
    """Return the response object that OpenAI's SDK streams: its last event holds it.

    Raises:
        CutStream: No such event.
        OddStream: An event of another shape.
        ToldError: An event of an error.
        Exception: Of the SDK or its HTTP library, see `missing_of`.
    """
    found: list[dict[str, Any]] = []

    def feed(event: Any) -> bool:
        kind = _kind(event)
        if kind == "error":
            raise ToldError(event.to_dict(**_PLAIN))
        if kind in ("response.completed", "response.incomplete", "response.failed"):
            found.append(event.response.to_dict(**_PLAIN))
        return bool(found)

    await _fed(stream, feed)
    return found[0]


async def message(stream: Any) -> dict[str, Any]:
    """Return the message that Anthropic's SDK streams.

    Raises:
        CutStream: It did not stop.
        OddStream: An event of another shape.
        Exception: Of the SDK or its HTTP library, see `missing_of`.
    """
    from anthropic import omit
    from anthropic.lib.streaming import AsyncMessageStream

    events = AsyncMessageStream(stream, output_format=omit)
    written: dict[int, str] = {}

    def feed(event: Any) -> bool:
        kind = _kind(event)
        if kind == "content_block_delta" and event.delta.type == "input_json_delta":
            written[event.index] = written.get(event.index, "") + event.delta.partial_json
        return kind == "message_stop"

    await _fed(events, feed)
    body: dict[str, Any] = events.current_message_snapshot.to_dict(**_PLAIN)
    for place, text in written.items():
        # The accumulator closes what was cut short, and calls it the arguments.
        if text.strip() and not _is_json(text):
            body["content"][place]["input"] = text
    _drop_unsent(body, "stop_details")
    return body


async def _fed(stream: Any, feed: Callable[[Any], bool]) -> None:
    """Give the events of a stream to a function until it has said that the reply is whole.

    What follows then is read, for a while, so that the connection can be used again.
    """
    events: AsyncIterator[Any] = aiter(stream)
    number = 0
    end: float | None = None
    while True:
        try:
            async with asyncio.timeout_at(end):
                event = await anext(events)
        except StopAsyncIteration:
            break
        except _MISSHAPEN as error:
            if end is None:
                raise OddStream(_told(error, number)) from error
            break
        except Exception:
            if end is None:
                raise
            break
        try:
            is_whole = feed(event)
        except _MISSHAPEN as error:
            raise OddStream(_told(error, number)) from error
        number += 1
        if is_whole and end is None:
            end = asyncio.get_running_loop().time() + _GRACE_S
    if end is None:
        raise CutStream(number) if number else OddStream("the stream holds no event of a reply")


def _kind(event: Any) -> str:
    if not isinstance(event.type, str):
        raise TypeError("no type")
    kind: str = event.type
    return kind


def _told(error: Exception, number: int) -> str:
    what = "no JSON" if isinstance(error, json.JSONDecodeError) else "not what the API promises"
    return f"event {number} of the stream is {what}: {type(error).__name__} {error}"


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _as_sent(sent: dict[str, Any]) -> None:
    """Take out of a message what only its stream, or the accumulator, put there."""
    sent["role"] = "assistant"
    _drop_unsent(sent, "parsed", "annotations", "audio", "function_call", "tool_calls")
    for call in sent.get("tool_calls") or ():
        call.pop("index", None)
        call.get("function", {}).pop("parsed_arguments", None)


def _drop_unsent(body: dict[str, Any], *names: str) -> None:
    for name in names:
        if body.get(name, 0) is None:
            del body[name]

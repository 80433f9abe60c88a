"""Anthropic's Python client: messages, plain and streamed, in beta too, and its tool runner.

    from tracedance_integrations import anthropic as td_anthropic

    td_anthropic.install()

Every request made inside an open recorder becomes turns of its run; what the tool runner runs
becomes calls. `install` changes the client's classes and `uninstall` puts them back.
"""

from __future__ import annotations

import contextlib
import importlib
import json
from collections.abc import Iterator
from typing import Any, Final

from tracedance_sdk.formats import request_from_anthropic, said_in_anthropic
from tracedance_sdk.recording.integrating import (
    IN_PIECES,
    ClientApi,
    Integration,
    ModelReply,
    Patches,
    ToolUse,
    as_json,
    follow_replies,
    reply_in,
)

_ASKED: Final = "_tracedance_asked"


def _stream(wrapped: Any, _: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Return the manager of a stream, which makes the request when it is entered."""
    given = _API.settled(kwargs)
    manager = wrapped(*args, **given)
    setattr(manager, _ASKED, given)
    return manager


def _enter(wrapped: Any, manager: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    given = vars(manager).get(_ASKED)
    if given is None:
        return wrapped(*args, **kwargs)
    return _API.send(given, lambda: wrapped(*args, **kwargs), within="_raw_stream")


async def _enter_async(wrapped: Any, manager: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    given = vars(manager).get(_ASKED)
    if given is None:
        return await wrapped(*args, **kwargs)
    return await _API.send_async(given, lambda: wrapped(*args, **kwargs), within="_raw_stream")


def _use_tool(wrapped: Any, tool: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    given = args[0] if args else kwargs.get("input")
    return ToolUse(tool.name, given).run(lambda: wrapped(*args, **kwargs))


async def _use_tool_async(wrapped: Any, tool: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    given = args[0] if args else kwargs.get("input")
    return await ToolUse(tool.name, given).run_async(lambda: wrapped(*args, **kwargs))


class _Events:
    """The events of a streamed message."""

    def __init__(self) -> None:
        self._message: dict[str, Any] = {}
        self._blocks: dict[int, dict[str, Any]] = {}
        self._texts: dict[tuple[int, str], list[str]] = {}
        self._citations: dict[int, list[Any]] = {}

    def add(self, event: Any) -> None:
        """Take the next event."""
        kind = event.type
        if kind == "content_block_delta":
            self._extend(event.index, event.delta)
        elif kind == "content_block_start":
            self._blocks[event.index] = as_json(event.content_block) or {}
        elif kind == "message_start":
            self._message = {**as_json(event.message)}
        elif kind == "message_delta":
            self._message |= as_json(event.delta) or {}
            counted = {k: v for k, v in (as_json(event.usage) or {}).items() if v is not None}
            self._message["usage"] = {**(self._message.get("usage") or {}), **counted}

    def _extend(self, place: int, delta: Any) -> None:
        if delta.type == "citations_delta":
            self._citations.setdefault(place, []).append(as_json(delta.citation))
            return
        field, key = _DELTAS.get(delta.type, (None, ""))
        text = None if field is None else getattr(delta, field)
        if isinstance(text, str):
            self._texts.setdefault((place, key), []).append(text)

    def reply(self) -> ModelReply | None:
        """Return the message as far as it has come."""
        if not (self._message or self._blocks or self._texts):
            return None
        blocks = {place: dict(block) for place, block in self._blocks.items()}
        for (place, key), texts in self._texts.items():
            block = blocks.setdefault(place, {"type": _BLOCKS[key]})
            text = "".join(texts)
            block[key] = _parsed(text) if key == "input" else f"{block.get(key) or ''}{text}"
        for place, cited in self._citations.items():
            blocks.setdefault(place, {"type": "text", "text": ""})["citations"] = cited
        content = [block for _, block in sorted(blocks.items())]
        return _read({**self._message, "content": content})


_DELTAS: Final = {
    "text_delta": ("text", "text"),
    "input_json_delta": ("partial_json", "input"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("signature", "signature"),
}
"""Kind of a piece → its field, and the block's field that it continues."""

_BLOCKS: Final = {
    "text": "text",
    "input": "tool_use",
    "thinking": "thinking",
    "signature": "thinking",
}
"""Field of a block → kind of the block, where a server has not begun it."""


def _parsed(text: str) -> Any:
    try:
        return json.loads(text) if text else {}
    except ValueError:
        # Cut off; it is kept as the text that came.
        return text


def _read(found: Any) -> ModelReply | None:
    body = as_json(found)
    return reply_in(said_in_anthropic(body)) if isinstance(body, dict) else None


_API: Final = ClientApi(
    request_from_anthropic, _read, _Events, listed=("system", "tools", "stop_sequences")
)


def _other_clouds() -> Iterator[tuple[Any, Any]]:
    """Return classes that have copied the methods of others."""
    for cloud in ("bedrock", "vertex"):
        with contextlib.suppress(ImportError):
            found = importlib.import_module(f"anthropic.lib.{cloud}._beta_messages")
            yield found.Messages, found.AsyncMessages


def _hooks(patches: Patches) -> None:
    for hooks in (_message_hooks, _beta_message_hooks, _cloud_hooks, _stream_hooks, _reply_hooks):
        patches.attempt(hooks)
    with contextlib.suppress(ImportError):
        # Clients of today read raw responses into the classes above.
        from anthropic._legacy_response import LegacyAPIResponse

        follow_replies(patches, LegacyAPIResponse, "parse")
    with contextlib.suppress(ImportError):
        # Clients before 0.69 have no tool runner.
        from anthropic.lib.tools import _beta_functions as tools

        patches.wrap(tools.BetaFunctionTool, "call", _use_tool)
        patches.wrap(tools.BetaAsyncFunctionTool, "call", _use_tool_async)


def _message_hooks(patches: Patches) -> None:
    from anthropic.resources.messages import AsyncMessages, Messages

    _wrap_messages(patches, Messages, AsyncMessages)


def _beta_message_hooks(patches: Patches) -> None:
    from anthropic.resources.beta.messages import AsyncMessages, Messages

    _wrap_messages(patches, Messages, AsyncMessages)


def _cloud_hooks(patches: Patches) -> None:
    for plain, waiting in _other_clouds():
        _wrap_messages(patches, plain, waiting)


def _wrap_messages(patches: Patches, plain: type[Any], waiting: type[Any]) -> None:
    for name in ("create", "parse"):
        if hasattr(plain, name):
            patches.wrap(plain, name, _API.call)
            patches.wrap(waiting, name, _API.call_async)
    if hasattr(plain, "stream"):
        patches.wrap(plain, "stream", _stream)
        patches.wrap(waiting, "stream", _stream)


def _stream_hooks(patches: Patches) -> None:
    from anthropic.lib import streaming

    for beta_prefix in ("", "Beta"):
        manager = getattr(streaming, f"{beta_prefix}MessageStreamManager")
        patches.wrap(manager, "__enter__", _enter)
        manager = getattr(streaming, f"{beta_prefix}AsyncMessageStreamManager")
        patches.wrap(manager, "__aenter__", _enter_async)


def _reply_hooks(patches: Patches) -> None:
    import anthropic

    for owner in (anthropic.Stream, anthropic.AsyncStream):
        follow_replies(patches, owner, "close")
    for response in (anthropic.APIResponse, anthropic.AsyncAPIResponse):
        follow_replies(patches, response, "parse", "read", "close", *IN_PIECES)


_INTEGRATION: Final = Integration(
    "anthropic", module="anthropic", package="anthropic", oldest="0.60", below="3", hooks=_hooks
)
install, uninstall = _INTEGRATION.install, _INTEGRATION.uninstall

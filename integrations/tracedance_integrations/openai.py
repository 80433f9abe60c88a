"""OpenAI's Python client: chat completions and responses, streamed, parsed or plain.

    from tracedance_integrations import openai as td_openai

    td_openai.install()

Every request made inside an open recorder becomes turns of its run. `install` changes the client's
classes and `uninstall` puts them back.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any, Final

from tracedance_sdk.formats import (
    request_from_chat,
    request_from_responses,
    said_in_chat,
    said_in_responses,
)
from tracedance_sdk.recording.integrating import (
    IN_PIECES,
    ClientApi,
    Integration,
    ModelReply,
    Patches,
    as_json,
    follow_replies,
    reply_in,
)


class _ChatPieces:
    """The chunks of a streamed chat completion."""

    def __init__(self) -> None:
        self._facts: dict[str, Any] = {}
        self._choices: dict[int, _ChatChoice] = {}

    def add(self, chunk: Any) -> None:
        """Take the next chunk."""
        if not self._facts:
            self._facts = {"id": chunk.id, "model": chunk.model}
        if chunk.usage is not None:
            self._facts["usage"] = as_json(chunk.usage)
        for choice in chunk.choices or ():
            place = choice.index if isinstance(choice.index, int) else 0
            known = self._choices.get(place)
            if known is None:
                known = self._choices[place] = _ChatChoice()
            known.add(choice)

    def reply(self) -> ModelReply | None:
        """Return the reply as far as it has come."""
        if not self._choices:
            return None
        choices = [choice.body(index) for index, choice in sorted(self._choices.items())]
        return _read_chat({**self._facts, "choices": choices})


class _ChatChoice:
    """The chunks of one choice."""

    def __init__(self) -> None:
        self._content: list[Any] = []
        self._texts: dict[str, list[str]] = {}
        self._rest: dict[str, Any] = {}
        self._calls: list[dict[str, list[str]]] = []
        self._places: dict[Any, dict[str, list[str]]] = {}
        self._finish_reason: str | None = None

    def add(self, choice: Any) -> None:
        """Take what a chunk says of it."""
        if choice.finish_reason is not None:
            self._finish_reason = choice.finish_reason
        delta = choice.delta
        if delta is None:
            return
        if delta.content:
            self._content.append(delta.content)
        if delta.refusal and isinstance(delta.refusal, str):
            self._texts.setdefault("refusal", []).append(delta.refusal)
        for call in delta.tool_calls or ():
            self._add_call(call.index, call.id, call.function)
        if delta.function_call is not None:
            self._add_call(_FUNCTION_CALL, None, delta.function_call)
        if delta.model_extra:
            self._add_further(delta.model_extra)

    def _add_call(self, place: Any, call_id: Any, function: Any) -> None:
        call = self._places.get(place)
        name = getattr(function, "name", None)
        if call is None or (call_id and name and call["name"] and call_id not in call["id"]):
            # Some servers give all their calls one place, or none.
            call = {"id": [], "name": [], "arguments": []}
            self._places[place] = call
            self._calls.append(call)
        if call_id and isinstance(call_id, str) and not call["id"]:
            call["id"].append(call_id)
        for part in ("name", "arguments"):
            piece = getattr(function, part, None)
            if piece and isinstance(piece, str):
                call[part].append(piece)

    def _add_further(self, further: Mapping[str, Any]) -> None:
        for key, value in further.items():
            if key in _KNOWN:
                continue
            if isinstance(value, str):
                self._texts.setdefault(key, []).append(value)
            elif value is not None:
                self._rest[key] = as_json(value)

    def body(self, index: int) -> dict[str, Any]:
        """Return it as in a reply that is not streamed."""
        message = {"role": "assistant", **self._rest}
        if self._content:
            message["content"] = _joined(self._content)
        message |= {key: "".join(texts) for key, texts in self._texts.items()}
        calls = []
        for call in self._calls:
            told = {part: "".join(pieces) for part, pieces in call.items()}
            call_id = told.pop("id")
            if call is self._places.get(_FUNCTION_CALL):
                message["function_call"] = told
            else:
                calls.append({"id": call_id, "type": "function", "function": told})
        if calls:
            message["tool_calls"] = calls
        return {"index": index, "message": message, "finish_reason": self._finish_reason}


def _joined(pieces: list[Any]) -> Any:
    """Return the content in pieces of text, or of lists of blocks as some servers send them."""
    if all(isinstance(piece, str) for piece in pieces):
        return "".join(pieces)
    blocks: list[Any] = []
    for piece in pieces:
        told = as_json(piece)
        for block in told if isinstance(told, list) else [told]:
            found = {"type": "text", "text": block} if isinstance(block, str) else block
            if blocks and _is_text(blocks[-1]) and _is_text(found):
                blocks[-1] = {**blocks[-1], "text": blocks[-1]["text"] + found["text"]}
            else:
                blocks.append(found)
    return blocks


def _is_text(block: Any) -> bool:
    return (
        isinstance(block, dict)
        and block.keys() == {"type", "text"}
        and isinstance(block["text"], str)
    )


_FUNCTION_CALL: Final = "function_call"

_KNOWN: Final = frozenset({"role", "content", "refusal", "tool_calls", "function_call"})
"""Fields of a delta that are no further ones, where it is not the client's model of it."""


class _ResponsePieces:
    """The events of a streamed response."""

    def __init__(self) -> None:
        self._items: dict[int, Any] = {}
        self._texts: dict[int, list[str]] = {}
        self._last: Any = None

    def add(self, event: Any) -> None:
        """Take the next event."""
        kind = event.type
        if kind == "response.output_text.delta":
            if isinstance(event.delta, str):
                self._texts.setdefault(_place(event), []).append(event.delta)
        elif kind == "response.output_item.done":
            self._items[_place(event)] = event.item
        elif getattr(event, "response", None) is not None:
            self._last = event.response

    def reply(self) -> ModelReply | None:
        """Return the reply as far as it has come."""
        body = as_json(self._last)
        if not isinstance(body, dict):
            return None
        if not body.get("output"):
            told = {place: as_json(item) for place, item in self._items.items()}
            done = {place: item for place, item in told.items() if isinstance(item, dict)}
            begun = {
                place: {"type": "message", "role": "assistant", "content": "".join(texts)}
                for place, texts in self._texts.items()
            }
            body["output"] = [item for _, item in sorted({**begun, **done}.items())]
        return _read_response(body)


def _place(event: Any) -> int:
    place = event.output_index
    return place if isinstance(place, int) else 0


def _read_chat(found: Any) -> ModelReply | None:
    body = as_json(found)
    if not isinstance(body, dict):
        return None
    reply = reply_in(said_in_chat(body))
    others = (body.get("choices") or ())[1:]
    return reply._replace(further={"other_choices": others}) if others else reply


def _read_response(found: Any) -> ModelReply | None:
    body = as_json(found)
    if not isinstance(body, dict):
        return None
    reply, error = reply_in(said_in_responses(body)), body.get("error")
    if not isinstance(error, dict):
        return reply
    told = {"type": str(error.get("code") or "error"), "message": str(error.get("message") or "")}
    return reply._replace(further={"error": told})


_CHAT: Final = ClientApi(
    request_from_chat, _read_chat, _ChatPieces, listed=("tools", "functions", "stop")
)
_RESPONSES: Final = ClientApi(
    request_from_responses, _read_response, _ResponsePieces, messages="input"
)


def _hooks(patches: Patches) -> None:
    for hooks in (_chat_hooks, _responses_hooks, _beta_responses_hooks, _reply_hooks):
        patches.attempt(hooks)
    with contextlib.suppress(ImportError):
        from openai._legacy_response import LegacyAPIResponse

        follow_replies(patches, LegacyAPIResponse, "parse")
    with contextlib.suppress(ImportError):
        from openai.lib.streaming.chat import AsyncChatCompletionStream, ChatCompletionStream

        follow_replies(patches, ChatCompletionStream, "close")
        follow_replies(patches, AsyncChatCompletionStream, "close")
    with contextlib.suppress(ImportError):
        from openai.lib.streaming.responses import AsyncResponseStream, ResponseStream

        follow_replies(patches, ResponseStream, "close")
        follow_replies(patches, AsyncResponseStream, "close")


def _chat_hooks(patches: Patches) -> None:
    from openai.resources.chat.completions import AsyncCompletions, Completions

    for name in ("create", "parse"):
        patches.wrap(Completions, name, _CHAT.call)
        patches.wrap(AsyncCompletions, name, _CHAT.call_async)


def _responses_hooks(patches: Patches) -> None:
    from openai.resources.responses import AsyncResponses, Responses

    for name in ("create", "parse"):
        patches.wrap(Responses, name, _RESPONSES.call)
        patches.wrap(AsyncResponses, name, _RESPONSES.call_async)


def _beta_responses_hooks(patches: Patches) -> None:
    with contextlib.suppress(ImportError):
        # Clients of today have them.
        from openai.resources.beta.responses import AsyncResponses, Responses

        patches.wrap(Responses, "create", _RESPONSES.call)
        patches.wrap(AsyncResponses, "create", _RESPONSES.call_async)


def _reply_hooks(patches: Patches) -> None:
    from openai import APIResponse, AsyncAPIResponse, AsyncStream, Stream

    for owner in (Stream, AsyncStream):
        follow_replies(patches, owner, "close")
    for response in (APIResponse, AsyncAPIResponse):
        follow_replies(patches, response, "parse", "read", "close", *IN_PIECES)


_INTEGRATION: Final = Integration(
    "openai", module="openai", package="openai", oldest="1.99", below="4", hooks=_hooks
)
install, uninstall = _INTEGRATION.install, _INTEGRATION.uninstall

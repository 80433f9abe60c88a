"""Replies as streams of events, as OpenAI's and Anthropic's APIs send them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from tests.support.scripted_models import Answer

CONTENT_TYPE = "text/event-stream; charset=utf-8"


def streamed(api: str, body: dict[str, Any], **how: Any) -> Answer:
    """Return an answer that streams the body of a reply."""
    return as_stream(events_of(api, body), **how)


def as_stream(events: Iterable[bytes], **how: Any) -> Answer:
    """Return an answer of these events."""
    return Answer(b"".join(events), content_type=CONTENT_TYPE, **how)


def events_of(api: str, body: dict[str, Any]) -> list[bytes]:
    """Return the events that add up to a body; the last one says that it is whole.

    An Anthropic call whose input is a string streams it as it is.
    """
    events = {"openai": _chat, "openai-responses": _responses, "anthropic": _anthropic}[api]
    return list(events(body))


def event(data: Any, name: str | None = None) -> bytes:
    """Return one event; bytes as data are sent as they are."""
    text = data if isinstance(data, bytes) else json.dumps(data).encode()
    head = b"" if name is None else f"event: {name}\n".encode()
    return head + b"data: " + text + b"\n\n"


def pieces(text: str) -> list[str]:
    """Return a text in pieces of five characters."""
    return [text[start : start + 5] for start in range(0, len(text), 5)]


def _chat(body: dict[str, Any]) -> Iterator[bytes]:
    (choice,) = body["choices"]
    message = choice["message"]
    same = {k: body[k] for k in body if k not in ("choices", "usage", "object")}
    same |= {"object": "chat.completion.chunk"}

    def chunk(delta: dict[str, Any], end: str | None = None) -> bytes:
        told = {"index": 0, "delta": delta, "finish_reason": end}
        return event({**same, "choices": [told], "usage": None})

    yield chunk({k: None if k != "role" else "assistant" for k in message if k != "tool_calls"})
    for field in ("content", "refusal"):
        for piece in pieces(message[field] or ""):
            yield chunk({field: piece})
    for place, call in enumerate(message.get("tool_calls", ())):
        function = {**call["function"], "arguments": ""}
        yield chunk({"tool_calls": [{**call, "index": place, "function": function}]})
        for piece in pieces(call["function"]["arguments"]):
            yield chunk({"tool_calls": [{"index": place, "function": {"arguments": piece}}]})
    yield chunk({}, choice["finish_reason"])
    yield event({**same, "choices": [], "usage": body["usage"]})
    yield event(b"[DONE]")


def _responses(body: dict[str, Any]) -> Iterator[bytes]:
    number = iter(range(10**9))

    def told(name: str, **fields: Any) -> bytes:
        return event({"type": name, "sequence_number": next(number), **fields}, name)

    begun = {**body, "status": "in_progress", "output": [], "usage": None}
    yield told("response.created", response=begun)
    for place, item in enumerate(body["output"]):
        where = {"output_index": place, "item_id": item.get("id", "i")}
        for part in item.get("content", ()):
            for piece in pieces(part.get("text", "")):
                yield told(
                    "response.output_text.delta", delta=piece, content_index=0, logprobs=[], **where
                )
        for piece in pieces(item.get("arguments", "")):
            yield told("response.function_call_arguments.delta", delta=piece, **where)
    yield told(f"response.{body['status']}", response=body)


def _anthropic(body: dict[str, Any]) -> Iterator[bytes]:
    def told(name: str, **fields: Any) -> bytes:
        return event({"type": name, **fields}, name)

    usage = {**body["usage"], "output_tokens": 1}
    begun = {**body, "content": [], "stop_reason": None, "usage": usage}
    yield told("message_start", message=begun)
    yield told("ping")
    for place, block in enumerate(body["content"]):
        if block["type"] == "text":
            start, field, text = {**block, "text": ""}, "text", block["text"]
            kind = "text_delta"
        else:
            start, field, kind = {**block, "input": {}}, "partial_json", "input_json_delta"
            text = block["input"] if isinstance(block["input"], str) else json.dumps(block["input"])
        yield told("content_block_start", index=place, content_block=start)
        for piece in pieces(text):
            yield told("content_block_delta", index=place, delta={"type": kind, field: piece})
        yield told("content_block_stop", index=place)
    ended = {k: body[k] for k in ("stop_reason", "stop_sequence")}
    yield told(
        "message_delta", delta=ended, usage={"output_tokens": body["usage"]["output_tokens"]}
    )
    yield told("message_stop")

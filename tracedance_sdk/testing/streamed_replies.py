"""Replies as the providers' APIs stream them, each text and each argument in two pieces."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final


def chat_events(said: Any, reply: dict[str, Any], request: dict[str, Any]) -> Iterator[bytes]:
    """Yield the events of a streamed chat completion.

    Args:
        said: What the model says.
        reply: The same as a body.
        request: The body that asked for it.
    """
    head = {"id": reply["id"], "object": "chat.completion.chunk", "created": 1}
    head["model"] = reply["model"]
    choice = reply["choices"][0]

    def chunk(delta: dict[str, Any], reason: str | None = None) -> bytes:
        choices = [{"index": 0, "delta": delta, "finish_reason": reason}]
        return _data({**head, "choices": choices})

    yield chunk({"role": "assistant", "content": "" if said.text else None})
    for piece in _halves(said.text or ""):
        yield chunk({"content": piece})
    for place, call in enumerate(choice["message"].get("tool_calls", ())):
        function = {"name": call["function"]["name"], "arguments": ""}
        begun = {"index": place, "id": call["id"], "type": "function", "function": function}
        yield chunk({"tool_calls": [begun]})
        for piece in _halves(call["function"]["arguments"]):
            yield chunk({"tool_calls": [{"index": place, "function": {"arguments": piece}}]})
    yield chunk({}, choice["finish_reason"])
    if (request.get("stream_options") or {}).get("include_usage"):
        yield _data({**head, "choices": [], "usage": reply["usage"]})
    yield b"data: [DONE]\n\n"


def responses_events(said: Any, reply: dict[str, Any], request: dict[str, Any]) -> Iterator[bytes]:  # noqa: ARG001  # as its kin
    """Yield the events of a streamed response; see `chat_events`."""
    number = 0

    def event(kind: str, **fields: Any) -> bytes:
        nonlocal number
        number += 1
        return _named(kind, {"type": kind, "sequence_number": number, **fields})

    begun = {**reply, "status": "in_progress", "output": [], "usage": None}
    yield event("response.created", response=begun)
    for place, item in enumerate(reply["output"]):
        at = {"output_index": place, "item_id": item["id"]}
        if item["type"] == "message":
            empty = {**item, "content": [], "status": "in_progress"}
            yield event("response.output_item.added", output_index=place, item=empty)
            part = item["content"][0]
            blank = {**part, "text": ""}
            yield event("response.content_part.added", **at, content_index=0, part=blank)
            for piece in _halves(part["text"]):
                kind = "response.output_text.delta"
                yield event(kind, **at, content_index=0, delta=piece, logprobs=[])
            done = {"content_index": 0, "text": part["text"], "logprobs": []}
            yield event("response.output_text.done", **at, **done)
            yield event("response.content_part.done", **at, content_index=0, part=part)
        else:
            empty = {**item, "arguments": "", "status": "in_progress"}
            yield event("response.output_item.added", output_index=place, item=empty)
            for piece in _halves(item["arguments"]):
                yield event("response.function_call_arguments.delta", **at, delta=piece)
            whole = {"arguments": item["arguments"], "name": item["name"]}
            yield event("response.function_call_arguments.done", **at, **whole)
        yield event("response.output_item.done", output_index=place, item=item)
    yield event("response.completed", response=reply)


def anthropic_events(said: Any, reply: dict[str, Any], request: dict[str, Any]) -> Iterator[bytes]:  # noqa: ARG001  # as its kin
    """Yield the events of a streamed message; see `chat_events`."""
    begun = {**reply, "content": [], "stop_reason": None}
    begun["usage"] = {**reply["usage"], "output_tokens": 1}
    yield _named("message_start", {"type": "message_start", "message": begun})
    for place, block in enumerate(reply["content"]):
        is_text = block["type"] == "text"
        empty = {**block, "text": ""} if is_text else {**block, "input": {}}
        start = {"type": "content_block_start", "index": place, "content_block": empty}
        yield _named("content_block_start", start)
        for piece in _halves(block["text"] if is_text else json.dumps(block["input"])):
            delta = (
                {"type": "text_delta", "text": piece}
                if is_text
                else {"type": "input_json_delta", "partial_json": piece}
            )
            body = {"type": "content_block_delta", "index": place, "delta": delta}
            yield _named("content_block_delta", body)
        yield _named("content_block_stop", {"type": "content_block_stop", "index": place})
    end = {"stop_reason": reply["stop_reason"], "stop_sequence": None}
    # The API counts all tokens so far in it, those of the input included.
    yield _named("message_delta", {"type": "message_delta", "delta": end, "usage": reply["usage"]})
    yield _named("message_stop", {"type": "message_stop"})


def _halves(text: str) -> list[str]:
    middle = len(text) // 2
    return [piece for piece in (text[:middle], text[middle:]) if piece]


def _data(body: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(body)}\n\n".encode()


def _named(kind: str, body: dict[str, Any]) -> bytes:
    return f"event: {kind}\n".encode() + _data(body)


EVENTS: Final = {
    "openai": chat_events,
    "openai-responses": responses_events,
    "anthropic": anthropic_events,
}
"""By API: yields the events of a streamed reply."""

"""Bodies that the real clients of models get, without a network, and what is on record then."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import tracedance_sdk as td

SAID: Any = [{"role": "user", "content": "Hi"}]


class Served:
    """What answers, and how much of it was fetched."""

    def __init__(
        self, parts: list[bytes], *, error: BaseException | None = None, status: int = 200
    ) -> None:
        self.parts = parts
        self.error = error
        self.status = status
        self.fetched = 0
        self.asked = 0

    def each(self) -> Iterator[bytes]:
        """Give the parts, as they are fetched."""
        for part in self.parts:
            self.fetched += 1
            yield part
        if self.error is not None:
            raise self.error

    def client(
        self,
        provider: str,
        *,
        is_async: bool = False,
        retries: int = 0,
        made: Callable[..., Any] | None = None,
    ) -> Any:
        """Return the provider's client, or one made otherwise, which this answers."""
        module = importlib.import_module(provider)
        http: Any = http_of(provider)
        served = self

        class Plain(http.SyncByteStream):  # type: ignore[misc]
            def __iter__(self) -> Iterator[bytes]:
                return served.each()

        class Waiting(http.AsyncByteStream):  # type: ignore[misc]
            async def __aiter__(self) -> Any:
                for part in served.each():
                    yield part

        def answer(stream: Any) -> Any:
            served.asked += 1
            kind = "text/event-stream" if len(served.parts) > 1 else "application/json"
            return http.Response(served.status, headers={"content-type": kind}, stream=stream)

        async def answer_async(_: Any) -> Any:
            return answer(Waiting())

        transport: Any = answer_async if is_async else lambda _: answer(Plain())
        carrier = http.AsyncClient if is_async else http.Client
        given = {
            "http_client": carrier(transport=http.MockTransport(transport)),
            "max_retries": retries,
        }
        if made is not None:
            return made(**given)
        name = {"openai": "OpenAI", "anthropic": "Anthropic"}[provider]
        make = getattr(module, f"Async{name}" if is_async else name)
        return make(api_key="fake", base_url="http://127.0.0.1/v1", **given)


def http_of(provider: str) -> Any:
    """Return the HTTP library of the installed client."""
    base = importlib.import_module(f"{provider}._base_client")
    found: Any = getattr(base, "httpx2", None)
    return found or base.httpx


class Api(NamedTuple):
    """One of the APIs of a client.

    Attributes:
        provider: Its package.
        path: To its methods.
        asked: What is asked.
        body: A whole reply, which says `Hello`.
        events: The same as a stream; `Hel` has come with `half` of them.
        half: How many.
    """

    provider: str
    path: str
    asked: dict[str, Any]
    body: bytes
    events: list[bytes]
    half: int

    def of(self, client: Any) -> Any:
        """Return the API of a client."""
        found = client
        for name in self.path.split("."):
            found = getattr(found, name)
        return found


def event(told: dict[str, Any]) -> bytes:
    """Return an event of a stream."""
    name = f"event: {told['type']}\n" if "type" in told else ""
    return f"{name}data: {json.dumps(told)}\n\n".encode()


def _chat() -> Api:
    told = {"id": "r1", "created": 1, "model": "m1"}
    message = {"role": "assistant", "content": "Hello"}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    body = {**told, "object": "chat.completion", "choices": [choice], "usage": usage}
    chunks: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": reason}]}
        for text, reason in (("Hel", None), ("lo", None), (None, "stop"))
    ]
    chunks.append({"choices": [], "usage": usage})
    events = [event({**told, "object": "chat.completion.chunk", **chunk}) for chunk in chunks]
    events.append(b"data: [DONE]\n\n")
    asked = {"model": "m", "messages": SAID}
    return Api("openai", "chat.completions", asked, json.dumps(body).encode(), events, 1)


def _responses() -> Api:
    told = {"id": "r1", "object": "response", "created_at": 1, "model": "m1", "error": None}
    part = {"type": "output_text", "text": "Hello", "annotations": []}
    item = {"type": "message", "id": "i1", "role": "assistant", "status": "completed"}
    usage = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    body = {**told, "status": "completed", "output": [{**item, "content": [part]}], "usage": usage}
    at = {"output_index": 0, "content_index": 0, "item_id": "i1"}
    events = [
        event({"type": "response.created", "response": {**told, "output": []}}),
        *(
            event({"type": "response.output_text.delta", "delta": text, **at})
            for text in ("Hel", "lo")
        ),
        event({"type": "response.completed", "response": body}),
    ]
    asked = {"model": "m", "input": "Hi"}
    return Api("openai", "responses", asked, json.dumps(body).encode(), events, 2)


def _messages() -> Api:
    told = {"id": "r1", "type": "message", "role": "assistant", "model": "m1"}
    usage = {"input_tokens": 1, "output_tokens": 2}
    text = {"type": "text", "text": "Hello"}
    end = {"stop_reason": "end_turn", "stop_sequence": None}
    body = {**told, "content": [text], **end, "usage": usage}
    message = {**told, "content": [], "usage": usage}
    empty = {"type": "text", "text": ""}
    events = [
        event({"type": "message_start", "message": message}),
        event({"type": "content_block_start", "index": 0, "content_block": empty}),
        *(
            event(
                {
                    "type": "content_block_delta",
                    "index": 0,
                    "delta": {"type": "text_delta", "text": text},
                }
            )
            for text in ("Hel", "lo")
        ),
        event({"type": "content_block_stop", "index": 0}),
        event({"type": "message_delta", "delta": end, "usage": {"output_tokens": 2}}),
        event({"type": "message_stop"}),
    ]
    asked = {"model": "m", "max_tokens": 9, "messages": SAID}
    return Api("anthropic", "messages", asked, json.dumps(body).encode(), events, 3)


CHAT, RESPONSES, MESSAGES = _chat(), _responses(), _messages()


def recorded(play: Callable[[], Any]) -> tuple[Any, list[Any]]:
    """Return what a program gives, and the turns after the first of what is recorded of it."""
    with td.TraceRecorder() as recorder:
        value = play()
    assert recorder.close().faults == {}
    return value, list(recorder.trace.turns)[1:]


def marks(turn: Any) -> dict[str, Any]:
    """Return what a turn says of how it ended."""
    told = turn.model_dump(exclude_none=True)
    return {key: told[key] for key in ("interrupted", "not_seen", "error") if key in told}

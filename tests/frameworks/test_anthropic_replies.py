"""What programs do with the replies of Anthropic's client, and what is on record then."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tracedance_sdk as td

pytestmark = [
    pytest.mark.installs("anthropic"),
    pytest.mark.needs("anthropic"),
    pytest.mark.filterwarnings("error"),
]

ASKED: Any = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
MESSAGE: dict[str, Any] = {
    "id": "r1",
    "type": "message",
    "role": "assistant",
    "model": "m1",
    "content": [{"type": "text", "text": "Hello"}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 2},
}


def _events() -> Iterator[bytes]:
    def event(kind: str, **told: Any) -> bytes:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **told})}\n\n".encode()

    yield event("message_start", message={**MESSAGE, "content": [], "stop_reason": None})
    yield event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    for text in ("Hel", "lo"):
        delta = {"type": "text_delta", "text": text}
        yield event("content_block_delta", index=0, delta=delta)
    yield event("content_block_stop", index=0)
    end = {"stop_reason": "end_turn", "stop_sequence": None}
    yield event("message_delta", delta=end, usage={"output_tokens": 2})
    yield event("message_stop")


class _Server:
    """What answers, without a network, and how much of it was fetched."""

    def __init__(self) -> None:
        self.fetched = 0
        self.asked: list[Any] = []

    def client(self) -> Any:
        from anthropic import Anthropic

        http: Any = self._http()
        server = self

        class Body(http.SyncByteStream):  # type: ignore[misc]
            def __init__(self, parts: Any) -> None:
                self.parts = parts

            def __iter__(self) -> Iterator[bytes]:
                for part in self.parts:
                    server.fetched += 1
                    yield part

        transport = http.MockTransport(lambda request: self._answer(http, request, Body))
        return Anthropic(
            api_key="fake",
            base_url="http://127.0.0.1",
            http_client=http.Client(transport=transport),
            max_retries=0,
        )

    def async_client(self) -> Any:
        from anthropic import AsyncAnthropic

        http: Any = self._http()

        class Body(http.AsyncByteStream):  # type: ignore[misc]
            def __init__(self, parts: Any) -> None:
                self.parts = parts

            async def __aiter__(self) -> Any:
                for part in self.parts:
                    yield part

        async def answer(request: Any) -> Any:
            return self._answer(http, request, Body)

        return AsyncAnthropic(
            api_key="fake",
            base_url="http://127.0.0.1",
            http_client=http.AsyncClient(transport=http.MockTransport(answer)),
            max_retries=0,
        )

    def _http(self) -> Any:
        from anthropic import _base_client

        found: Any = getattr(_base_client, "httpx2", None)
        return found or _base_client.httpx  # type: ignore[attr-defined]

    def _answer(self, http: Any, request: Any, body: Any) -> Any:
        asked = json.loads(request.content)
        self.asked.append(asked)
        is_stream = asked.get("stream")
        kind = "text/event-stream" if is_stream else "application/json"
        parts = _events() if is_stream else [json.dumps(MESSAGE).encode()]
        return http.Response(200, headers={"content-type": kind}, stream=body(parts))


def _recorded(play: Callable[[], Any]) -> tuple[Any, list[Any]]:
    with td.TraceRecorder() as recorder:
        value = play()
    assert recorder.close().faults == {}
    told = []
    for turn in recorder.trace.turns[1:]:
        fields = turn.model_dump(exclude_none=True)
        marks = {key: fields[key] for key in ("interrupted", "not_seen") if key in fields}
        told.append((turn.text, marks))
    return value, told


def test_a_lazy_response_is_fetched_by_the_program_alone() -> None:
    server = _Server()

    def play() -> tuple[int, Any]:
        with server.client().messages.with_streaming_response.create(**ASKED) as response:
            before = server.fetched
            return before, json.loads(b"".join(response.iter_bytes()))

    assert _recorded(play) == ((0, MESSAGE), [("Hello", {})])


def test_a_lazy_response_is_recorded_when_the_program_has_read_it() -> None:
    def play() -> str:
        with _Server().client().messages.with_streaming_response.create(**ASKED) as response:
            return str(response.parse().content[0].text)

    async def play_async() -> str:
        messages = _Server().async_client().messages
        async with messages.with_streaming_response.create(**ASKED) as response:
            return str((await response.parse()).content[0].text)

    for played in (play, lambda: asyncio.run(play_async())):
        assert _recorded(played) == ("Hello", [("Hello", {})])


def test_raw_responses_are_seen_plain_and_streamed() -> None:
    def streamed() -> int:
        raw = _Server().client().messages.with_raw_response.create(**ASKED, stream=True)
        return len(list(raw.parse()))

    assert _recorded(streamed) == (7, [("Hello", {})])
    plain = _Server().client().messages.with_raw_response
    assert _recorded(lambda: plain.create(**ASKED).parse().id) == ("r1", [("Hello", {})])


def _leave(client: Any) -> None:
    with client.messages.create(**ASKED, stream=True) as events:
        for event in events:
            if event.type == "content_block_delta":
                break


def _break(client: Any) -> None:
    for event in client.messages.create(**ASKED, stream=True):
        if event.type == "content_block_delta":
            break


def _leave_helper(client: Any) -> None:
    with client.messages.stream(**ASKED) as stream:
        for _ in stream.text_stream:
            break


@pytest.mark.parametrize("play", [_leave, _break, _leave_helper])
def test_a_stream_left_early_keeps_the_words_that_had_come(play: Callable[[Any], None]) -> None:
    _, told = _recorded(lambda: play(_Server().client()))
    assert told == [("Hel", {"interrupted": True})]


def test_an_async_stream_left_early_keeps_the_words_that_had_come() -> None:
    async def play() -> None:
        async with _Server().async_client().messages.stream(**ASKED) as stream:
            async for _ in stream.text_stream:
                break

    _, told = _recorded(lambda: asyncio.run(play()))
    assert told == [("Hel", {"interrupted": True})]


@pytest.mark.parametrize("name", ["create", "stream"])
def test_iterators_in_a_request_reach_the_client_and_the_record(name: str) -> None:
    server = _Server()
    parts = [{"type": "text", "text": "Hi"}]
    said = (message for message in [{"role": "user", "content": iter(parts)}])

    def play() -> None:
        found = getattr(server.client().messages, name)(**{**ASKED, "messages": said})
        if name == "stream":
            with found as stream:
                stream.until_done()

    _, told = _recorded(play)
    assert server.asked[0]["messages"] == [{"role": "user", "content": parts}]
    assert told == [("Hello", {})]


def test_the_manager_of_a_stream_is_the_clients_own() -> None:
    from anthropic import MessageStreamManager

    with td.TraceRecorder():
        manager = _Server().client().messages.stream(**ASKED)
    assert type(manager) is MessageStreamManager

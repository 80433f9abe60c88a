"""What programs do with the replies of OpenAI's client, and what is on record then."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tracedance_sdk as td

pytestmark = [
    pytest.mark.installs("openai"),
    pytest.mark.needs("openai"),
    pytest.mark.filterwarnings("error"),
]

ASKED: Any = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}


class _Body:
    """The body of a response, which says how much of it was fetched."""

    def __init__(self, parts: list[bytes], error: Exception | None = None) -> None:
        self.parts = parts
        self.error = error
        self.fetched = 0
        self.asked: list[Any] = []


def _transports(body: _Body, kind: str) -> tuple[Any, Any, Any]:
    """Return the HTTP library of the installed client, and transports of its own that answer."""
    from openai import _base_client

    http: Any = getattr(_base_client, "httpx2", None) or _base_client.httpx  # type: ignore[attr-defined]

    def parts() -> Iterator[bytes]:
        for part in body.parts:
            body.fetched += 1
            yield part
        if body.error is not None:
            raise body.error

    class Plain(http.SyncByteStream):  # type: ignore[misc]
        def __iter__(self) -> Iterator[bytes]:
            return parts()

    class Waiting(http.AsyncByteStream):  # type: ignore[misc]
        async def __aiter__(self) -> Any:
            for part in parts():
                yield part

    def answer(request: Any, stream: Any) -> Any:
        body.asked.append(json.loads(request.content))
        return http.Response(200, headers={"content-type": kind}, stream=stream)

    async def answer_async(request: Any) -> Any:
        return answer(request, Waiting())

    plain = http.MockTransport(lambda request: answer(request, Plain()))
    return http, plain, http.MockTransport(answer_async)


def _client(body: _Body, kind: str = "application/json") -> Any:
    from openai import OpenAI

    http, plain, _ = _transports(body, kind)
    return OpenAI(
        api_key="fake",
        base_url="http://127.0.0.1/v1",
        http_client=http.Client(transport=plain),
        max_retries=0,
    )


def _async_client(body: _Body, kind: str = "application/json") -> Any:
    from openai import AsyncOpenAI

    http, _, waiting = _transports(body, kind)
    return AsyncOpenAI(
        api_key="fake",
        base_url="http://127.0.0.1/v1",
        http_client=http.AsyncClient(transport=waiting),
        max_retries=0,
    )


def _completion(*texts: str) -> bytes:
    choices = [
        {
            "index": index,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": text},
        }
        for index, text in enumerate(texts)
    ]
    told = {"id": "r1", "object": "chat.completion", "created": 1, "model": "m1"}
    return json.dumps({**told, "choices": choices}).encode()


def _chunks(*deltas: dict[str, Any]) -> list[bytes]:
    told = {"id": "r1", "object": "chat.completion.chunk", "created": 1, "model": "m1"}
    found = []
    for delta in deltas:
        choice = {"index": delta.pop("index", 0), "delta": delta, "finish_reason": None}
        found.append(b"data: " + json.dumps({**told, "choices": [choice]}).encode() + b"\n\n")
    return [*found, b"data: [DONE]\n\n"]


def _words(*texts: str) -> _Body:
    return _Body(_chunks(*({"content": text} for text in texts)))


EVENTS = "text/event-stream"


def _recorded(play: Callable[[], Any]) -> tuple[Any, list[Any]]:
    with td.TraceRecorder() as recorder:
        value = play()
    assert recorder.close().faults == {}
    return value, list(recorder.trace.turns)


def _marks(turn: Any) -> dict[str, Any]:
    told = turn.model_dump(exclude_none=True)
    return {key: told[key] for key in ("interrupted", "not_seen") if key in told}


def test_a_lazy_response_is_fetched_by_the_program_alone() -> None:
    body = _Body([_completion("Hello")])

    def play() -> tuple[int, bytes]:
        with _client(body).chat.completions.with_streaming_response.create(**ASKED) as response:
            before = body.fetched
            return before, b"".join(response.iter_bytes())

    value, turns = _recorded(play)
    assert value == (0, _completion("Hello"))
    assert [(turn.role, turn.text, _marks(turn)) for turn in turns] == [
        ("user", "Hi", {}),
        ("assistant", "Hello", {}),
    ]


def test_a_lazy_response_nobody_reads_is_not_seen() -> None:
    body = _Body([_completion("Hello")])

    def play() -> int:
        with _client(body).chat.completions.with_streaming_response.create(**ASKED) as response:
            return int(response.status_code)

    value, turns = _recorded(play)
    assert (value, body.fetched, _marks(turns[-1])) == (200, 0, {"not_seen": True})


@pytest.mark.parametrize("read", ["parse", "read", "json", "text"])
def test_a_lazy_response_is_recorded_when_the_program_has_read_it(read: str) -> None:
    def play() -> None:
        client = _client(_Body([_completion("Hello")]))
        with client.chat.completions.with_streaming_response.create(**ASKED) as response:
            getattr(response, read)()

    async def play_async() -> None:
        client = _async_client(_Body([_completion("Hello")]))
        async with client.chat.completions.with_streaming_response.create(**ASKED) as response:
            await getattr(response, read)()

    for played in (play, lambda: asyncio.run(play_async())):
        _, turns = _recorded(played)
        assert [(turn.text, turn.model, _marks(turn)) for turn in turns[1:]] == [
            ("Hello", "m1", {})
        ]


def test_what_breaks_while_a_lazy_response_is_read_reaches_the_program_as_it_is() -> None:
    broken = ConnectionResetError("gone")

    def play() -> BaseException:
        client = _client(_Body([b"{"], broken))
        with (
            client.chat.completions.with_streaming_response.create(**ASKED) as response,
            pytest.raises(ConnectionResetError) as caught,
        ):
            response.parse()
        return caught.value

    value, turns = _recorded(play)
    assert value is broken
    assert turns[-1].model_dump()["error"]["type"] == "ConnectionResetError"


@pytest.mark.parametrize("form", ["with_raw_response", "with_streaming_response"])
def test_a_stream_of_a_raw_response_is_seen(form: str) -> None:
    def play() -> list[Any]:
        asking = getattr(_client(_words("Hel", "lo"), EVENTS).chat.completions, form)
        found = asking.create(**ASKED, stream=True)
        if form == "with_raw_response":
            return list(found.parse())
        with found as response:
            return list(response.parse())

    chunks, turns = _recorded(play)
    assert len(chunks) == 2
    assert [(turn.text, _marks(turn)) for turn in turns[1:]] == [("Hello", {})]


def test_a_raw_response_whose_stream_nobody_reads_is_not_seen() -> None:
    def play() -> None:
        asking = _client(_words("Hel", "lo"), EVENTS).chat.completions.with_raw_response
        asking.create(**ASKED, stream=True)

    _, turns = _recorded(play)
    assert _marks(turns[-1]) == {"interrupted": True, "not_seen": True}


def _break(client: Any) -> None:
    for _ in client.chat.completions.create(**ASKED, stream=True):
        break


def _close(client: Any) -> None:
    stream = client.chat.completions.create(**ASKED, stream=True)
    next(stream)
    stream.close()


def _leave(client: Any) -> None:
    with client.chat.completions.create(**ASKED, stream=True) as stream:
        for _ in stream:
            break


def _leave_helper(client: Any) -> None:
    with client.chat.completions.stream(**ASKED) as stream:
        for _ in stream:
            break


@pytest.mark.parametrize("play", [_break, _close, _leave, _leave_helper])
def test_a_stream_left_early_keeps_the_words_that_had_come(play: Callable[[Any], None]) -> None:
    _, turns = _recorded(lambda: play(_client(_words("Hel", "lo"), EVENTS)))
    assert [(turn.text, _marks(turn)) for turn in turns[1:]] == [("Hel", {"interrupted": True})]


def test_a_stream_that_is_closed_ends_its_call_at_once() -> None:
    with td.TraceRecorder() as recorder:
        _close(_client(_words("Hel", "lo"), EVENTS))
        assert [turn.text for turn in recorder.trace.turns] == ["Hi", "Hel"]


def test_an_async_stream_left_early_keeps_the_words_that_had_come() -> None:
    async def play() -> None:
        client = _async_client(_words("Hel", "lo"), EVENTS)
        async with await client.chat.completions.create(**ASKED, stream=True) as stream:
            async for _ in stream:
                break

    _, turns = _recorded(lambda: asyncio.run(play()))
    assert [(turn.text, _marks(turn)) for turn in turns[1:]] == [("Hel", {"interrupted": True})]


def test_iterators_in_a_request_reach_the_client_and_the_record() -> None:
    body = _Body([_completion("Hello")])
    tool = {"type": "function", "function": {"name": "look", "parameters": {}}}
    parts = [{"type": "text", "text": "Hi"}]
    _, turns = _recorded(
        lambda: _client(body).chat.completions.create(
            model="m",
            messages=(said for said in [{"role": "user", "content": iter(parts)}]),
            tools=iter([tool]),
        )
    )
    assert body.asked == [
        {"model": "m", "messages": [{"role": "user", "content": parts}], "tools": [tool]}
    ]
    assert [turn.text for turn in turns] == ["Hi", "Hello"]


def test_a_message_that_was_changed_in_place_is_read_again() -> None:
    client, said = _client(_Body([_completion("Hello")])), [dict(ASKED["messages"][0])]

    def play() -> None:
        client.chat.completions.create(model="m", messages=said)
        said[0]["content"] = "Other"
        client.chat.completions.create(model="m", messages=said)

    _, turns = _recorded(play)
    assert [turn.text for turn in turns] == ["Hi", "Hello", "Other", "Hello"]


def test_the_pieces_of_a_stream_are_put_together() -> None:
    call = {"index": 0, "id": "c1", "type": "function"}
    deltas: list[dict[str, Any]] = [
        {"role": "assistant", "reasoning_content": "Hm"},
        {"reasoning_content": "m."},
        {"content": "Look"},
        {"tool_calls": [{**call, "function": {"name": "look", "arguments": '{"at'}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '": 1}'}}]},
        {"index": 1, "content": "Other"},
    ]
    client = _client(_Body(_chunks(*deltas)), EVENTS)
    _, turns = _recorded(lambda: list(client.chat.completions.create(**ASKED, stream=True)))
    turn = turns[-1]
    assert [(part.type, part.text) for part in turn.content] == [
        ("reasoning", "Hmm."),
        ("text", "Look"),
    ]
    assert [(asked.id, asked.name, asked.arguments) for asked in turn.calls] == [
        ("c1", "look", {"at": 1})
    ]
    (other,) = turn.model_dump()["other_choices"]
    assert other["message"]["content"] == "Other"


def test_further_choices_are_kept_beside_the_first() -> None:
    client = _client(_Body([_completion("Hello", "Good day")]))
    _, turns = _recorded(lambda: client.chat.completions.create(**ASKED, n=2))
    (other,) = turns[-1].model_dump()["other_choices"]
    assert (turns[-1].text, other["message"]["content"]) == ("Hello", "Good day")

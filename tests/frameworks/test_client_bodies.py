"""Lazy bodies of the models' clients that a program reads in pieces, and what is on record then."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

import pytest

import tracedance_sdk as td
from tests.frameworks.served_bodies import (
    CHAT,
    MESSAGES,
    RESPONSES,
    Api,
    Served,
    event,
    marks,
    recorded,
)

pytestmark = [
    pytest.mark.installs("openai", "anthropic"),
    pytest.mark.needs("openai", "anthropic"),
    pytest.mark.filterwarnings("error"),
]

APIS = pytest.mark.parametrize(
    "api", [CHAT, RESPONSES, MESSAGES], ids=["chat", "responses", "messages"]
)
WAYS = pytest.mark.parametrize("way", ["iter_bytes", "iter_text", "iter_lines"])
KINDS = pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])
FORMS = pytest.mark.parametrize("is_stream", [False, True], ids=["json", "events"])


def read(
    api: Api,
    served: Served,
    way: str,
    *,
    is_async: bool = False,
    most: int | None = None,
    **given: Any,
) -> list[Any]:
    """Return the pieces that a program gets, of which it reads so many."""
    ask = api.of(served.client(api.provider, is_async=is_async)).with_streaming_response.create
    if not is_async:
        with ask(**api.asked, **given) as response:
            found = []
            for piece in getattr(response, way)():
                found.append(piece)
                if len(found) == most:
                    break
            return found

    async def play() -> list[Any]:
        found = []
        async with (
            ask(**api.asked, **given) as response,
            contextlib.aclosing(getattr(response, way)()) as pieces,
        ):
            async for piece in pieces:
                found.append(piece)
                if len(found) == most:
                    break
        return found

    return asyncio.run(play())


@APIS
@FORMS
@WAYS
@KINDS
def test_a_body_read_in_pieces_is_recorded(
    api: Api, is_stream: bool, way: str, is_async: bool
) -> None:
    parts = api.events if is_stream else [api.body]
    given = {"stream": True} if is_stream else {}
    pieces, turns = recorded(lambda: read(api, Served(parts), way, is_async=is_async, **given))
    whole = b"".join(parts)
    expected = {
        "iter_bytes": parts,
        "iter_text": [part.decode() for part in parts],
        "iter_lines": whole.decode().splitlines(),
    }
    assert pieces == expected[way]
    assert [(turn.text, turn.model, marks(turn)) for turn in turns] == [("Hello", "m1", {})]
    assert (turns[0].usage.input_tokens, turns[0].usage.output_tokens) == (1, 2)


@APIS
@KINDS
def test_a_body_that_is_left_early_keeps_the_words_that_had_come(api: Api, is_async: bool) -> None:
    served = Served(api.events)
    _, turns = recorded(
        lambda: read(api, served, "iter_bytes", is_async=is_async, most=api.half, stream=True)
    )
    assert served.fetched == api.half
    assert [(turn.text, marks(turn)) for turn in turns] == [("Hel", {"interrupted": True})]


@APIS
@KINDS
def test_a_program_that_stops_at_the_last_event_has_read_all(api: Api, is_async: bool) -> None:
    lines = b"".join(api.events).decode().splitlines()
    most = next(n for n, line in enumerate(lines, 1) if "[DONE]" in line or line == lines[-2])
    _, turns = recorded(
        lambda: read(
            api, Served(api.events), "iter_lines", is_async=is_async, most=most, stream=True
        )
    )
    assert [(turn.text, marks(turn)) for turn in turns] == [("Hello", {})]


@APIS
def test_half_of_a_body_of_json_has_no_words(api: Api) -> None:
    parts = [api.body[:20], api.body[20:]]
    _, turns = recorded(lambda: read(api, Served(parts), "iter_bytes", most=1))
    assert marks(turns[0]) == {"interrupted": True, "not_seen": True}


def test_a_response_that_is_closed_ends_its_call_at_once() -> None:
    with td.TraceRecorder() as recorder:
        asking = CHAT.of(Served(CHAT.events).client("openai")).with_streaming_response
        with asking.create(**CHAT.asked, stream=True) as response:
            pieces = response.iter_lines()
            next(pieces)
            response.close()
            assert [turn.text for turn in recorder.trace.turns] == ["Hi", "Hel"]
        pieces.close()


def test_a_body_whose_run_ends_first_keeps_the_words_that_had_come() -> None:
    with td.TraceRecorder() as recorder:
        asking = CHAT.of(Served(CHAT.events).client("openai")).with_streaming_response
        context = asking.create(**CHAT.asked, stream=True)
        pieces = context.__enter__().iter_lines()
        next(pieces)
    assert marks(recorder.trace.turns[-1]) == {"interrupted": True}
    assert recorder.trace.turns[-1].text == "Hel"
    assert len(list(pieces)) > 1
    context.__exit__(None, None, None)


def test_pieces_nobody_reads_change_nothing() -> None:
    served = Served([CHAT.body])

    def play() -> Any:
        asking = CHAT.of(served.client("openai")).with_streaming_response
        with asking.create(**CHAT.asked) as response:
            response.iter_bytes()
            return response.read()

    value, turns = recorded(play)
    assert (value, turns[0].text) == (CHAT.body, "Hello")
    _, turns = recorded(lambda: read(CHAT, Served([]), "iter_bytes"))
    assert [turn.text for turn in turns] == [""]


@KINDS
def test_what_breaks_between_pieces_reaches_the_program_as_it_is(is_async: bool) -> None:
    broken = ConnectionResetError("gone")

    def play() -> Any:
        served = Served(MESSAGES.events[:3], error=broken)
        with pytest.raises(ConnectionResetError) as caught:
            read(MESSAGES, served, "iter_bytes", is_async=is_async, stream=True)
        return caught.value

    value, turns = recorded(play)
    assert value is broken
    assert turns[0].text == "Hel"
    assert marks(turns[0])["error"]["type"] == "ConnectionResetError"


def test_a_second_reading_is_refused_as_the_client_refuses_it() -> None:
    def play() -> str:
        asking = CHAT.of(Served(CHAT.events).client("openai")).with_streaming_response
        with asking.create(**CHAT.asked, stream=True) as response:
            first = response.iter_text()
            next(first)
            with pytest.raises(RuntimeError) as caught:
                next(response.iter_text())
            list(first)
            return type(caught.value).__name__

    value, turns = recorded(play)
    assert value == "StreamConsumed"
    assert [(turn.text, marks(turn)) for turn in turns] == [("Hello", {})]


@pytest.mark.parametrize("way", ["read", "text"])
def test_a_stream_that_is_read_as_a_whole_is_recorded(way: str) -> None:
    def play() -> None:
        asking = MESSAGES.of(Served(MESSAGES.events).client("anthropic")).with_streaming_response
        with asking.create(**MESSAGES.asked, stream=True) as response:
            getattr(response, way)()

    _, turns = recorded(play)
    assert [(turn.text, marks(turn)) for turn in turns] == [("Hello", {})]


def test_more_than_is_kept_of_a_body_is_not_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    from tracedance_sdk.recording.integrating import client_bodies

    monkeypatch.setattr(client_bodies, "MOST", len(CHAT.body) - 1)
    value, turns = recorded(lambda: read(CHAT, Served([CHAT.body]), "iter_bytes"))
    assert value == [CHAT.body]
    assert marks(turns[0]) == {"not_seen": True}


def test_words_with_line_separators_survive_being_read_by_lines() -> None:
    chunk = json.loads(CHAT.events[0].removeprefix(b"data: "))
    chunk["choices"][0]["delta"]["content"] = "one\u2028two"
    parts = [f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n".encode(), CHAT.events[-1]]
    _, turns = recorded(lambda: read(CHAT, Served(parts), "iter_lines", stream=True))
    assert turns[0].text == "one\ntwo"
    _, turns = recorded(lambda: read(CHAT, Served(parts), "iter_bytes", stream=True))
    assert turns[0].text == "one\u2028two"


@pytest.mark.parametrize("size", [1, 7])
def test_pieces_may_break_off_anywhere(size: int) -> None:
    whole = b"".join(MESSAGES.events).replace(b"Hel", "Hé".encode())

    def play() -> bytes:
        asking = MESSAGES.of(Served([whole, b""]).client("anthropic")).with_streaming_response
        with asking.create(**MESSAGES.asked, stream=True) as response:
            return b"".join(response.iter_bytes(size))

    value, turns = recorded(play)
    assert (value, turns[0].text) == (whole, "Hélo")


ERRORS = [
    (CHAT, {"error": {"message": "no", "type": "server_error", "code": None}}, "server_error"),
    (RESPONSES, {"type": "error", "code": "server_error", "message": "no"}, "server_error"),
    (
        MESSAGES,
        {"type": "error", "error": {"type": "overloaded_error", "message": "no"}},
        "overloaded_error",
    ),
]


@pytest.mark.parametrize(("api", "told", "kind"), ERRORS, ids=["chat", "responses", "messages"])
def test_an_error_in_a_stream_is_the_turns_error(api: Api, told: Any, kind: str) -> None:
    parts = [*api.events[: api.half], event(told)]
    _, turns = recorded(lambda: read(api, Served(parts), "iter_lines", stream=True))
    assert turns[0].text == "Hel"
    assert marks(turns[0]) == {"error": {"type": kind, "message": "no"}}


def test_an_error_in_the_place_of_a_reply_is_the_turns_error() -> None:
    body = json.dumps({"error": {"message": "no", "code": 502}}).encode()
    _, turns = recorded(lambda: read(CHAT, Served([body]), "iter_bytes"))
    assert marks(turns[0]) == {"error": {"type": "502", "message": "no"}}
    client = Served([body]).client("openai")
    _, turns = recorded(lambda: client.chat.completions.create(**CHAT.asked))
    assert marks(turns[0]) == {"error": {"type": "502", "message": "no"}}


def test_tool_calls_and_further_fields_of_a_stream_are_put_together() -> None:
    call = {"index": 0, "id": "c1", "type": "function"}
    deltas: list[dict[str, Any]] = [
        {"role": "assistant", "reasoning_content": "Hmm."},
        {"tool_calls": [{**call, "function": {"name": "look", "arguments": '{"at'}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '": 1}'}}]},
    ]
    chunks = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    parts = [event(chunk) for chunk in chunks]
    _, turns = recorded(lambda: read(CHAT, Served(parts), "iter_lines", stream=True))
    assert [(part.type, part.text) for part in turns[0].content] == [("reasoning", "Hmm.")]
    assert [(asked.name, asked.arguments) for asked in turns[0].calls] == [("look", {"at": 1})]


def test_the_places_are_given_back() -> None:
    import openai
    from tracedance_integrations import openai as td_openai

    found = openai.APIResponse.iter_bytes
    assert hasattr(found, "__wrapped__")
    td_openai.uninstall()
    assert openai.APIResponse.iter_bytes is found.__wrapped__

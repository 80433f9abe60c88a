"""Odd requests and replies of the models' clients: nothing changes for the program, and the record
has what there is."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.frameworks.served_bodies import (
    CHAT,
    MESSAGES,
    RESPONSES,
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

TEXT = {"type": "text", "text": ""}


def _streamed(*chunks: dict[str, Any]) -> Any:
    """Return the turn of a chat completion that comes in these chunks."""
    served = Served([*map(event, chunks), b"data: [DONE]\n\n"])
    completions = served.client("openai").chat.completions
    found, turns = recorded(lambda: list(completions.create(**CHAT.asked, stream=True)))
    assert len(found) == len(chunks)
    return turns[0]


def _delta(index: int | None = 0, **delta: Any) -> dict[str, Any]:
    return {"id": "r1", "model": "m1", "choices": [{"index": index, "delta": delta}]}


@pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])
@pytest.mark.parametrize("reason", ["stop", "length"])
def test_words_that_do_not_fit_what_the_program_wants_are_recorded(
    reason: str, is_async: bool
) -> None:
    from pydantic import BaseModel

    class Number(BaseModel):
        number: int

    served = Served([CHAT.body.replace(b'"stop"', json.dumps(reason).encode())])
    completions = served.client("openai", is_async=is_async).chat.completions
    given = {**CHAT.asked, "response_format": Number}

    async def play_async() -> None:
        await completions.parse(**given)

    def play() -> str:
        with pytest.raises(Exception, match=r"length|JSON") as caught:
            asyncio.run(play_async()) if is_async else completions.parse(**given)
        return caught.type.__name__

    kind, turns = recorded(play)
    assert (turns[0].text, turns[0].finish_reason) == ("Hello", reason)
    assert marks(turns[0])["error"]["type"].endswith(kind)


def test_words_that_a_lazy_response_cannot_give_are_recorded() -> None:
    from pydantic import BaseModel

    class Number(BaseModel):
        number: int

    def play() -> None:
        asking = Served([CHAT.body]).client("openai").chat.completions.with_streaming_response
        with (
            asking.parse(**CHAT.asked, response_format=Number) as response,
            pytest.raises(ValueError, match="JSON"),
        ):
            response.parse()

    _, turns = recorded(play)
    assert (turns[0].text, marks(turns[0])) == ("Hello", {})


def test_a_reply_that_is_not_json_is_an_error_without_words() -> None:
    def play() -> None:
        with pytest.raises(ValueError, match="Expecting value"):
            Served([b"<html>"]).client("openai").chat.completions.create(**CHAT.asked)

    _, turns = recorded(play)
    assert list(marks(turns[0])) == ["error"]


@pytest.mark.parametrize("value", [b"raw", {1, 2}, object()], ids=["bytes", "set", "object"])
def test_a_value_that_is_not_json_leaves_the_call_on_record(value: Any) -> None:
    def play() -> type[BaseException] | None:
        client = Served([CHAT.body]).client("openai")
        try:
            client.chat.completions.create(
                model="m",
                messages=[{"role": "user", "content": "Hi"}, {"role": "user", "content": value}],
            )
        except TypeError as error:
            return type(error)
        return None

    refused, turns = recorded(play)
    assert turns[0].content[0].type == "media"
    assert marks(turns[1]).get("error", {}).get("type") == (refused and "TypeError")


@pytest.mark.parametrize(
    "choices",
    [[], None, [{"index": 0, "finish_reason": "content_filter", "message": None}]],
    ids=["none", "null", "no message"],
)
def test_a_reply_without_a_message_has_its_model_and_tokens(choices: Any) -> None:
    body = json.dumps({**json.loads(CHAT.body), "choices": choices}).encode()
    client = Served([body]).client("openai")
    found, turns = recorded(lambda: client.chat.completions.create(**CHAT.asked))
    assert found.id == "r1"
    assert (turns[0].text, turns[0].model, turns[0].usage.output_tokens) == ("", "m1", 2)


def test_a_last_chunk_without_a_delta_says_why_it_ended() -> None:
    last = {"choices": [{"index": 0, "delta": None, "finish_reason": "stop"}]}
    turn = _streamed(_delta(content="Hi"), last)
    assert (turn.text, turn.finish_reason) == ("Hi", "stop")


def test_choices_without_a_place_are_the_first() -> None:
    assert _streamed(_delta(content="H"), _delta(None, content="i")).text == "Hi"


def test_content_in_blocks_is_put_together() -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}
    turn = _streamed(
        _delta(content=[thought]),
        _delta(content=[{"type": "text", "text": "Hel"}]),
        _delta(content="lo"),
    )
    assert turn.text == "Hello"
    assert [part.type for part in turn.content] == ["reasoning", "text"]


@pytest.mark.parametrize("place", [0, None])
def test_calls_in_one_place_are_told_apart_by_their_ids(place: int | None) -> None:
    def call(call_id: str | None, name: str | None, arguments: str) -> dict[str, Any]:
        function = {"name": name, "arguments": arguments}
        return {"index": place, "id": call_id, "function": function}

    turn = _streamed(
        _delta(tool_calls=[call("a", "look", '{"at"'), call(None, None, ": 1}")]),
        _delta(tool_calls=[call("b", "go", "{}")]),
    )
    assert [(asked.id, asked.name, asked.arguments) for asked in turn.calls] == [
        ("a", "look", {"at": 1}),
        ("b", "go", {}),
    ]


def test_a_legacy_function_call_is_put_together() -> None:
    turn = _streamed(
        _delta(function_call={"name": "look", "arguments": '{"at"'}),
        _delta(function_call={"arguments": ": 1}"}),
    )
    assert [(asked.name, asked.arguments) for asked in turn.calls] == [("look", {"at": 1})]


def test_blocks_that_were_not_begun_and_citations_are_kept() -> None:
    def delta(index: int, **told: Any) -> bytes:
        return event({"type": "content_block_delta", "index": index, "delta": told})

    cited = {
        "type": "char_location",
        "cited_text": "x",
        "document_index": 0,
        "document_title": None,
        "start_char_index": 0,
        "end_char_index": 1,
    }
    events = [
        MESSAGES.events[0],
        event({"type": "ping"}),
        delta(1, type="text_delta", text="Hello"),
        delta(1, type="citations_delta", citation=cited),
        event({"type": "message_delta", "delta": {"stop_reason": "max_tokens"}}),
    ]
    messages = Served(events).client("anthropic").messages
    _, turns = recorded(lambda: list(messages.create(**MESSAGES.asked, stream=True)))
    assert (turns[0].text, turns[0].finish_reason) == ("Hello", "max_tokens")
    (part,) = turns[0].model_dump()["content"]
    assert part["part"]["citations"][0]["cited_text"] == "x"


@pytest.mark.parametrize("api", [CHAT, RESPONSES, MESSAGES], ids=["chat", "responses", "messages"])
def test_what_a_client_tries_again_is_one_call(api: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    served = Served([api.body], status=500)

    def play() -> str:
        with pytest.raises(Exception, match="500") as caught:
            api.of(served.client(api.provider, retries=2)).create(**api.asked)
        return caught.type.__name__

    kind, turns = recorded(play)
    assert (served.asked, len(turns)) == (3, 1)
    assert marks(turns[0])["error"]["type"].endswith(kind)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("is_stream", [False, True], ids=["json", "events"])
def test_what_ends_the_program_passes(error: type[BaseException], is_stream: bool) -> None:
    parts = CHAT.events[:1] if is_stream else [b"{"]
    raised = error("enough")

    def play() -> BaseException:
        client = Served(parts, error=raised).client("openai")
        with pytest.raises(error) as caught:
            list(client.chat.completions.create(**CHAT.asked, stream=is_stream))
        return caught.value

    value, turns = recorded(play)
    assert value is raised
    assert marks(turns[0])["interrupted"]
    assert turns[0].text == ("Hel" if is_stream else "")


ODD_EVENTS: list[tuple[Any, int, list[Any]]] = [
    (
        CHAT,
        1,
        [
            {"choices": [[1]]},
            {"choices": {"a": 1}},
            {"choices": [{"index": {}, "delta": 5}]},
            {"choices": [{"index": 0, "delta": {"refusal": [1], "tool_calls": [5]}}]},
        ],
    ),
    (
        RESPONSES,
        2,
        [
            {"type": "response.output_text.delta", "delta": 5, "output_index": None},
            {"type": "response.output_item.done", "item": None, "output_index": "x"},
            {"type": {}},
        ],
    ),
    (
        MESSAGES,
        3,
        [
            {"type": "message_start", "message": 7},
            {"type": "content_block_delta", "index": [], "delta": {"type": "text_delta"}},
            {"type": "message_delta", "delta": None, "usage": None},
            {"type": {}},
        ],
    ),
]


@pytest.mark.parametrize(("api", "half", "odd"), ODD_EVENTS, ids=["chat", "responses", "messages"])
def test_odd_events_spoil_nothing_but_themselves(api: Any, half: int, odd: Any) -> None:
    parts = [*map(event, odd), *api.events[:half], *map(event, odd)]
    asking = api.of(Served(parts).client(api.provider)).with_streaming_response

    def play() -> bytes:
        with asking.create(**api.asked, stream=True) as response:
            return b"".join(response.iter_bytes())

    value, turns = recorded(play)
    assert (value, turns[0].text) == (b"".join(parts), "Hel")


def test_a_stream_of_a_message_without_its_beginning_has_its_words() -> None:
    asking = MESSAGES.of(Served(MESSAGES.events[1:]).client("anthropic")).with_streaming_response

    def play() -> None:
        with asking.create(**MESSAGES.asked, stream=True) as response:
            list(response.iter_lines())

    _, turns = recorded(play)
    assert (turns[0].text, turns[0].finish_reason) == ("Hello", "end_turn")


@pytest.mark.parametrize("is_stream", [False, True], ids=["json", "events"])
def test_a_response_that_failed_says_why(is_stream: bool) -> None:
    error = {"code": "server_error", "message": "no"}
    body = {**json.loads(RESPONSES.body), "status": "failed", "error": error, "output": []}
    failed = event({"type": "response.failed", "response": body})
    parts = [*RESPONSES.events[:3], failed] if is_stream else [json.dumps(body).encode()]
    responses = Served(parts).client("openai").responses
    _, turns = recorded(lambda: list(responses.create(**RESPONSES.asked, stream=is_stream)))
    assert marks(turns[0]) == {"error": {"type": "server_error", "message": "no"}}
    assert turns[0].text == ("Hello" if is_stream else "")

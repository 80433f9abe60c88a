"""Streamed replies: the same body, the same place in a cache, the same reading."""

from __future__ import annotations

import asyncio
import json
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.llm.contexts import CONTEXT, MESSAGES, TOOLS
from tests.support.scripted_models import APIS, Answer, saying, scripted_models
from tests.support.scripted_streams import as_stream, event, events_of, streamed
from tracedance_sdk.cli import run
from tracedance_sdk.llm import (
    Asker,
    ProviderModel,
    Question,
    Reply,
    ReplyCache,
    Settings,
    chat_model,
)


def complete(api: str, answer: Answer, **options: Any) -> Reply:
    async def work() -> Reply:
        model = chat_model(server.name(api), **{"timeout_s": 5, "retries": 0, **options})
        try:
            return await model.complete(CONTEXT, tools=TOOLS, settings=Settings())
        finally:
            await model.close()  # type: ignore[union-attr]  # no recorded model

    with scripted_models(lambda *_: answer) as server, warnings.catch_warnings():
        warnings.simplefilter("error")
        return asyncio.run(work())


BODIES: dict[str, tuple[Any, ...]] = {
    "text": ("Done and well.",),
    "long text": ("word " * 500,),
    "signs": ("a\r\nb\u2028c\u0000 \U0001f600 data: x\n\n",),
    "a call": (None, ("look", '{"at": "sky"}')),
    "text and two calls": ("So.", ("look", '{"at": "sky"}'), ("fly", '{"far": [1, 2.5, null]}')),
    "a call of nothing": (None, ("look", "{}")),
    "nothing": (None,),
}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("api", APIS)
def test_a_stream_adds_up_to_the_very_body_of_the_api(api: str, name: str) -> None:
    body = saying(api, *BODIES[name])
    reply = complete(api, streamed(api, body), stream=True)
    assert reply.raw == body
    assert reply == complete(api, Answer(body), stream=False)


@pytest.mark.parametrize("api", APIS)
@settings(max_examples=15, deadline=None)
@given(
    st.text(min_size=1),
    st.dictionaries(
        st.text(), st.integers(-(2**63), 2**63 - 1) | st.text() | st.none(), max_size=3
    ),
)
def test_whatever_is_said_streams_to_the_same_body(
    api: str, text: str, arguments: dict[str, Any]
) -> None:
    body = saying(api, text, ("look", json.dumps(arguments)))
    assert complete(api, streamed(api, body), stream=True).raw == body


@pytest.mark.parametrize("api", APIS)
def test_streamed_replies_lie_where_others_do(api: str, tmp_path: Path) -> None:
    async def ask(name: str, stream: bool) -> Reply:
        asker = Asker(chat_model(name, stream=stream), cache=ReplyCache(tmp_path, name))
        try:
            return await asker.ask(Question(CONTEXT, TOOLS))
        finally:
            await asker.close()

    with scripted_models(lambda *_: streamed(api, saying(api))) as server:
        fresh = asyncio.run(ask(server.name(api), stream=True))
        again = asyncio.run(ask(server.name(api), stream=False))
    assert len(server.requests) == 1
    assert again == fresh._replace(cached=True)
    assert server.requests[0].body["stream"] is True


@pytest.mark.parametrize("written", ['{"at": "sk', '{"at": "sky"', '{"at" "sky"}', "[1]", "sky"])
@pytest.mark.parametrize("api", APIS)
def test_broken_arguments_are_not_mended(api: str, written: str) -> None:
    body = saying(api, "So.", ("look", "{}"))
    if api == "anthropic":
        body["content"][1]["input"] = written
    elif api == "openai":
        body["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] = written
    else:
        body["output"][1]["arguments"] = written
    reply = complete(api, streamed(api, body), stream=True)
    assert reply.missing is not None
    assert reply.missing.kind == "unparsable"


@pytest.mark.parametrize("api", APIS)
def test_a_stream_that_never_ends_ends_at_the_deadline(api: str) -> None:
    events = events_of(api, saying(api, "word " * 9))
    answer = as_stream(events[:3], endless=events[2])
    begun = time.monotonic()
    reply = complete(api, answer, stream=True, timeout_s=0.5)
    assert str(reply.missing) == "error: no reply in time"
    assert time.monotonic() - begun < 5


@pytest.mark.parametrize("api", APIS)
def test_a_whole_reply_counts_though_the_stream_stays_open(api: str) -> None:
    answer = as_stream(events_of(api, saying(api)), endless=b": still here\n\n")
    reply = complete(api, answer, stream=True, timeout_s=20)
    assert reply.missing is None
    assert reply.raw == saying(api)


def test_usage_counts_wherever_it_stands_in_a_chat_stream() -> None:
    body = saying("openai", "Done and well.")
    *events, usage, done = events_of("openai", body)
    reply = complete("openai", as_stream([*events[:3], usage, *events[3:], done]), stream=True)
    assert reply.raw == body


def test_a_chat_stream_without_usage_is_a_reply_of_unknown_cost() -> None:
    *events, _, done = events_of("openai", saying("openai"))
    reply = complete("openai", as_stream([*events, done]), stream=True)
    assert (reply.missing, reply.usage) == (None, None)


def test_a_role_in_every_chunk_is_one_role() -> None:
    chunk = {"object": "chat.completion.chunk", "model": "m"}
    events = [
        event(
            {
                **chunk,
                "choices": [
                    {
                        "index": 0,
                        "delta": {"role": "assistant", "content": word},
                        "finish_reason": end,
                    }
                ],
            }
        )
        for word, end in [("So ", None), ("it is.", "stop")]
    ]
    reply = complete("openai", as_stream(events), stream=True)
    assert reply.turn is not None
    assert reply.turn.text == "So it is."
    assert isinstance(reply.raw, dict)
    assert reply.raw["choices"][0]["message"]["role"] == "assistant"


OFFICIAL = "anthropic:m"


@pytest.mark.parametrize(
    ("name", "cap", "stream", "is_streamed"),
    [
        (OFFICIAL, 32_768, None, True),
        (OFFICIAL, 21_334, None, True),
        (OFFICIAL, 21_333, None, False),
        (OFFICIAL, 32_768, False, False),
        (OFFICIAL, 9, True, True),
        ("anthropic:m@http://127.0.0.1:1", 32_768, None, False),
        ("openai:m", 32_768, None, False),
        ("openai-responses:m", 32_768, None, False),
        ("openai:m", 9, True, True),
    ],
)
def test_replies_are_streamed_where_the_sdk_insists_or_one_asks(
    name: str, cap: int, stream: bool | None, is_streamed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(variable, "k")
    model = chat_model(name, stream=stream)
    assert isinstance(model, ProviderModel)
    request = model.request(CONTEXT, tools=TOOLS, settings=Settings(max_output_tokens=cap))
    assert model.is_streamed(request) is is_streamed


def test_the_sdk_insists_on_streams_from_this_number_of_tokens_on() -> None:
    import anthropic

    client = anthropic.AsyncAnthropic(api_key="k", base_url="http://127.0.0.1:1", max_retries=0)

    async def create(cap: int) -> None:
        await client.messages.create(model="m", max_tokens=cap, messages=[])

    with pytest.raises(ValueError, match="Streaming is required"):
        asyncio.run(create(21_334))
    with pytest.raises(anthropic.APIConnectionError):
        asyncio.run(create(21_333))


@pytest.mark.parametrize("option", ["--stream", "--no-stream"])
def test_the_command_streams_when_asked(option: str, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps([*MESSAGES, {"role": "assistant", "content": "Clouds."}]))
    is_streamed, body = option == "--stream", saying("openai")
    answer = streamed("openai", body) if is_streamed else Answer(body)
    with scripted_models(lambda *_: answer) as server:
        command = ("next-turn", str(path), "--model", server.name("openai"), option)
        assert run([*command, "--out", str(tmp_path / "out")]) == 0
    assert ("stream" in server.requests[0].body) is is_streamed

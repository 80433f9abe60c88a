"""Kinds of the models' clients, and ways to hold and use one."""

from __future__ import annotations

import asyncio
import contextvars
import copy
import importlib
import os
import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest

import tracedance_sdk as td
from tests.frameworks.served_bodies import CHAT, MESSAGES, RESPONSES, Api, Served, marks, recorded

pytestmark = [pytest.mark.needs("openai", "anthropic"), pytest.mark.filterwarnings("error")]

KINDS = pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])
APIS = pytest.mark.parametrize(
    "api", [CHAT, RESPONSES, MESSAGES], ids=["chat", "responses", "messages"]
)


def _install() -> None:
    from tracedance_integrations import anthropic as td_anthropic
    from tracedance_integrations import openai as td_openai

    td_openai.install()
    td_anthropic.install()


@pytest.fixture(autouse=True)
def _installed() -> Iterator[None]:
    from tracedance_integrations import anthropic as td_anthropic
    from tracedance_integrations import openai as td_openai

    _install()
    yield
    td_anthropic.uninstall()
    td_openai.uninstall()


def _azure(prefix: str) -> Any:
    kind = getattr(importlib.import_module("openai"), f"{prefix}AzureOpenAI")
    return partial(kind, api_key="fake", api_version="v", azure_endpoint="http://127.0.0.1")


def _vertex(prefix: str) -> Any:
    kind = getattr(importlib.import_module("anthropic"), f"{prefix}AnthropicVertex")
    return partial(kind, project_id="p", region="r", access_token="fake")


def _play(api: Api, found: Any, *, is_async: bool, is_stream: bool) -> None:
    """Ask, and read what comes."""

    async def play() -> None:
        reply = await found.create(**api.asked, stream=is_stream)
        if is_stream:
            assert [piece async for piece in reply]

    if is_async:
        asyncio.run(play())
        return
    reply = found.create(**api.asked, stream=is_stream)
    assert not is_stream or list(reply)


@KINDS
@pytest.mark.parametrize("is_stream", [False, True], ids=["json", "events"])
@pytest.mark.parametrize(
    ("api", "path", "make"),
    [
        (CHAT, "chat.completions", _azure),
        (RESPONSES, "responses", _azure),
        (MESSAGES, "messages", _vertex),
        (MESSAGES, "beta.messages", _vertex),
    ],
    ids=["azure chat", "azure responses", "vertex", "vertex beta"],
)
def test_clients_of_other_clouds_are_recorded(
    api: Api, path: str, make: Any, is_async: bool, is_stream: bool
) -> None:
    served = Served(api.events if is_stream else [api.body])
    made = make("Async" if is_async else "")
    client = served.client(api.provider, is_async=is_async, made=made)
    found = api._replace(path=path).of(client)
    _, turns = recorded(lambda: _play(api, found, is_async=is_async, is_stream=is_stream))
    assert [(turn.text, marks(turn)) for turn in turns] == [("Hello", {})]


@KINDS
@pytest.mark.parametrize("is_stream", [False, True], ids=["json", "events"])
def test_responses_in_beta_are_recorded(is_async: bool, is_stream: bool) -> None:
    pytest.importorskip("openai.resources.beta.responses")
    client = Served(RESPONSES.events if is_stream else [RESPONSES.body]).client(
        "openai", is_async=is_async
    )
    _, turns = recorded(
        lambda: _play(RESPONSES, client.beta.responses, is_async=is_async, is_stream=is_stream)
    )
    assert [(turn.text, marks(turn)) for turn in turns] == [("Hello", {})]


def test_classes_that_copy_methods_are_hooked_and_given_back() -> None:
    from anthropic.lib.bedrock import _beta_messages as bedrock
    from anthropic.lib.vertex import _beta_messages as vertex
    from tracedance_integrations import anthropic as td_anthropic

    owners = [bedrock.Messages, bedrock.AsyncMessages, vertex.Messages, vertex.AsyncMessages]
    hooked = [vars(owner)["create"] for owner in owners]
    assert all(hasattr(method, "__wrapped__") for method in hooked)
    td_anthropic.uninstall()
    assert [vars(owner)["create"] for owner in owners] == [m.__wrapped__ for m in hooked]


@APIS
def test_a_client_made_before_and_what_was_taken_of_it_since_are_recorded(api: Api) -> None:
    from tracedance_integrations import anthropic as td_anthropic
    from tracedance_integrations import openai as td_openai

    td_anthropic.uninstall()
    td_openai.uninstall()
    client = Served([api.body]).client(api.provider)
    found = api.of(client)
    _install()
    _, turns = recorded(lambda: found.create(**api.asked))
    assert [turn.text for turn in turns] == ["Hello"]


@APIS
def test_a_client_is_configured_and_copied_as_before(api: Api) -> None:
    client = Served([api.body]).client(api.provider)
    others = [client.with_options(max_retries=1), client.copy(), copy.copy(client)]
    _, turns = recorded(lambda: [api.of(other).create(**api.asked) for other in others])
    assert [turn.text for turn in turns] == ["Hello"] * 3


@APIS
def test_what_a_subclass_does_is_its_own_and_what_it_asks_is_recorded(api: Api) -> None:
    client = Served([api.body]).client(api.provider)
    kind = type(api.of(client))

    class Polite(kind):  # type: ignore[misc,valid-type]
        def create(self, **given: Any) -> Any:
            return super().create(**given)

    class Silent(kind):  # type: ignore[misc,valid-type]
        def create(self, **_: Any) -> str:
            return "nothing"

    _, turns = recorded(lambda: Polite(client).create(**api.asked))
    assert [turn.text for turn in turns] == ["Hello"]
    value, turns = recorded(lambda: Silent(client).create(**api.asked))
    assert (value, turns) == ("nothing", [])


@APIS
def test_replies_and_methods_are_pickled_and_copied_as_before(api: Api) -> None:
    found = api.of(Served([api.body]).client(api.provider))
    reply, _ = recorded(lambda: found.create(**api.asked))
    assert pickle.loads(pickle.dumps(reply)) == copy.deepcopy(reply) == reply
    method = type(found).create
    assert pickle.loads(pickle.dumps(method)) is method


@APIS
def test_threads_each_have_their_turns(api: Api) -> None:
    found = api.of(Served([api.body]).client(api.provider))

    def play() -> int:
        with ThreadPoolExecutor(8) as pool:
            asked = [
                pool.submit(contextvars.copy_context().run, partial(found.create, **api.asked))
                for _ in range(24)
            ]
            return len([each.result() for each in asked])

    value, turns = recorded(play)
    assert value == 24
    assert [turn.text for turn in turns if turn.role == "assistant"] == ["Hello"] * 24


@APIS
def test_an_async_client_in_several_loops_is_recorded_in_each(api: Api) -> None:
    found = api.of(Served([api.body]).client(api.provider, is_async=True))

    async def play() -> None:
        await found.create(**api.asked)

    _, turns = recorded(lambda: [asyncio.run(play()) for _ in range(3)])
    assert [turn.text for turn in turns if turn.role == "assistant"] == ["Hello"] * 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_process_asks_as_without_us() -> None:
    found = CHAT.of(Served([CHAT.body]).client("openai"))

    def play() -> int:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                code = 7 if found.create(**CHAT.asked).id == "r1" else 2
            finally:
                os._exit(code)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    value, turns = recorded(play)
    assert (value, turns) == (7, [])


def test_a_stream_nobody_finishes_ends_with_the_run_and_is_read_on_as_before() -> None:
    with td.TraceRecorder() as recorder:
        stream = CHAT.of(Served(CHAT.events).client("openai")).create(**CHAT.asked, stream=True)
        next(stream)
    turn = recorder.trace.turns[-1]
    assert (turn.text, marks(turn)) == ("Hel", {"interrupted": True})
    assert len(list(stream)) == 3
    assert recorder.close().faults == {}

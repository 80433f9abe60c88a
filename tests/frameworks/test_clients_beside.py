"""Others who put something around the models' clients too, in any order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.frameworks.served_bodies import CHAT, MESSAGES, RESPONSES, Api, Served, marks, recorded

pytestmark = [
    pytest.mark.needs("openai", "anthropic"),
    # OpenInference calls an async response's `parse` and never awaits it, without us too.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:coroutine:RuntimeWarning"),
]

APIS = pytest.mark.parametrize(
    "api", [CHAT, RESPONSES, MESSAGES], ids=["chat", "responses", "messages"]
)
KINDS = pytest.mark.parametrize("is_async", [False, True], ids=["plain", "async"])


def _install() -> None:
    from tracedance_integrations import anthropic as td_anthropic
    from tracedance_integrations import openai as td_openai

    td_openai.install()
    td_anthropic.install()


@pytest.fixture(autouse=True)
def _taken_out() -> Iterator[None]:
    yield
    from tracedance_integrations import anthropic as td_anthropic
    from tracedance_integrations import openai as td_openai

    td_anthropic.uninstall()
    td_openai.uninstall()


def _trace() -> Callable[[], None]:
    """Put OpenInference's tracing in, and return what takes it out."""
    openai = pytest.importorskip("openinference.instrumentation.openai")
    anthropic = pytest.importorskip("openinference.instrumentation.anthropic")
    from opentelemetry.sdk.trace import TracerProvider

    tracers = (openai.OpenAIInstrumentor(), anthropic.AnthropicInstrumentor())
    for tracer in tracers:
        tracer.instrument(tracer_provider=TracerProvider())

    def undo() -> None:
        for tracer in tracers:
            tracer.uninstrument()

    return undo


def _read(api: Api, *, is_async: bool, is_lazy: bool = False) -> int:
    """Return how many pieces come."""
    found = api.of(Served(api.events).client(api.provider, is_async=is_async))
    given = {**api.asked, "stream": True}
    if not is_async and not is_lazy:
        return len(list(found.create(**given)))
    if not is_async:
        with found.with_streaming_response.create(**given) as response:
            return len(list(response.iter_lines()))

    async def play() -> int:
        if not is_lazy:
            return len([piece async for piece in await found.create(**given)])
        async with found.with_streaming_response.create(**given) as response:
            return len([line async for line in response.iter_lines()])

    return asyncio.run(play())


@APIS
@KINDS
@pytest.mark.parametrize("is_lazy", [False, True], ids=["stream", "lines"])
@pytest.mark.parametrize("is_first", [False, True], ids=["after us", "before us"])
def test_streams_that_are_traced_too_are_recorded(
    api: Api, is_async: bool, is_lazy: bool, is_first: bool
) -> None:
    bare = _read(api, is_async=is_async, is_lazy=is_lazy)
    if not is_first:
        _install()
    undo = _trace()
    try:
        if is_first:
            _install()
        value, turns = recorded(lambda: _read(api, is_async=is_async, is_lazy=is_lazy))
    finally:
        undo()
    assert value == bare
    assert [(turn.text, marks(turn)) for turn in turns] == [("Hello", {})]


def _patched(is_async: bool) -> Any:
    """Return the method of a client that passes its streams on by a generator of its own."""
    from openai.resources.chat.completions import AsyncCompletions, Completions

    before: Any = AsyncCompletions.create if is_async else Completions.create

    def passed_on(self: Any, **given: Any) -> Iterator[Any]:
        return (piece for piece in before(self, **given))

    async def passed_on_async(self: Any, **given: Any) -> Any:
        stream = await before(self, **given)
        return (piece async for piece in stream)

    return passed_on_async if is_async else passed_on


@KINDS
@pytest.mark.parametrize("is_first", [False, True], ids=["after us", "before us"])
def test_streams_that_somebody_passes_on_are_recorded(
    is_async: bool, is_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from openai.resources.chat.completions import AsyncCompletions, Completions

    if not is_first:
        _install()
    owner = AsyncCompletions if is_async else Completions
    with monkeypatch.context() as patch:
        patch.setattr(owner, "create", _patched(is_async))
        if is_first:
            _install()
        value, turns = recorded(lambda: _read(CHAT, is_async=is_async))
        _taken_out_now()
    assert value == len(CHAT.events) - 1
    assert [(turn.text, marks(turn)) for turn in turns] == [("Hello", {})]


def _taken_out_now() -> None:
    from tracedance_integrations import openai as td_openai

    td_openai.uninstall()


def test_what_somebody_gives_in_the_place_of_a_reply_is_not_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from openai.resources.chat.completions import Completions

    with monkeypatch.context() as patch:
        patch.setattr(Completions, "create", lambda _, **__: "words")
        _install()
        client = Served([]).client("openai")
        value, turns = recorded(lambda: client.chat.completions.create(**CHAT.asked))
        _taken_out_now()
    assert (value, marks(turns[0])) == ("words", {"not_seen": True})


def test_what_others_had_saved_of_us_does_nothing_once_we_are_out() -> None:
    from openai.resources.chat.completions import Completions

    before = vars(Completions)["create"]
    _install()
    saved = Completions.create
    _taken_out_now()
    try:
        setattr(Completions, "create", saved)  # noqa: B010  # as others do
        client = Served([CHAT.body]).client("openai")
        _, turns = recorded(lambda: client.chat.completions.create(**CHAT.asked))
        assert turns == []
    finally:
        setattr(Completions, "create", before)  # noqa: B010  # as above


def test_hooks_that_somebody_took_out_are_back_after_installing_again() -> None:
    from anthropic.resources.messages import Messages
    from tracedance_integrations import anthropic as td_anthropic

    saved = vars(Messages)["create"]
    _install()
    hooked = vars(Messages)["create"]
    setattr(Messages, "create", saved)  # noqa: B010  # as others do when they are taken out
    client = Served([MESSAGES.body]).client("anthropic")
    assert recorded(lambda: client.messages.create(**MESSAGES.asked))[1] == []
    td_anthropic.uninstall()
    td_anthropic.install()
    assert vars(Messages)["create"] is not hooked
    _, turns = recorded(lambda: client.messages.create(**MESSAGES.asked))
    assert [turn.text for turn in turns] == ["Hello"]
    td_anthropic.uninstall()
    assert vars(Messages)["create"] is saved

"""Streams that break off in the midst of a reply: what had come is on record, and the error."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import tracedance_sdk as td
from tracedance_sdk.testing import Endpoint, Scene, Step, scripted_models

cell = pytest.mark.cell
SCENE = Scene(
    "clerk", "You are the clerk.", "Hello?", (), (Step("Good morning.", breaks_off=True),)
)
HALF = "Good m"
BROKEN = r"peer closed|Connection error|incomplete"


def broken_turn(recorder: td.TraceRecorder) -> Any:
    """Return the turn of the reply that broke off."""
    turns = [turn for trace in recorder.traces for turn in trace.turns]
    assert [turn.role for turn in turns] == ["user", "assistant"]
    assert not recorder.close().faults
    return turns[1]


def check(recorder: td.TraceRecorder) -> None:
    turn = broken_turn(recorder)
    assert turn.text == HALF
    assert turn.error is not None
    assert turn.error.type.endswith(("RemoteProtocolError", "ConnectionError", "ModelAPIError"))


needs_langchain = pytest.mark.needs("langchain", "langgraph", "langchain_openai")


def chat(endpoint: Endpoint, **of: Any) -> Any:
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(
        model="scripted", base_url=endpoint.openai_url, api_key="fake", max_retries=0, **of
    )


def claude(endpoint: Endpoint, **of: Any) -> Any:
    anthropic = pytest.importorskip("langchain_anthropic")
    return anthropic.ChatAnthropic(
        model="scripted", base_url=endpoint.url, api_key="fake", max_retries=0, **of
    )


def graph(model: Any) -> Any:
    from langchain_core.messages import SystemMessage
    from langchain_core.runnables import RunnableLambda
    from langgraph.graph import START, MessagesState, StateGraph

    def given(state: MessagesState) -> Any:
        return [SystemMessage(SCENE.system), *state["messages"]]

    def ask(state: MessagesState) -> Any:
        return {"messages": [model.invoke(given(state))]}

    async def ask_async(state: MessagesState) -> Any:
        return {"messages": [await model.ainvoke(given(state))]}

    built = StateGraph(MessagesState)
    built.add_node("ask", RunnableLambda(ask, afunc=ask_async))
    built.add_edge(START, "ask")
    return built.compile(name="clerk")


def created(model: Any) -> Any:
    from langchain.agents import create_agent

    return create_agent(model, [], system_prompt=SCENE.system, name="clerk")


ASKED = {"messages": [("user", SCENE.user)]}


def read(agent: Any) -> None:
    list(agent.stream(ASKED, stream_mode="messages"))


def read_async(agent: Any) -> None:
    async def play() -> None:
        async for _ in agent.astream(ASKED, stream_mode="messages"):
            pass

    asyncio.run(play())


def read_events(agent: Any) -> None:
    async def play() -> None:
        async for _ in agent.astream_events(ASKED, version="v2"):
            pass

    asyncio.run(play())


def read_v3(agent: Any) -> None:
    if not hasattr(agent, "_pregel_stream_v3"):
        pytest.skip("this version of langgraph has no such events")
    run = agent.stream_events(ASKED, version="v3")
    for message in run.messages:
        str(message.text)
    assert run.output


def read_v3_async(agent: Any) -> None:
    if not hasattr(agent, "_apregel_stream_v3"):
        pytest.skip("this version of langgraph has no such events")

    async def play() -> None:
        async for _ in await agent.astream_events(ASKED, version="v3"):
            pass

    asyncio.run(play())


@needs_langchain
@cell("langgraph", "streaming")
@pytest.mark.installs("langchain")
@pytest.mark.filterwarnings("ignore:.*(is in beta|is experimental)", "ignore::DeprecationWarning")
@pytest.mark.parametrize("build", [graph, created])
@pytest.mark.parametrize("model", [chat, claude])
@pytest.mark.parametrize("way", [read, read_async, read_events, read_v3, read_v3_async])
def test_words_that_had_come_inside_a_graph_are_on_record(
    build: Callable[[Any], Any], model: Callable[[Endpoint], Any], way: Callable[[Any], None]
) -> None:
    with (
        scripted_models(SCENE) as endpoint,
        td.TraceRecorder() as recorder,
        pytest.raises(Exception, match=BROKEN),
    ):
        way(build(model(endpoint)))
    check(recorder)


@needs_langchain
@cell("langchain", "streaming", package="langchain")
@pytest.mark.installs("langchain")
@pytest.mark.filterwarnings("ignore:.*(is in beta|is experimental)", "ignore::DeprecationWarning")
@pytest.mark.parametrize("way", ["streaming by itself", "v3"])
def test_words_that_had_come_from_a_model_that_was_asked_alone_are_on_record(way: str) -> None:
    asked = [("system", SCENE.system), ("user", SCENE.user)]

    def play(model: Any) -> None:
        if way != "v3":
            model.invoke(asked)
        elif hasattr(model, "_iter_v2_events"):
            str(model.stream_events(asked, version="v3").text)
        else:
            pytest.skip("this version of langchain-core has no such events")

    with (
        scripted_models(SCENE) as endpoint,
        td.TraceRecorder() as recorder,
        pytest.raises(Exception, match=BROKEN),
    ):
        play(chat(endpoint, streaming=True))
    check(recorder)


@needs_langchain
@cell("langgraph", "cancellation")
@pytest.mark.installs("langchain")
def test_words_that_had_come_before_a_graph_was_cancelled_are_on_record() -> None:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessageChunk
    from langchain_core.outputs import ChatGenerationChunk

    class Slow(BaseChatModel):  # type: ignore[misc]  # not installed everywhere
        @property
        def _llm_type(self) -> str:
            return "slow"

        def _generate(self, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

        async def _astream(self, *_: Any, **__: Any) -> Any:
            yield ChatGenerationChunk(message=AIMessageChunk(HALF))
            await asyncio.sleep(60)

    async def play() -> None:
        came = asyncio.Event()

        async def listen() -> None:
            async for _ in graph(Slow()).astream(ASKED, stream_mode="messages"):
                came.set()

        listening = asyncio.create_task(listen())
        await asyncio.wait_for(came.wait(), 20)
        listening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await listening

    with td.TraceRecorder() as recorder:
        asyncio.run(play())
    turn = broken_turn(recorder)
    assert (turn.text, turn.interrupted) == (HALF, True)


@pytest.mark.needs("agents")
@pytest.mark.installs("openai_agents")
@cell("openai-agents", "streaming")
@pytest.mark.parametrize("api", ["chat", "responses"])
def test_words_that_had_come_to_an_agent_of_openais_sdk_are_on_record(api: str) -> None:
    import agents
    from openai import AsyncOpenAI

    async def play(url: str) -> None:
        async with AsyncOpenAI(base_url=url, api_key="fake", max_retries=0) as client:
            kind = {
                "chat": agents.OpenAIChatCompletionsModel,
                "responses": agents.OpenAIResponsesModel,
            }[api]
            model = kind(model="scripted", openai_client=client)
            clerk = agents.Agent(name="clerk", instructions=SCENE.system, model=model)
            async for _ in agents.Runner.run_streamed(clerk, SCENE.user).stream_events():
                pass

    agents.set_tracing_disabled(True)
    with (
        scripted_models(SCENE) as endpoint,
        td.TraceRecorder() as recorder,
        pytest.raises(Exception, match=BROKEN),
    ):
        asyncio.run(play(endpoint.openai_url))
    check(recorder)


@pytest.mark.needs("pydantic_ai", "openai")
@pytest.mark.installs("pydantic_ai")
@cell("pydantic-ai", "streaming")
@pytest.mark.parametrize("api", ["chat", "responses"])
def test_words_that_had_come_to_an_agent_of_pydantic_ai_are_on_record(api: str) -> None:
    from openai import AsyncOpenAI
    from pydantic_ai import Agent
    from pydantic_ai.models import openai as models
    from pydantic_ai.providers.openai import OpenAIProvider

    async def play(url: str) -> None:
        async with AsyncOpenAI(base_url=url, api_key="fake", max_retries=0) as client:
            kind = models.OpenAIChatModel if api == "chat" else models.OpenAIResponsesModel
            model = kind("scripted", provider=OpenAIProvider(openai_client=client))
            clerk: Any = Agent(model, instructions=SCENE.system, name="clerk")
            async with clerk.run_stream(SCENE.user) as result:
                async for _ in result.stream_text():
                    pass

    with (
        scripted_models(SCENE) as endpoint,
        td.TraceRecorder() as recorder,
        pytest.raises(Exception, match=BROKEN),
    ):
        asyncio.run(play(endpoint.openai_url))
    check(recorder)

"""Tools that fail, recorded and then answered from the record: the model sees the same words.

Each agent catches failures in a way of its framework's, and goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tracedance_sdk as td
from tracedance_sdk.recording import AskedCall, GivenAnswer, answers_from
from tracedance_sdk.testing import Endpoint, Scene, Step, scripted_models
from tracedance_sdk.trace import Trace

cell = pytest.mark.cell

USES: list[str] = []
"""What the code of the tools was used for."""


class SoldOut(Exception):
    """An error of the program's own, which keeps more than its text."""

    def __init__(self, item: str, left: int) -> None:
        super().__init__(item, left)
        self.item = item

    def __str__(self) -> str:
        return f"no {self.item} left"


FAILURES: dict[str, Callable[[str], Any]] = {}


def failing(function: Callable[[str], Any]) -> Callable[[str], Any]:
    FAILURES[function.__name__] = function
    return function


@failing
def plain(item: str) -> Any:
    raise RuntimeError(f"no {item} here")


@failing
def missing_key(item: str) -> Any:
    raise KeyError(item)


@failing
def missing_file(item: str) -> Any:
    raise FileNotFoundError(2, "No such file or directory", f"/{item}.txt")


@failing
def own(item: str) -> Any:
    raise SoldOut(item, 0)


@failing
def wordless(item: str) -> Any:
    raise ValueError


@failing
def refused_inside(item: str) -> Any:
    from pydantic import TypeAdapter

    TypeAdapter(int).validate_python(item)


class Recorded:
    """Answers every call with what is on record of it."""

    def __init__(self, trace: Trace) -> None:
        self._calls = list(trace.actions)

    def answer(self, asked: AskedCall, /) -> GivenAnswer:
        call = self._calls.pop(0)
        assert (call.name, call.arguments) == (asked.name, asked.arguments)
        assert call.result is not None
        return GivenAnswer(call.result)


def scene(**arguments: Any) -> Scene:
    steps = (Step(None, (("order", arguments or {"item": "hat"}),)), Step("It failed."))
    return Scene("clerk", "You are the clerk.", "Order!", (), steps)


def order_of(name: str) -> Callable[[str], Any]:
    """Return a tool that fails in the way of that name."""

    def order(item: str) -> str:
        """Order something."""
        USES.append(item)
        return str(FAILURES[name](item))

    return order


def check(run: Callable[[Endpoint], object], play: Scene, *, is_used: bool = True) -> Trace:
    """Record a run and replay it: compare what the model was sent, and what is on record."""
    USES.clear()
    with scripted_models(play) as endpoint, td.TraceRecorder() as recorder:
        run(endpoint)
    first = recorder.trace
    (call,) = first.actions
    assert call.result is not None
    assert (call.result.ok, bool(USES)) == (False, is_used)
    assert call.result.error is not None
    USES.clear()
    with (
        scripted_models(play) as again,
        td.TraceRecorder() as replayed,
        answers_from(Recorded(first)),
    ):
        run(again)
    assert USES == []
    assert again.requests == endpoint.requests
    assert len(again.requests) == 2
    assert [c.result for c in replayed.trace.actions] == [call.result]
    assert not recorder.close().faults
    assert not replayed.close().faults
    return first


def check_end(run: Callable[[Endpoint], object]) -> None:
    """Record a run that a failure ends, and replay it: compare the exceptions."""
    with scripted_models(scene()) as endpoint, td.TraceRecorder() as recorder:
        end = _end_of(run, endpoint)
    with (
        scripted_models(scene()) as endpoint,
        td.TraceRecorder() as again,
        answers_from(Recorded(recorder.trace)),
    ):
        assert _end_of(run, endpoint) == end
    assert end is not None
    assert [c.result for c in again.trace.calls] == [c.result for c in recorder.trace.calls]


def _end_of(run: Callable[[Endpoint], object], endpoint: Endpoint) -> tuple[str, str] | None:
    try:
        run(endpoint)
    except Exception as error:  # noqa: BLE001
        return type(error).__name__, str(error)
    return None


@pytest.fixture
def langchain() -> Iterator[None]:
    from tracedance_integrations import langchain as td_langchain

    td_langchain.install()
    yield
    td_langchain.uninstall()


langchain_test = pytest.mark.usefixtures("langchain")
needs_langchain = pytest.mark.needs("langchain", "langgraph", "langchain_openai")
ignoring = pytest.mark.filterwarnings("ignore::DeprecationWarning")


ASKED = {"messages": [("user", "Order!")]}


def graph(tool: Any, **of: Any) -> Callable[[Any], Any]:
    """Return what builds a graph with a node of tools, around a model."""

    def build(model: Any) -> Any:
        from langchain_core.messages import SystemMessage
        from langgraph.graph import START, MessagesState, StateGraph
        from langgraph.prebuilt import ToolNode, tools_condition

        bound = model.bind_tools([tool])

        def ask(state: MessagesState) -> Any:
            said = bound.invoke([SystemMessage("You are the clerk."), *state["messages"]])
            return {"messages": [said]}

        built = StateGraph(MessagesState)
        built.add_node("ask", ask)
        built.add_node("tools", ToolNode([tool], **of))
        built.add_edge(START, "ask")
        built.add_conditional_edges("ask", tools_condition)
        built.add_edge("tools", "ask")
        return built.compile(name="clerk")

    return build


def used(build: Callable[[Any], Any], way: str) -> Callable[[Endpoint], object]:
    """Return what builds an agent and asks it."""

    def run(endpoint: Endpoint) -> object:
        return build(chat(endpoint)).invoke(ASKED)

    def run_async(endpoint: Endpoint) -> object:
        return asyncio.run(wait(endpoint))

    async def wait(endpoint: Endpoint) -> object:
        httpx = pytest.importorskip("httpx")

        async with httpx.AsyncClient() as client:
            return await build(chat(endpoint, http_async_client=client)).ainvoke(ASKED)

    return run if way == "sync" else run_async


def chat(endpoint: Endpoint, **of: Any) -> Any:
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(
        model="scripted", base_url=endpoint.openai_url, api_key="fake", max_retries=0, **of
    )


def as_tool(function: Any) -> Any:
    from langchain_core.tools import tool

    return tool(function)


def _in_words(error: Exception) -> str:
    return f"{type(error).__name__}: {error.args} {error}"


@needs_langchain
@langchain_test
@ignoring
@cell("langgraph", "replay")
@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize("told", [True, "It failed.", _in_words], ids=["repr", "text", "function"])
@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_that_a_node_of_tools_catches_is_told_in_the_same_words(
    name: str, told: Any, way: str
) -> None:
    check(used(graph(as_tool(order_of(name)), handle_tool_errors=told), way), scene())


@needs_langchain
@langchain_test
@ignoring
@cell("langgraph", "replay")
@pytest.mark.parametrize("way", ["sync", "async"])
def test_arguments_that_a_node_of_tools_refuses_are_refused_in_the_same_words(way: str) -> None:
    play = scene(item=[1, 2])
    first = check(used(graph(as_tool(order_of("plain"))), way), play, is_used=False)
    (call,) = first.actions
    assert call.result is not None
    assert call.result.error is not None
    assert call.result.error.type.endswith("ValidationError")


@needs_langchain
@langchain_test
@ignoring
@cell("langchain", "replay", package="langchain")
@pytest.mark.parametrize("way", ["sync", "async"])
@pytest.mark.parametrize(
    ("name", "by"),
    # Of an error of one's own, only its text is on record.
    [(name, by) for name in FAILURES for by in ("own", "retries") if (name, by) != ("own", "own")],
)
def test_a_failure_that_middleware_catches_is_told_in_the_same_words(
    name: str, by: str, way: str
) -> None:
    def build(model: Any) -> Any:
        from langchain.agents import create_agent

        return create_agent(
            model,
            [as_tool(order_of(name))],
            system_prompt="You are the clerk.",
            middleware=[_caught() if by == "own" else _retrying()],
        )

    check(used(build, way), scene())


def _caught() -> Any:
    from langchain.agents.middleware import AgentMiddleware
    from langchain_core.messages import ToolMessage

    def told(request: Any, error: Exception) -> Any:
        return ToolMessage(f"{error!r} {error}", tool_call_id=request.tool_call["id"])

    class Caught(AgentMiddleware):  # type: ignore[misc]  # not installed everywhere
        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            try:
                return handler(request)
            except Exception as error:  # noqa: BLE001
                return told(request, error)

        async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
            try:
                return await handler(request)
            except Exception as error:  # noqa: BLE001
                return told(request, error)

    return Caught()


def _retrying() -> Any:
    middleware = pytest.importorskip("langchain.agents.middleware")
    if not hasattr(middleware, "ToolRetryMiddleware"):
        pytest.skip("this version of langchain has no such middleware")
    return middleware.ToolRetryMiddleware(max_retries=0)


@pytest.fixture
def openai_agents() -> Iterator[None]:
    import agents
    from tracedance_integrations import openai_agents

    agents.set_tracing_disabled(True)
    openai_agents.install()
    yield
    openai_agents.uninstall()


def _hidden(_: Any, error: Exception) -> str:
    return f"It did not work: {_in_words(error)}"


async def _hidden_async(context: Any, error: Exception) -> str:
    return _hidden(context, error)


def clerk_of_openai(tool: Any, *, streamed: bool) -> Callable[[Endpoint], object]:
    async def play(endpoint: Endpoint) -> object:
        from agents import Agent, OpenAIChatCompletionsModel, Runner
        from openai import AsyncOpenAI

        async with AsyncOpenAI(base_url=endpoint.openai_url, api_key="fake") as client:
            model = OpenAIChatCompletionsModel(model="scripted", openai_client=client)
            clerk = Agent(
                name="clerk", instructions="You are the clerk.", model=model, tools=[tool]
            )
            if not streamed:
                return await Runner.run(clerk, "Order!")
            result = Runner.run_streamed(clerk, "Order!")
            async for _ in result.stream_events():
                pass
            return result

    return lambda endpoint: asyncio.run(play(endpoint))


@pytest.mark.needs("agents")
@pytest.mark.usefixtures("openai_agents")
@cell("openai-agents", "replay")
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    "told", [None, _hidden, _hidden_async], ids=["by default", "function", "coroutine"]
)
@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_that_openais_agents_tell_the_model_is_told_in_the_same_words(
    name: str, told: Any, streamed: bool
) -> None:
    from agents import function_tool

    of = {} if told is None else {"failure_error_function": told}
    check(clerk_of_openai(function_tool(order_of(name), **of), streamed=streamed), scene())


@pytest.mark.needs("agents")
@pytest.mark.usefixtures("openai_agents")
@cell("openai-agents", "replay")
def test_arguments_that_openais_agents_refuse_are_refused_in_the_same_words() -> None:
    from agents import function_tool

    play = scene(item=[1, 2])
    check(clerk_of_openai(function_tool(order_of("own")), streamed=False), play, is_used=False)


@pytest.mark.needs("agents")
@pytest.mark.usefixtures("openai_agents")
@cell("openai-agents", "replay")
@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_that_ends_a_run_of_openais_agents_ends_it_with_the_same_words(name: str) -> None:
    from agents import function_tool

    check_end(
        clerk_of_openai(function_tool(order_of(name), failure_error_function=None), streamed=False)
    )


@pytest.fixture
def pydantic_ai() -> Iterator[None]:
    from tracedance_integrations import pydantic_ai as td_pydantic_ai

    td_pydantic_ai.install()
    yield
    td_pydantic_ai.uninstall()


def raising(name: str) -> Callable[[str], Any]:
    """Return a tool that fails in a way which the framework tells the model."""

    def order(item: str) -> str:
        """Order something."""
        from pydantic_ai import exceptions

        USES.append(item)
        if name in FAILURES:
            return str(FAILURES[name](item))
        raise getattr(exceptions, name)(f"not this {item}")

    return order


def clerk_of_pydantic(tool: Any, *, streamed: bool) -> Callable[[Endpoint], object]:
    async def play(endpoint: Endpoint) -> object:
        from openai import AsyncOpenAI
        from pydantic_ai import Agent
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai import OpenAIProvider

        async with AsyncOpenAI(base_url=endpoint.openai_url, api_key="fake") as client:
            model = OpenAIChatModel("scripted", provider=OpenAIProvider(openai_client=client))
            clerk: Any = Agent(model, instructions="You are the clerk.", tools=[tool], retries=3)
            if not streamed:
                return await clerk.run("Order!")
            async with clerk.run_stream("Order!") as result:
                return await result.get_output()

    return lambda endpoint: asyncio.run(play(endpoint))


@pytest.mark.needs("pydantic_ai", "openai")
@pytest.mark.usefixtures("pydantic_ai")
@cell("pydantic-ai", "replay")
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("name", ["ModelRetry", "ToolFailed", "refused_inside"])
def test_a_failure_that_pydantic_ai_tells_the_model_is_told_in_the_same_words(
    name: str, streamed: bool
) -> None:
    from pydantic_ai import exceptions

    if name not in FAILURES and not hasattr(exceptions, name):
        pytest.skip("this version of pydantic-ai has no such exception")
    check(clerk_of_pydantic(raising(name), streamed=streamed), scene())


@pytest.mark.needs("pydantic_ai", "openai")
@pytest.mark.usefixtures("pydantic_ai")
@cell("pydantic-ai", "replay")
def test_arguments_that_pydantic_ai_refuses_are_refused_in_the_same_words() -> None:
    play = scene(item=[1, 2])
    check(clerk_of_pydantic(raising("ModelRetry"), streamed=False), play, is_used=False)


@pytest.mark.needs("pydantic_ai", "openai")
@pytest.mark.usefixtures("pydantic_ai")
@cell("pydantic-ai", "replay")
@pytest.mark.parametrize("name", sorted(FAILURES.keys() - {"refused_inside"}))
def test_a_failure_that_ends_a_run_of_pydantic_ai_ends_it_with_the_same_words(name: str) -> None:
    check_end(clerk_of_pydantic(order_of(name), streamed=False))

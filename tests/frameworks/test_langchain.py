"""LangChain and LangGraph, recorded by their integration."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

from tests.frameworks.drivers import IntegrationDriver, instrumented, promises
from tracedance_sdk.testing import Check, Driver, Endpoint, Scene

pytestmark = [
    pytest.mark.needs("langchain", "langgraph", "langchain_openai"),
    # Older versions warn of what they themselves import.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


class _LangChain(IntegrationDriver):
    """`create_agent`, with middleware that hands failures of tools to the model."""

    framework = "langchain"
    integration = "langchain"

    def places(self) -> list[tuple[Any, str]]:
        from langchain_core.language_models.chat_models import BaseChatModel
        from langchain_core.tools import base
        from langgraph.prebuilt import ToolNode
        from langgraph.pregel import Pregel
        from langgraph.pregel._loop import PregelLoop

        is_new = hasattr(ToolNode, "_execute_tool_sync")
        models = ("_generate_with_cache", "_agenerate_with_cache", "stream", "astream")
        tools = ("_format_output", "_handle_tool_error", "_handle_validation_error")
        return [
            *((BaseChatModel, name) for name in (*models, "_iter_v2_events", "_aiter_v2_events")),
            *((base.BaseTool, name) for name in ("run", "arun")),
            *((base, name) for name in tools),
            *((Pregel, name) for name in ("stream", "astream")),
            *((PregelLoop, name) for name in ("_first", "after_tick")),
            (ToolNode, "_execute_tool_sync" if is_new else "_run_one"),
            (ToolNode, "_execute_tool_async" if is_new else "_arun_one"),
        ]

    def run(self, scene: Scene, endpoint: Endpoint) -> str:
        found = self.agent(scene, endpoint).invoke(_asked(scene))
        return str(found["messages"][-1].text)

    async def run_async(self, scene: Scene, endpoint: Endpoint) -> str:
        found = await self.agent(scene, endpoint).ainvoke(_asked(scene))
        return str(found["messages"][-1].text)

    def run_streamed(self, scene: Scene, endpoint: Endpoint) -> str:
        steps = self.agent(scene, endpoint).stream(_asked(scene), stream_mode="messages")
        return _last_words(list(steps))

    async def run_streamed_async(self, scene: Scene, endpoint: Endpoint) -> str:
        steps = self.agent(scene, endpoint).astream(_asked(scene), stream_mode="messages")
        return _last_words([step async for step in steps])

    def agent(self, scene: Scene, endpoint: Endpoint) -> Any:
        from langchain.agents import create_agent

        return create_agent(
            self.model(endpoint),
            self.tools(scene, endpoint),
            system_prompt=scene.system,
            name=scene.agent,
            middleware=[_told_of_failures()],
        )

    def model(self, endpoint: Endpoint) -> Any:
        from langchain_openai import ChatOpenAI

        return ChatOpenAI(
            model="scripted",
            base_url=endpoint.openai_url,
            api_key="fake",
            max_retries=0,
            stream_usage=True,
        )

    def tools(self, scene: Scene, endpoint: Endpoint) -> list[Any]:
        from langchain_core.tools import StructuredTool

        found = [StructuredTool.from_function(tool) for tool in scene.tools]
        return found + [self.asking(helper, endpoint) for helper in scene.helpers]

    def asking(self, helper: Scene, endpoint: Endpoint) -> Any:
        from langchain_core.tools import StructuredTool

        def ask(question: str) -> str:
            return self.run(helper._replace(user=question), endpoint)

        return StructuredTool.from_function(
            ask, name=f"ask_{helper.agent}", description="Ask somebody else."
        )

    def others(self) -> AbstractContextManager[Callable[[], int]]:
        return instrumented("langchain", "LangChainInstrumentor")


class _LangGraph(_LangChain):
    """A graph of one's own: a node that asks the model, and `ToolNode`."""

    framework = "langgraph"

    def agent(self, scene: Scene, endpoint: Endpoint) -> Any:
        from langchain_core.messages import SystemMessage
        from langgraph.graph import START, MessagesState, StateGraph
        from langgraph.prebuilt import ToolNode, tools_condition

        tools = self.tools(scene, endpoint)
        model = self.model(endpoint).bind_tools(tools)

        def ask(state: MessagesState) -> dict[str, Any]:
            return {"messages": [model.invoke([SystemMessage(scene.system), *state["messages"]])]}

        async def ask_async(state: MessagesState) -> dict[str, Any]:
            asked = [SystemMessage(scene.system), *state["messages"]]
            return {"messages": [await model.ainvoke(asked)]}

        graph = StateGraph(MessagesState)
        graph.add_node("ask", _both(ask, ask_async))
        graph.add_node("tools", ToolNode(tools, handle_tool_errors=True))
        graph.add_edge(START, "ask")
        graph.add_conditional_edges("ask", tools_condition)
        graph.add_edge("tools", "ask")
        return graph.compile(name=scene.agent)


class _Responses(_LangChain):
    """`create_agent` with OpenAI's Responses."""

    framework = "langchain"

    def model(self, endpoint: Endpoint) -> Any:
        from langchain_openai import ChatOpenAI

        return ChatOpenAI(
            model="scripted",
            base_url=endpoint.openai_url,
            api_key="fake",
            max_retries=0,
            use_responses_api=True,
        )


class _Anthropic(_LangGraph):
    """A graph of one's own with Anthropic's model."""

    def model(self, endpoint: Endpoint) -> Any:
        anthropic = pytest.importorskip("langchain_anthropic")
        return anthropic.ChatAnthropic(
            model="scripted", base_url=endpoint.url, api_key="fake", max_retries=0
        )


def _asked(scene: Scene) -> dict[str, Any]:
    return {"messages": [("user", scene.user)]}


def _told_of_failures() -> Any:
    from langchain.agents.middleware import AgentMiddleware
    from langchain_core.messages import ToolMessage

    class ToldOfFailures(AgentMiddleware):  # type: ignore[misc]  # not installed everywhere
        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            try:
                return handler(request)
            except RuntimeError as error:
                return ToolMessage(f"failed: {error}", tool_call_id=request.tool_call["id"])

        async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
            return await handler(request)

    return ToldOfFailures()


def _both(plain: Any, waiting: Any) -> Any:
    from langchain_core.runnables import RunnableLambda

    return RunnableLambda(plain, afunc=waiting)


def _last_words(steps: list[Any]) -> str:
    found = [
        (message.id, message.text)
        for message, _ in steps
        if message.type in ("ai", "AIMessageChunk")
    ]
    last = found[-1][0]
    return "".join(str(text) for place, text in found if place == last)


_DRIVERS = {
    "langchain": _LangChain(),
    "langchain_responses": _Responses(),
    "langgraph": _LangGraph(),
    "langgraph_anthropic": _Anthropic(),
}


@promises(*_DRIVERS.values(), names=tuple(_DRIVERS))
def test_agents_are_recorded_as_promised(driver: Driver, check: Check) -> None:
    check(driver)

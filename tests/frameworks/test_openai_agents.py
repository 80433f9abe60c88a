"""OpenAI's Agents SDK, with both of its classes of models, recorded by its integration."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.frameworks.drivers import IntegrationDriver, instrumented, own_loop, promises
from tracedance_sdk.testing import Check, Driver, Endpoint, Scene

pytestmark = pytest.mark.needs("agents")


class _Responses(IntegrationDriver):
    """The agent of a scene, with the SDK's own model for the Responses API."""

    framework = "openai-agents"
    integration = "openai_agents"
    model = "OpenAIResponsesModel"

    def places(self) -> list[tuple[Any, str]]:
        from agents import OpenAIChatCompletionsModel, OpenAIResponsesModel, run, tool
        from agents.models.interface import Model
        from agents.run_internal import tool_execution, turn_resolution

        return [
            (OpenAIResponsesModel, "get_response"),
            (OpenAIResponsesModel, "stream_response"),
            (OpenAIResponsesModel, "_fetch_response"),
            (OpenAIChatCompletionsModel, "get_response"),
            (OpenAIChatCompletionsModel, "stream_response"),
            (OpenAIChatCompletionsModel, "_fetch_response"),
            (Model, "__init_subclass__"),
            (run.AgentRunner, "run"),
            (run, "start_streaming"),
            (turn_resolution, "execute_handoffs"),
            (tool_execution, "invoke_function_tool"),
            (tool_execution, "_invoke_function_tool_with_metadata"),
            (tool_execution, "maybe_invoke_function_tool_failure_error_function"),
            (tool, "maybe_invoke_function_tool_failure_error_function"),
        ]

    def run(self, scene: Scene, endpoint: Endpoint) -> str:
        from agents import Runner

        with own_loop() as loop:
            client = client_of(endpoint)
            try:
                return str(Runner.run_sync(self.agent(scene, client), scene.user).final_output)
            finally:
                loop.run_until_complete(client.close())

    async def run_async(self, scene: Scene, endpoint: Endpoint) -> str:
        from agents import Runner

        async with client_of(endpoint) as client:
            result = await Runner.run(self.agent(scene, client), scene.user)
        return str(result.final_output)

    def run_streamed(self, scene: Scene, endpoint: Endpoint) -> str:
        return asyncio.run(self.run_streamed_async(scene, endpoint))

    async def run_streamed_async(self, scene: Scene, endpoint: Endpoint) -> str:
        from agents import Runner

        async with client_of(endpoint) as client:
            result = Runner.run_streamed(self.agent(scene, client), scene.user)
            async for _ in result.stream_events():
                pass
        return str(result.final_output)

    def agent(self, scene: Scene, client: Any, **given: Any) -> Any:
        """Return the agent of a scene; its helpers are its tools."""
        import agents

        tools: list[Any] = [agents.function_tool(tool) for tool in scene.tools]
        tools += [_as_tool(self.agent(helper, client), helper) for helper in scene.helpers]
        return agents.Agent(
            name=scene.agent,
            instructions=scene.system,
            model=getattr(agents, self.model)("scripted", client),
            model_settings=agents.ModelSettings(include_usage=True),
            **{"tools": tools, **given},
        )

    @contextlib.contextmanager
    def others(self) -> Iterator[Callable[[], int]]:
        """Have OpenInference's instrumentation and a processor of the SDK's own tracing."""
        from agents import TracingProcessor, set_trace_processors, set_tracing_disabled

        class Ends(TracingProcessor):  # type: ignore[misc]  # untyped where it is not installed
            def __init__(self) -> None:
                self.spans = 0

            def on_span_end(self, span: Any) -> None:
                self.spans += 1

            def _ignored(self, *_: Any) -> None:
                """Take no notice."""

            on_trace_start = on_trace_end = on_span_start = _ignored
            shutdown = force_flush = _ignored

        own = Ends()
        name, options = "OpenAIAgentsInstrumentor", {"exclusive_processor": False}
        set_tracing_disabled(False)
        set_trace_processors([own])
        try:
            with instrumented("openai_agents", name, **options) as count:
                yield lambda: min(count(), own.spans)
        finally:
            set_trace_processors([])
            set_tracing_disabled(True)


class _Chat(_Responses):
    """The same around chat completions."""

    framework = "openai-agents chat"
    model = "OpenAIChatCompletionsModel"


def client_of(endpoint: Endpoint) -> Any:
    from openai import AsyncOpenAI

    return AsyncOpenAI(base_url=endpoint.openai_url, api_key="fake", max_retries=0)


def _as_tool(agent: Any, helper: Scene) -> Any:
    """Return the agent as a tool whose parameter is called as the scenes call it."""
    from agents import Runner, function_tool

    async def ask(question: str) -> str:
        return str((await Runner.run(agent, question)).final_output)

    return function_tool(ask, name_override=f"ask_{helper.agent}", description_override="Ask.")


@pytest.fixture(autouse=True)
def no_vendor() -> None:
    """Nothing leaves for the vendor's tracing."""
    from agents import set_trace_processors, set_tracing_disabled

    set_trace_processors([])
    set_tracing_disabled(True)


@promises(_Responses(), _Chat(), package="openai-agents")
def test_the_sdk_is_recorded_as_promised(driver: Driver, check: Check) -> None:
    check(driver)

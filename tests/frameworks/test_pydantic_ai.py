"""Pydantic AI's agents, recorded by its integration."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tracedance_sdk as td
from tests.frameworks.drivers import IntegrationDriver, collected_spans, own_loop, promises
from tracedance_sdk.testing import (
    Check,
    Desk,
    Driver,
    Endpoint,
    Scene,
    check_quiet,
    check_trace,
    expected,
    mail,
    scripted_models,
)

pytestmark = pytest.mark.needs("pydantic_ai")


class _Chat(IntegrationDriver):
    """An agent on OpenAI's chat completions."""

    framework = "pydantic-ai"
    integration = "pydantic_ai"
    tool_errors_end_runs = True

    def places(self) -> list[tuple[Any, str]]:
        from pydantic_ai import Agent
        from pydantic_ai.agent import AbstractAgent
        from pydantic_ai.models import Model
        from pydantic_ai.toolsets import AbstractToolset

        found: list[tuple[Any, str]] = [(Agent, "iter"), (AbstractAgent, "run_stream")]
        found += [(root, "__init_subclass__") for root in (Model, AbstractToolset)]
        for model in _family(Model):
            found += [(model, "request"), (model, "request_stream")]
        return found + [(toolset, "call_tool") for toolset in _family(AbstractToolset)]

    def model(self, client: Any) -> Any:
        from pydantic_ai.models.openai import OpenAIChatModel
        from pydantic_ai.providers.openai import OpenAIProvider

        return OpenAIChatModel("scripted", provider=OpenAIProvider(openai_client=client))

    def client(self, endpoint: Endpoint) -> Any:
        from openai import AsyncOpenAI

        return AsyncOpenAI(base_url=endpoint.openai_url, api_key="fake", max_retries=0)

    def agent(self, scene: Scene, client: Any) -> Any:
        from pydantic_ai import Agent

        tools = [*scene.tools, *(self.asking(helper, client) for helper in scene.helpers)]
        model = self.model(client)
        return Agent(model, name=scene.agent, system_prompt=scene.system, tools=tools)

    def asking(self, helper: Scene, client: Any) -> Any:
        agent = self.agent(helper, client)

        async def asked(question: str) -> str:
            return str((await agent.run(question)).output)

        asked.__name__ = f"ask_{helper.agent}"
        return asked

    def run(self, scene: Scene, endpoint: Endpoint) -> str:
        with own_loop() as loop:
            client = self.client(endpoint)
            try:
                return str(self.agent(scene, client).run_sync(scene.user).output)
            finally:
                loop.run_until_complete(client.close())

    async def run_async(self, scene: Scene, endpoint: Endpoint) -> str:
        async with self.client(endpoint) as client:
            return str((await self.agent(scene, client).run(scene.user)).output)

    def run_streamed(self, scene: Scene, endpoint: Endpoint) -> str:
        with own_loop() as loop:
            client = self.client(endpoint)
            try:
                agent = self.agent(scene, client)
                found = agent.run_sync(scene.user, event_stream_handler=_look_on)
                return str(found.output)
            finally:
                loop.run_until_complete(client.close())

    async def run_streamed_async(self, scene: Scene, endpoint: Endpoint) -> str:
        async with self.client(endpoint) as client:
            agent = self.agent(scene, client)
            found = await agent.run(scene.user, event_stream_handler=_look_on)
            return str(found.output)

    @contextlib.contextmanager
    def others(self) -> Iterator[Callable[[], int]]:
        from pydantic_ai import Agent
        from pydantic_ai.models.instrumented import InstrumentationSettings

        provider, exporter = collected_spans()
        Agent.instrument_all(InstrumentationSettings(tracer_provider=provider))
        try:
            yield lambda: len(exporter.get_finished_spans())
        finally:
            Agent.instrument_all(False)


class _Responses(_Chat):
    """The same on OpenAI's responses."""

    framework = "pydantic-ai responses"

    def model(self, client: Any) -> Any:
        from pydantic_ai.models.openai import OpenAIResponsesModel
        from pydantic_ai.providers.openai import OpenAIProvider

        return OpenAIResponsesModel("scripted", provider=OpenAIProvider(openai_client=client))

    @contextlib.contextmanager
    def others(self) -> Iterator[Callable[[], int]]:
        """The framework's own spans, made OpenInference's by its processor."""
        foreign = pytest.importorskip("openinference.instrumentation.pydantic_ai")
        from pydantic_ai import Agent
        from pydantic_ai.models.instrumented import InstrumentationSettings

        provider, exporter = collected_spans(foreign.OpenInferenceSpanProcessor())
        Agent.instrument_all(InstrumentationSettings(tracer_provider=provider))
        try:
            yield lambda: sum(
                "openinference.span.kind" in (span.attributes or {})
                for span in exporter.get_finished_spans()
            )
        finally:
            Agent.instrument_all(False)


class _Anthropic(_Chat):
    """The same on Anthropic's messages."""

    framework = "pydantic-ai anthropic"

    def model(self, client: Any) -> Any:
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        return AnthropicModel("scripted", provider=AnthropicProvider(anthropic_client=client))

    def client(self, endpoint: Endpoint) -> Any:
        from anthropic import AsyncAnthropic

        return AsyncAnthropic(base_url=endpoint.url, api_key="fake", max_retries=0)


async def _look_on(_: Any, events: Any) -> None:
    """Read what is streamed: ``run_stream`` would end with the first text of the scene."""
    async for _event in events:
        pass


def _family(root: Any) -> list[Any]:
    found = list(root.__subclasses__())
    return found + [member for child in found for member in _family(child)]


_DRIVERS = (_Chat(), _Responses(), _Anthropic())


@promises(*_DRIVERS, package="pydantic-ai-slim")
def test_the_framework_is_recorded_as_promised(driver: Driver, check: Check) -> None:
    check(driver)


@pytest.mark.parametrize("driver", _DRIVERS, ids=[driver.framework for driver in _DRIVERS])
def test_a_turn_is_told_once_when_the_clients_integrations_are_there_too(driver: _Chat) -> None:
    from tracedance_integrations import anthropic as td_anthropic
    from tracedance_integrations import openai as td_openai

    scene = mail(Desk())
    with contextlib.ExitStack() as stack:
        for module in (td_openai, td_anthropic):
            module.install()
            stack.callback(module.uninstall)
        driver.install()
        stack.callback(driver.uninstall)
        for play in (driver.run, driver.run_streamed):
            with scripted_models(scene) as endpoint, td.TraceRecorder() as recorder:
                assert play(scene, endpoint) == scene.end
            check_quiet(recorder)
            check_trace(driver, recorder.trace, expected(scene))

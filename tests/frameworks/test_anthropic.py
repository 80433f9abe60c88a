"""Anthropic's client and its tool runner, recorded by their integration."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

import tracedance_sdk as td
from tests.frameworks.drivers import IntegrationDriver, instrumented, promises
from tracedance_sdk.testing import Check, Driver, Endpoint, Scene

pytestmark = pytest.mark.needs("anthropic")


class _Messages(IntegrationDriver):
    """An agent's loop of a few lines around messages; its tools are decorated functions."""

    framework = "anthropic"
    integration = "anthropic"
    names_agent = False

    def places(self) -> list[tuple[Any, str]]:
        from anthropic import (
            APIResponse,
            AsyncAPIResponse,
            AsyncMessageStreamManager,
            AsyncStream,
            MessageStreamManager,
            Stream,
        )
        from anthropic.resources import beta
        from anthropic.resources.messages import AsyncMessages, Messages

        owners: tuple[Any, ...] = (
            Messages, AsyncMessages, beta.messages.Messages, beta.messages.AsyncMessages,
        )  # fmt: skip
        names = ("create", "parse", "stream")
        replies = (APIResponse, AsyncAPIResponse, Stream, AsyncStream)
        return [
            *((owner, name) for owner in owners for name in names),
            *((owner, "close") for owner in replies),
            (MessageStreamManager, "__enter__"),
            (AsyncMessageStreamManager, "__aenter__"),
        ]

    def run(self, scene: Scene, endpoint: Endpoint) -> str:
        return self._run(scene, endpoint, stream=False)

    def run_streamed(self, scene: Scene, endpoint: Endpoint) -> str:
        return self._run(scene, endpoint, stream=True)

    async def run_async(self, scene: Scene, endpoint: Endpoint) -> str:
        return await self._run_async(scene, endpoint, stream=False)

    async def run_streamed_async(self, scene: Scene, endpoint: Endpoint) -> str:
        return await self._run_async(scene, endpoint, stream=True)

    def _run(self, scene: Scene, endpoint: Endpoint, *, stream: bool) -> str:
        from anthropic import Anthropic

        with Anthropic(base_url=endpoint.url, api_key="fake", max_retries=0) as client:
            return self.loop(scene, client, lambda helper: self.run(helper, endpoint), stream)

    async def _run_async(self, scene: Scene, endpoint: Endpoint, *, stream: bool) -> str:
        from anthropic import AsyncAnthropic

        async with AsyncAnthropic(base_url=endpoint.url, api_key="fake", max_retries=0) as client:
            return await self.loop_async(scene, client, stream)

    def loop(self, scene: Scene, client: Any, ask: Callable[[Scene], str], stream: bool) -> str:
        tools, messages = _tools(scene, ask), _opening(scene)
        while True:
            if stream:
                with client.messages.stream(**_asked(scene, messages)) as events:
                    message = events.get_final_message()
            else:
                message = client.messages.create(**_asked(scene, messages))
            messages.append({"role": "assistant", "content": message.content})
            calls = [block for block in message.content if block.type == "tool_use"]
            if not calls:
                return str(message.content[0].text)
            messages.append({"role": "user", "content": _answers(calls, tools)})

    async def loop_async(self, scene: Scene, client: Any, stream: bool) -> str:
        tools, messages = _tools(scene, lambda helper: ""), _opening(scene)
        while True:
            if stream:
                async with client.messages.stream(**_asked(scene, messages)) as events:
                    message = await events.get_final_message()
            else:
                message = await client.messages.create(**_asked(scene, messages))
            messages.append({"role": "assistant", "content": message.content})
            calls = [block for block in message.content if block.type == "tool_use"]
            if not calls:
                return str(message.content[0].text)
            found = await asyncio.to_thread(_answers, calls, tools)
            messages.append({"role": "user", "content": found})

    def others(self) -> AbstractContextManager[Callable[[], int]]:
        return instrumented("anthropic", "AnthropicInstrumentor")


class _Runner(_Messages):
    """The client's own tool runner; tools are plain functions, of which it makes its own."""

    framework = "anthropic tool runner"

    def places(self) -> list[tuple[Any, str]]:
        from anthropic.lib.tools import _beta_functions as tools

        runners = (tools.BetaFunctionTool, tools.BetaAsyncFunctionTool)
        return [*super().places(), *((runner, "call") for runner in runners)]

    def loop(self, scene: Scene, client: Any, ask: Callable[[Scene], str], stream: bool) -> str:
        from anthropic import beta_tool

        tools = [beta_tool(tool) for tool in scene.tools]
        tools += [beta_tool(_asking(helper, ask)) for helper in scene.helpers]
        asked = {**_asked(scene, _opening(scene)), "tools": tools}
        runner = client.beta.messages.tool_runner(**asked, stream=stream)
        if stream:
            message = [events.get_final_message() for events in runner][-1]
        else:
            message = runner.until_done()
        return str(message.content[0].text)

    async def loop_async(self, scene: Scene, client: Any, stream: bool) -> str:
        from anthropic import beta_async_tool

        tools = [beta_async_tool(_awaited(tool)) for tool in scene.tools]
        asked = {**_asked(scene, _opening(scene)), "tools": tools}
        runner = client.beta.messages.tool_runner(**asked, stream=stream)
        if stream:
            message = [await events.get_final_message() async for events in runner][-1]
        else:
            message = await runner.until_done()
        return str(message.content[0].text)


def _awaited(tool: Any) -> Any:
    async def awaited(*args: Any, **kwargs: Any) -> Any:
        return tool(*args, **kwargs)

    awaited.__name__, awaited.__doc__ = tool.__name__, tool.__doc__
    awaited.__signature__ = inspect.signature(tool, eval_str=True)  # type: ignore[attr-defined]
    awaited.__annotations__ = inspect.get_annotations(tool, eval_str=True)
    return awaited


def _opening(scene: Scene) -> list[Any]:
    return [{"role": "user", "content": scene.user}]


def _asked(scene: Scene, messages: list[Any]) -> dict[str, Any]:
    return {
        "model": "scripted",
        "max_tokens": 500,
        "system": scene.system,
        "messages": list(messages),
        "tools": _definitions(scene),
    }


def _tools(scene: Scene, ask: Callable[[Scene], str]) -> dict[str, Any]:
    found = {tool.__name__: td.tool(tool) for tool in scene.tools}
    for helper in scene.helpers:
        found[f"ask_{helper.agent}"] = td.tool(_asking(helper, ask))
    return found


def _asking(helper: Scene, ask: Callable[[Scene], str]) -> Any:
    def asked(question: str) -> str:
        """Ask the helper."""
        with td.TraceRecorder(agent=helper.agent):
            return ask(helper._replace(user=question))

    asked.__name__ = f"ask_{helper.agent}"
    return asked


def _definitions(scene: Scene) -> list[Any]:
    names = {tool.__name__: list(inspect.signature(tool).parameters) for tool in scene.tools}
    names |= {f"ask_{helper.agent}": ["question"] for helper in scene.helpers}
    return [
        {
            "name": name,
            "description": f"Tool {name}.",
            "input_schema": {
                "type": "object",
                "properties": {parameter: {} for parameter in parameters},
                "required": parameters,
            },
        }
        for name, parameters in names.items()
    ]


def _answers(calls: Any, tools: Any) -> list[Any]:
    found = []
    for call in calls:
        try:
            content, is_error = str(tools[call.name](**call.input)), False
        except RuntimeError as error:
            content, is_error = str(error), True
        result = {"type": "tool_result", "tool_use_id": call.id, "content": content}
        found.append({**result, "is_error": is_error})
    return found


@promises(_Messages(), _Runner(), package="anthropic")
def test_the_client_is_recorded_as_promised(driver: Driver, check: Check) -> None:
    if isinstance(driver, _Runner):
        pytest.importorskip("anthropic.lib.tools", reason="this client has no tool runner")
    check(driver)

"""OpenAI's client, both APIs, recorded by its integration."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

import tracedance_sdk as td
from tests.frameworks.drivers import IntegrationDriver, instrumented, promises
from tracedance_sdk.testing import Check, Driver, Endpoint, Scene

pytestmark = pytest.mark.needs("openai")


class _Chat(IntegrationDriver):
    """An agent's loop of a few lines around chat completions; its tools are decorated functions."""

    framework = "openai"
    integration = "openai"
    names_agent = False
    tool_errors_end_runs = False

    def places(self) -> list[tuple[Any, str]]:
        from openai import APIResponse, AsyncAPIResponse, AsyncStream, Stream
        from openai.resources.chat.completions import AsyncCompletions, Completions
        from openai.resources.responses import AsyncResponses, Responses

        owners = (AsyncCompletions, Completions, AsyncResponses, Responses)
        replies = (APIResponse, AsyncAPIResponse, Stream, AsyncStream)
        return [
            *((owner, name) for owner in owners for name in ("create", "parse")),
            *((owner, "close") for owner in replies),
        ]

    def run(self, scene: Scene, endpoint: Endpoint) -> str:
        from openai import OpenAI

        tools = _tools(scene, lambda helper, _: self.run(helper, endpoint))
        with OpenAI(base_url=endpoint.openai_url, api_key="fake", max_retries=0) as client:
            return self.loop(scene, client, tools)

    def run_streamed(self, scene: Scene, endpoint: Endpoint) -> str:
        from openai import OpenAI

        tools = _tools(scene, lambda helper, _: self.run(helper, endpoint))
        with OpenAI(base_url=endpoint.openai_url, api_key="fake", max_retries=0) as client:
            return self.loop(scene, client, tools, stream=True)

    async def run_async(self, scene: Scene, endpoint: Endpoint) -> str:
        return await self._run_async(scene, endpoint, stream=False)

    async def run_streamed_async(self, scene: Scene, endpoint: Endpoint) -> str:
        return await self._run_async(scene, endpoint, stream=True)

    async def _run_async(self, scene: Scene, endpoint: Endpoint, *, stream: bool) -> str:
        from openai import AsyncOpenAI

        tools = _tools(scene, lambda helper, _: "")
        async with AsyncOpenAI(
            base_url=endpoint.openai_url, api_key="fake", max_retries=0
        ) as client:
            return await self.loop_async(scene, client, tools, stream=stream)

    def loop(self, scene: Scene, client: Any, tools: Any, *, stream: bool = False) -> str:
        messages = _opening(scene)
        while True:
            asked = {"model": "scripted", "messages": messages, "tools": _definitions(scene)}
            if stream:
                options = {"include_usage": True}
                message = _gathered(
                    client.chat.completions.create(**asked, stream=True, stream_options=options)
                )
            else:
                message = client.chat.completions.create(**asked).choices[0].message
            messages.append(message.model_dump(exclude_none=True))
            if not message.tool_calls:
                return str(message.content)
            messages += _answers(message, tools)

    async def loop_async(self, scene: Scene, client: Any, tools: Any, *, stream: bool) -> str:
        messages = _opening(scene)
        while True:
            asked = {"model": "scripted", "messages": messages, "tools": _definitions(scene)}
            if stream:
                options = {"include_usage": True}
                found = await client.chat.completions.create(
                    **asked, stream=True, stream_options=options
                )
                message = _gathered([chunk async for chunk in found])
            else:
                message = (await client.chat.completions.create(**asked)).choices[0].message
            messages.append(message.model_dump(exclude_none=True))
            if not message.tool_calls:
                return str(message.content)
            messages += await asyncio.to_thread(_answers, message, tools)

    def others(self) -> AbstractContextManager[Callable[[], int]]:
        return instrumented("openai", "OpenAIInstrumentor")


class _Responses(_Chat):
    """The same around responses, which go on from one another."""

    framework = "openai responses"

    def loop(self, scene: Scene, client: Any, tools: Any, *, stream: bool = False) -> str:
        given: list[Any] = [{"role": "user", "content": scene.user}]
        before = None
        while True:
            asked = self._asked(scene, given, before)
            if stream:
                with client.responses.create(**asked, stream=True) as events:
                    response = list(events)[-1].response
            else:
                response = client.responses.create(**asked)
            calls = [item for item in response.output if item.type == "function_call"]
            if not calls:
                return str(response.output_text)
            given, before = self._given(calls, tools), response.id

    async def loop_async(self, scene: Scene, client: Any, tools: Any, *, stream: bool) -> str:
        given: list[Any] = [{"role": "user", "content": scene.user}]
        before = None
        while True:
            asked = self._asked(scene, given, before)
            if stream:
                events = await client.responses.create(**asked, stream=True)
                response = [event async for event in events][-1].response
            else:
                response = await client.responses.create(**asked)
            calls = [item for item in response.output if item.type == "function_call"]
            if not calls:
                return str(response.output_text)
            given, before = await asyncio.to_thread(self._given, calls, tools), response.id

    def _asked(self, scene: Scene, given: list[Any], before: str | None) -> dict[str, Any]:
        asked: dict[str, Any] = {"model": "scripted", "input": given}
        if before is not None:
            asked["previous_response_id"] = before
        tools = [{"type": "function", **tool["function"]} for tool in _definitions(scene)]
        return {**asked, "tools": tools, "instructions": scene.system}

    def _given(self, calls: list[Any], tools: Any) -> list[Any]:
        return [
            {
                "type": "function_call_output",
                "call_id": call.call_id,
                "output": _answer(tools, call.name, call.arguments),
            }
            for call in calls
        ]


def _opening(scene: Scene) -> list[Any]:
    return [
        {"role": "system", "content": scene.system},
        {"role": "user", "content": scene.user or "What is Sam's address?"},
    ]


def _tools(scene: Scene, ask: Callable[[Scene, str], str]) -> dict[str, Any]:
    found = {tool.__name__: td.tool(tool) for tool in scene.tools}
    for helper in scene.helpers:
        found[f"ask_{helper.agent}"] = _asking(helper, ask)
    return found


def _asking(helper: Scene, ask: Callable[[Scene, str], str]) -> Any:
    @td.tool(name=f"ask_{helper.agent}")
    def asked(question: str) -> str:
        with td.TraceRecorder(agent=helper.agent):
            return ask(helper._replace(user=question), question)

    return asked


def _definitions(scene: Scene) -> list[Any]:
    names = {tool.__name__: list(inspect.signature(tool).parameters) for tool in scene.tools}
    names |= {f"ask_{helper.agent}": ["question"] for helper in scene.helpers}
    return [
        {
            "type": "function",
            "function": {
                "name": name,
                "description": f"Tool {name}.",
                "parameters": {
                    "type": "object",
                    "properties": {parameter: {} for parameter in parameters},
                    "required": parameters,
                },
            },
        }
        for name, parameters in names.items()
    ]


def _answers(message: Any, tools: Any) -> list[Any]:
    return [
        {
            "role": "tool",
            "tool_call_id": call.id,
            "content": _answer(tools, call.function.name, call.function.arguments),
        }
        for call in message.tool_calls
    ]


def _answer(tools: Any, name: str, arguments: str) -> str:
    try:
        return str(tools[name](**json.loads(arguments)))
    except RuntimeError as error:
        return f"failed: {error}"


def _gathered(chunks: Any) -> Any:
    from openai.lib.streaming.chat import ChatCompletionStreamState

    state: Any = ChatCompletionStreamState()
    for chunk in chunks:
        state.handle_chunk(chunk)
    return state.get_final_completion().choices[0].message


@promises(_Chat(), _Responses(), package="openai")
def test_the_client_is_recorded_as_promised(driver: Driver, check: Check) -> None:
    check(driver)

"""Two frameworks with a real model: at most ten calls, no network."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

import tracedance_sdk as td
from tests.support.local_model import local_model
from tracedance_sdk.trace import Trace

pytestmark = [pytest.mark.timeout(300)]

SYSTEM = "You are a clerk. Look up prices with the tool price, then answer in one short sentence."
USER = "What is the price of a hat?"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with local_model() as found:
        yield found


def check(trace: Trace, said: str, uses: list[str]) -> None:
    assert trace.system_prompt == SYSTEM
    assert [tool.name for tool in trace.tools] == ["price"]
    first, *rest = trace.turns
    assert (first.role, first.text) == ("user", USER)
    assert 1 <= len(rest) <= 5
    assert all(turn.usage is not None and turn.usage.input_tokens for turn in rest)
    assert rest[-1].text.strip() == said.strip()
    used = [call for call in trace.actions if call.result is not None and call.result.ok]
    assert [call.arguments.get("item") for call in used] == uses
    assert all(call.result.content == "40 euros" for call in used if call.result)


@pytest.mark.needs("langgraph", "langchain", "langchain_openai")
@pytest.mark.filterwarnings("default")
def test_langgraph_with_a_real_model(address: str) -> None:
    from langchain.agents import create_agent
    from langchain_openai import ChatOpenAI
    from tracedance_integrations import langchain as td_langchain

    uses: list[str] = []

    def price(item: str) -> str:
        """Return the price of an item."""
        uses.append(item)
        return "40 euros"

    model = ChatOpenAI(
        model="local", base_url=f"{address}/v1", api_key="none", max_tokens=80, temperature=0
    )
    agent = create_agent(model, [price], system_prompt=SYSTEM)
    td_langchain.install()
    try:
        with td.TraceRecorder() as recorder:
            found = agent.invoke(
                {"messages": [{"role": "user", "content": USER}]}, {"recursion_limit": 9}
            )
    finally:
        td_langchain.uninstall()
    check(recorder.trace, found["messages"][-1].text, uses)
    assert not recorder.close().faults


@pytest.mark.needs("pydantic_ai")
@pytest.mark.filterwarnings("default")
def test_pydantic_ai_with_a_real_model(address: str) -> None:
    from openai import AsyncOpenAI
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider
    from pydantic_ai.usage import UsageLimits
    from tracedance_integrations import pydantic_ai as td_pydantic_ai

    uses: list[str] = []

    async def ask() -> str:
        async with AsyncOpenAI(base_url=f"{address}/v1", api_key="none") as client:
            agent: Any = Agent(
                OpenAIChatModel("local", provider=OpenAIProvider(openai_client=client)),
                system_prompt=SYSTEM,
                model_settings={"max_tokens": 80, "temperature": 0},
            )

            def price(item: str) -> str:
                """Return the price of an item."""
                uses.append(item)
                return "40 euros"

            agent.tool_plain(price)
            found = await agent.run(USER, usage_limits=UsageLimits(request_limit=5))
            return str(found.output)

    td_pydantic_ai.install()
    try:
        with td.TraceRecorder() as recorder:
            said = asyncio.run(ask())
    finally:
        td_pydantic_ai.uninstall()
    check(recorder.trace, said, uses)
    assert not recorder.close().faults

"""The clerk, built with Pydantic AI."""

from __future__ import annotations

from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from tracedance_integrations import pydantic_ai as td_pydantic_ai

from tests.frameworks.replayed_agents import office

td_pydantic_ai.install()


async def answered(system: str, messages: office.Messages) -> str:
    """Return what the agent says in the end."""
    async with AsyncOpenAI(base_url=office.openai_url(), api_key="fake") as client:
        model = OpenAIChatModel("scripted", provider=OpenAIProvider(openai_client=client))
        agent = Agent(model, name="clerk", system_prompt=system, tools=list(office.TOOLS))
        return str((await agent.run(messages[-1]["content"])).output)


async def changed(messages: office.Messages) -> str:
    """Reply as the new clerk."""
    return await answered(office.CHANGED.system, messages)


async def lost(messages: office.Messages) -> str:
    """Reply as the clerk with words of his own."""
    return await answered(office.LOST.system, messages)


if __name__ == "__main__":
    office.record(answered)

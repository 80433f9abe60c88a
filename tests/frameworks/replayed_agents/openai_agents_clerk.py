"""The clerk, built with OpenAI's Agents SDK."""

from __future__ import annotations

from agents import Agent, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI
from tracedance_integrations import openai_agents as td_agents

from tests.frameworks.replayed_agents import office

td_agents.install()
set_tracing_disabled(True)


async def answered(system: str, messages: office.Messages) -> str:
    """Return what the agent says in the end."""
    async with AsyncOpenAI(base_url=office.openai_url(), api_key="fake") as client:
        agent = Agent(
            name="clerk",
            instructions=system,
            model=OpenAIResponsesModel("scripted", client),
            tools=[function_tool(tool) for tool in office.TOOLS],
        )
        return str((await Runner.run(agent, messages)).final_output)


async def changed(messages: office.Messages) -> str:
    """Reply as the new clerk."""
    return await answered(office.CHANGED.system, messages)


async def lost(messages: office.Messages) -> str:
    """Reply as the clerk with words of his own."""
    return await answered(office.LOST.system, messages)


if __name__ == "__main__":
    office.record(answered)

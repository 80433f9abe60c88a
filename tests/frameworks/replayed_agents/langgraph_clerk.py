"""The clerk, built with LangGraph."""

from __future__ import annotations

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from tracedance_integrations import langchain as td_langchain

from tests.frameworks.replayed_agents import office

td_langchain.install()


async def answered(system: str, messages: office.Messages) -> str:
    """Return what the graph says in the end."""
    model = ChatOpenAI(model="scripted", base_url=office.openai_url(), api_key="fake")
    graph = create_agent(model, list(office.TOOLS), system_prompt=system, name="clerk")
    found = await graph.ainvoke({"messages": messages})
    return str(found["messages"][-1].content)


async def changed(messages: office.Messages) -> str:
    """Reply as the new clerk."""
    return await answered(office.CHANGED.system, messages)


async def lost(messages: office.Messages) -> str:
    """Reply as the clerk with words of his own."""
    return await answered(office.LOST.system, messages)


if __name__ == "__main__":
    office.record(answered)

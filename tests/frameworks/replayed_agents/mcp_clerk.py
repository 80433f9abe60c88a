"""The clerk, a loop of its own whose tools are those of an MCP server in another process."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from openai import AsyncOpenAI
from tracedance_integrations import mcp as td_mcp
from tracedance_integrations import openai as td_openai

from tests.frameworks import mcp_office
from tests.frameworks.replayed_agents import office

td_mcp.install()
td_openai.install()

_SERVER = StdioServerParameters(
    command=sys.executable,
    args=["-m", "tests.frameworks.replayed_agents.mcp_clerk", "serve"],
    env=dict(os.environ),
)


async def answered(system: str, messages: office.Messages) -> str:
    """Return what the model says when it asks for no more calls."""
    told = [{"role": "system", "content": system}, *messages]
    async with (
        AsyncOpenAI(base_url=office.openai_url(), api_key="fake") as client,
        stdio_client(_SERVER) as (read, write),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        await session.list_tools()
        chat: Any = client.chat.completions
        while True:
            reply = await chat.create(model="scripted", messages=told)
            message = reply.choices[0].message
            told.append(message.model_dump(exclude_none=True))
            if not message.tool_calls:
                return str(message.content)
            for call in message.tool_calls:
                arguments = json.loads(call.function.arguments)
                result = await session.call_tool(call.function.name, arguments)
                text = result.content[0].text
                told.append({"role": "tool", "tool_call_id": call.id, "content": text})


async def changed(messages: office.Messages) -> str:
    """Reply as the new clerk."""
    return await answered(office.CHANGED.system, messages)


async def lost(messages: office.Messages) -> str:
    """Reply as the clerk with words of his own."""
    return await answered(office.LOST.system, messages)


def serve() -> None:
    """Be the server."""
    mcp_office.server_of(*office.TOOLS).run()


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve()
    else:
        office.record(answered)

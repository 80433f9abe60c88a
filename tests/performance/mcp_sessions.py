"""Two sessions with MCP servers in processes of their own: one is bare, others carry the other."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any


class Sessions:
    """Keeps the sessions open in a task of their own, as the library wants it.

    Args:
        tracer: Makes the library's own spans while others trace; otherwise they are empty.
    """

    def __init__(self, provider: Any) -> None:
        from openinference.instrumentation import OITracer, TraceConfig

        self._tracer = provider.get_tracer("mcp-python-sdk")
        self._tools = OITracer(provider.get_tracer("tools"), config=TraceConfig())
        self._loop = asyncio.new_event_loop()
        self._ready, self._done = asyncio.Event(), asyncio.Event()
        self._calls: dict[str, Callable[..., Awaitable[Any]]] = {}
        self._current = "bare"
        self._holding = self._loop.create_task(self._hold())
        self._loop.run_until_complete(self._ready.wait())

    def play(self, n_calls: int) -> None:
        """Call a tool so many times."""
        self._loop.run_until_complete(self._play(n_calls))

    @contextlib.contextmanager
    def traced(self, how: str) -> Iterator[None]:
        """Play with the session that OpenInference's instrumentation carries.

        Args:
            how: ``spans`` for the library's own spans alone; ``content`` for a span of
                OpenInference's own around each call, with arguments and result.
        """
        from mcp.shared import _otel

        before = _otel._tracer
        self._current, _otel._tracer = how, self._tracer
        try:
            yield
        finally:
            self._current, _otel._tracer = "bare", before

    def close(self) -> None:
        """End both sessions and their servers."""
        self._done.set()
        self._loop.run_until_complete(self._holding)
        self._loop.close()

    async def _play(self, n_calls: int) -> None:
        arguments = {"to": "sam@example.com", "body": "Lunch at noon? " * 20}
        for _ in range(n_calls):
            await self._calls[self._current]("send_mail", arguments)

    async def _hold(self) -> None:
        from openinference.instrumentation.mcp import MCPInstrumentor

        async with contextlib.AsyncExitStack() as stack:
            self._calls["bare"] = _caller(await stack.enter_async_context(_connected()))
            MCPInstrumentor().instrument()
            try:
                carried = _caller(await stack.enter_async_context(_connected()))
            finally:
                MCPInstrumentor().uninstrument()
            self._calls["spans"] = carried
            self._calls["content"] = self._tools.tool(carried, name="send_mail")
            self._ready.set()
            await self._done.wait()


def _caller(session: Any) -> Callable[..., Awaitable[Any]]:
    async def call(name: str, arguments: dict[str, Any]) -> Any:
        return await session.call_tool(name, arguments)

    return call


@contextlib.asynccontextmanager
async def _connected() -> AsyncIterator[Any]:
    from mcp import ClientSession, StdioServerParameters
    from mcp.client import stdio

    way = StdioServerParameters(command=sys.executable, args=["-c", _SERVER])
    async with stdio.stdio_client(way) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        await session.list_tools()
        yield session


_SERVER = """
from mcp.server.mcpserver import MCPServer
from tracedance_sdk.testing import Desk
server = MCPServer("desk")
for tool in Desk().tools:
    server.add_tool(tool)
server.run()
"""

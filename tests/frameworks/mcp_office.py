"""A small office as an MCP server, in both generations of the library, and ways to reach it.

Run as a program it serves: ``python -m tests.frameworks.mcp_office stdio`` or ``http PORT``.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import tracedance_sdk as td

ROOT = Path(__file__).parents[2]
HAS_CLIENT = False
try:
    from mcp.server.mcpserver import MCPServer as Server

    HAS_CLIENT = True
except ImportError:
    from mcp.server.fastmcp import FastMCP as Server


@td.tool(effect="read")
def look_up(name: str) -> str:
    """Return a number."""
    return f"number of {name}"


@td.tool
def find_contact(name: str) -> dict[str, str]:
    """Find somebody."""
    return {"name": name, "phone": look_up(name)}


def add(first: int, second: int) -> int:
    """Add."""
    return first + second


def greet(name: str) -> str:
    """Greet."""
    return f"hello {name}"


def print_page(page: str) -> str:
    """Print."""
    raise ValueError(f"the printer is on fire: {page}")


async def wait(seconds: float, word: str) -> str:
    """Wait, then answer."""
    await asyncio.sleep(seconds)
    return word


TOOLS: tuple[Callable[..., Any], ...] = (find_contact, add, greet, print_page, wait)


def office(*more: Callable[..., Any]) -> Any:
    """Return the server."""
    return server_of(*TOOLS, *more)


def server_of(*tools: Callable[..., Any]) -> Any:
    """Return a server with these tools alone."""
    server = Server("office")
    for function in tools:
        server.add_tool(function)
    return server


@contextlib.asynccontextmanager
async def session_of(server: Any) -> AsyncIterator[Any]:
    """Connect a session to a server in this process."""
    if not HAS_CLIENT:
        from mcp.shared.memory import create_connected_server_and_client_session

        async with create_connected_server_and_client_session(server) as session:
            yield session
        return
    from mcp import ClientSession
    from mcp.client._memory import InMemoryTransport

    async with InMemoryTransport(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        yield session


@contextlib.asynccontextmanager
async def client_of(server: Any) -> AsyncIterator[Any]:
    """Connect the high-level client to a server in this process."""
    from mcp import Client

    async with Client(server) as client:
        yield client


CONNECTIONS = (session_of, client_of) if HAS_CLIENT else (session_of,)


@contextlib.asynccontextmanager
async def by_stdio(settings: dict[str, str]) -> AsyncIterator[Any]:
    """Connect a session to a server in a process of its own, by its pipes."""
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    with Path(os.devnull).open("w") as nowhere:  # noqa: ASYNC230  # it does not block
        way = StdioServerParameters(
            command=sys.executable,
            args=["-m", "tests.frameworks.mcp_office", "stdio"],
            env={**os.environ, **settings},
            cwd=ROOT,
        )
        async with (
            stdio_client(way, errlog=nowhere) as (read, write),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            yield session


@contextlib.asynccontextmanager
async def by_http(settings: dict[str, str]) -> AsyncIterator[Any]:
    """Connect a session to a server in a process of its own, by streamable HTTP."""
    from mcp import ClientSession
    from mcp.client import streamable_http

    connect: Any = (
        getattr(streamable_http, "streamable_http_client", None)
        or streamable_http.streamablehttp_client
    )
    with _serving(settings) as url:
        async with (
            connect(url) as streams,
            ClientSession(streams[0], streams[1]) as session,
        ):
            await session.initialize()
            yield session


@contextlib.contextmanager
def _serving(settings: dict[str, str]) -> Iterator[str]:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.frameworks.mcp_office", "http", str(port)],
        env={**os.environ, **settings},
        cwd=ROOT,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(300):
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port)).close()
                break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.wait()


def main() -> None:
    """Serve, with the integration installed unless told otherwise."""
    if os.environ.get("OFFICE_IS_PLAIN") is None:
        from tracedance_integrations import mcp as td_mcp

        td_mcp.install()
    if os.environ.get("OFFICE_SPANS"):
        _write_spans(os.environ["OFFICE_SPANS"])
    server = office()
    if os.environ.get("OFFICE_RECORDS"):
        with td.TraceRecorder(agent="the office's own"):
            _serve(server)
    else:
        _serve(server)


def _serve(server: Any) -> None:
    if sys.argv[1] == "stdio":
        server.run()
        return
    app = server.streamable_http_app()
    import_module("uvicorn").run(app, host="127.0.0.1", port=int(sys.argv[2]), log_level="error")


def _write_spans(path: str) -> None:
    """Be a program that uses OpenTelemetry, and has told us of its provider."""
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

    out = Path(path).open("w")  # noqa: SIM115  # as long as the process lives
    provider = TracerProvider()
    exporter = ConsoleSpanExporter(out=out, formatter=lambda span: span.to_json(indent=None) + "\n")
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    td.configure(tracer_provider=provider)


if __name__ == "__main__":
    main()

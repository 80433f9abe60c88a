"""MCP beside the tracing of others, and in frameworks that have clients of their own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="frameworks: mcp is not installed in this environment")

from tracedance_collectors.journal import collector
from tracedance_integrations import mcp as td_mcp
from tracedance_integrations.mcp import sending

import tracedance_sdk as td
from tests.frameworks import mcp_office
from tests.frameworks.mcp_office import by_stdio, office
from tests.frameworks.test_mcp import spy
from tracedance_sdk.testing import Desk, mail, scripted_models

pytestmark = [
    pytest.mark.needs("mcp"),
    # Older versions warn of what they themselves do.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Field 'lifespan' has an incomplete definition"),
]


@contextlib.contextmanager
def ours() -> Iterator[None]:
    td_mcp.install()
    try:
        yield
    finally:
        td_mcp.uninstall()


@contextlib.contextmanager
def openinference() -> Iterator[None]:
    """Have OpenInference's instrumentation installed."""
    instrumentation = pytest.importorskip(
        "openinference.instrumentation.mcp", reason="frameworks: OpenInference's is not installed"
    )
    instrumentor = instrumentation.MCPInstrumentor()
    instrumentor.instrument()
    try:
        yield
    finally:
        instrumentor.uninstrument()


@contextlib.contextmanager
def span_of_the_programs() -> Iterator[str]:
    """Be in a span of a provider that is nobody's but the program's; give its trace's id."""
    from opentelemetry.sdk.trace import TracerProvider

    with TracerProvider().get_tracer("shop").start_as_current_span("order") as span:
        yield f"{span.get_span_context().trace_id:032x}"


@pytest.mark.cell("mcp client", "beside others", package="mcp")
@pytest.mark.cell("mcp server", "beside others", package="mcp")
@pytest.mark.parametrize("around", [(openinference, ours), (ours, openinference)],
                         ids=["theirs-first", "ours-first"])  # fmt: skip
def test_beside_openinference_client_and_server_are_one_trace(around: Any, tmp_path: Path) -> None:
    recorder: Any = td.TraceRecorder(agent="clerk", journal=tmp_path / "a")

    async def main() -> None:
        async with by_stdio({"TRACEDANCE_JOURNAL": str(tmp_path / "b")}) as session:
            with span_of_the_programs():
                async with recorder:
                    await session.call_tool("find_contact", {"name": "Sam"})

    with around[0](), around[1]():
        asyncio.run(main())
    assert not recorder.close().faults
    found: Any = collector.collect(tmp_path / "b")
    (theirs,) = found
    assert [call.name for call in recorder.trace.calls] == ["find_contact"]
    assert theirs.parent.trace_id == recorder.trace.id
    assert theirs.otel.trace_id == recorder.trace.otel.trace_id


@pytest.mark.cell("mcp client", "beside others", package="mcp")
def test_the_programs_span_is_told_where_no_recorder_is_open_and_ours_where_one_is() -> None:
    metas: list[Any] = []
    with ours(), span_of_the_programs() as trace_id:
        recorder: Any = td.TraceRecorder()

        async def main() -> None:
            async with mcp_office.session_of(office(spy(metas))) as session:
                await session.call_tool("spy")
                async with recorder:
                    await session.call_tool("spy")
                await session.call_tool("spy")

        asyncio.run(main())
    told = [meta.get("traceparent", "-").split("-")[1] for meta in metas]
    # Before version 2 the library itself tells nothing.
    theirs = trace_id if mcp_office.HAS_CLIENT else ""
    assert told == [theirs, recorder.trace.otel.trace_id, theirs]
    assert [sending.KEY in meta for meta in metas] == [False, True, False]


DESK = """
import sys
from tracedance_sdk.testing import Desk, mail
from tests.frameworks.mcp_office import Server
server = Server("desk")
for tool in mail(Desk()).tools:
    server.add_tool(tool)
server.run()
"""
"""A server with the tools of the scene, in a process of its own."""


def _seen(trace: Any) -> list[Any]:
    return [(call.name, call.arguments, call.result.content, call.bound_by) for call in trace.calls]


def _wanted(prefix: str = "") -> list[Any]:
    sent = {"to": "sam@example.com", "body": "Lunch at noon?"}
    return [
        (f"{prefix}find_contact", {"name": "Sam"}, "sam@example.com", "id"),
        (f"{prefix}send_mail", sent, "sent to sam@example.com: Lunch at noon?", "id"),
    ]


@pytest.mark.cell("mcp client", "async", package="mcp")
@pytest.mark.needs("agents", "openai")
def test_a_tool_of_openai_agents_and_the_request_in_it_are_one_call() -> None:
    from agents import Agent, OpenAIChatCompletionsModel, Runner
    from agents.mcp import MCPServerStdio
    from openai import AsyncOpenAI
    from tracedance_integrations import openai_agents as td_agents

    scene = mail(Desk())
    params: Any = {
        "command": sys.executable,
        "args": ["-c", DESK],
        "env": {**os.environ, "PYTHONPATH": str(mcp_office.ROOT)},
    }
    recorder: Any = td.TraceRecorder()

    async def main(url: str) -> None:
        client = AsyncOpenAI(base_url=url, api_key="fake", max_retries=0)
        async with MCPServerStdio(params=params, client_session_timeout_seconds=60) as server:
            agent = Agent(
                scene.agent,
                instructions=scene.system,
                mcp_servers=[server],
                model=OpenAIChatCompletionsModel("scripted", client),
            )
            async with recorder:
                found = await Runner.run(agent, scene.user)
        assert found.final_output == scene.end
        await client.close()

    td_agents.install()
    with ours(), scripted_models(scene) as endpoint:
        asyncio.run(main(endpoint.openai_url))
    td_agents.uninstall()
    assert not recorder.close().faults
    assert _seen(recorder.trace) == _wanted()
    assert [tool.name for tool in recorder.trace.tools] == [f.__name__ for f in scene.tools]


@pytest.mark.cell("mcp client", "async", package="mcp")
@pytest.mark.needs("pydantic_ai", "fastmcp", "openai")
@pytest.mark.parametrize("prefix", ["", "desk_"])
def test_a_tool_of_pydantic_ai_and_the_request_in_it_are_one_call(prefix: str) -> None:
    from fastmcp.client.transports import StdioTransport
    from openai import AsyncOpenAI
    from pydantic_ai import Agent
    from pydantic_ai.mcp import MCPToolset
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider
    from tracedance_integrations import pydantic_ai as td_pydantic_ai

    scene = mail(Desk())
    steps = tuple(
        step._replace(calls=tuple((f"{prefix}{name}", given) for name, given in step.calls))
        for step in scene.steps
    )
    scene = scene._replace(steps=steps)
    environment = {**os.environ, "PYTHONPATH": str(mcp_office.ROOT)}
    recorder: Any = td.TraceRecorder()

    async def main(url: str) -> None:
        client = AsyncOpenAI(base_url=url, api_key="fake", max_retries=0)
        model = OpenAIChatModel("scripted", provider=OpenAIProvider(openai_client=client))
        tools: Any = MCPToolset(StdioTransport(sys.executable, ["-c", DESK], env=environment))
        if prefix:
            tools = tools.prefixed(prefix.rstrip("_"))
        agent = Agent(model, name=scene.agent, system_prompt=scene.system, toolsets=[tools])
        async with agent, recorder:
            found = await agent.run(scene.user)
        assert found.output == scene.end
        await client.close()

    td_pydantic_ai.install()
    with ours(), scripted_models(scene) as endpoint:
        asyncio.run(main(endpoint.openai_url))
    td_pydantic_ai.uninstall()
    assert not recorder.close().faults
    assert _seen(recorder.trace) == _wanted(prefix)

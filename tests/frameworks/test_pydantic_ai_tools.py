"""Tools of Pydantic AI: those that fail, wait, are decorated, or an MCP server's."""

import asyncio
import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

import tracedance_sdk as td
from tests.frameworks.pydantic_ai_scripts import (
    call,
    cell,
    look,
    recording,
    saying,
    text,
    told,
)
from tests.frameworks.recorded_answers import Recorded
from tracedance_sdk.recording import answers_from

pytestmark = [
    pytest.mark.needs("pydantic_ai"),
    pytest.mark.usefixtures("own_loop"),
    pytest.mark.installs("pydantic_ai"),
]


class TestTools:
    @cell("tool error")
    def test_a_retry_and_refused_arguments_are_failed_calls_and_the_run_goes_on(self) -> None:
        from pydantic_ai import Agent, ModelRetry

        turns = (
            [call("read", "c1", n=1)],
            [call("read", "c2", n="x")],
            [call("read", "c3", n=3)],
            [text("done")],
        )
        agent: Any = Agent(saying(*turns), retries=5)

        def read(n: int) -> int:
            if n == 1:
                raise ModelRetry("not this one")
            return n

        agent.tool_plain(read)

        with recording() as recorder:
            agent.run_sync("go")
        assert told(recorder.trace) == [
            ("user", "go"),
            ("assistant", ""),
            ("c1", "read", {"n": 1}, "ModelRetry"),
            ("assistant", ""),
            ("c2", "read", {"n": "x"}, "ValidationError"),
            ("assistant", ""),
            ("c3", "read", {"n": 3}, 3),
            ("assistant", "done"),
        ]

    @cell("replay")
    def test_a_recorded_retry_is_a_retry_again(self) -> None:
        from pydantic_ai import Agent, ModelRetry

        def play() -> tuple[td.TraceRecorder, str, list[int]]:
            ran: list[int] = []
            turns = [call("read", "c1", n=1)], [call("read", "c2", n=2)], [text("done")]
            agent: Any = Agent(saying(*turns), retries=2)

            def read(n: int) -> dict[str, int]:
                ran.append(n)
                if n == 1:
                    raise ModelRetry("not this one")
                return {"n": n}

            agent.tool_plain(read)

            with recording() as recorder:
                output = agent.run_sync("go").output
            return recorder, output, ran

        first, _, _ = play()
        with answers_from(Recorded(first.trace)):
            second, output, ran = play()
        assert (output, ran) == ("done", [])
        assert told(second.trace) == told(first.trace)

    def test_a_decorated_function_is_one_call(self) -> None:
        from pydantic_ai import Agent

        agent: Any = Agent(saying([call("look", "c1", n=1)], [text("done")]), tools=[td.tool(look)])
        with recording() as recorder:
            agent.run_sync("go")
        assert told(recorder.trace)[2:-1] == [("c1", "look", {"n": 1}, 2)]

    def test_a_call_has_the_name_and_the_arguments_that_the_model_gave(self) -> None:
        from pydantic import BaseModel
        from pydantic_ai import Agent
        from pydantic_ai.toolsets import CombinedToolset, FunctionToolset

        class Place(BaseModel):
            city: str
            days: int = 0

        def visit(place: Place, days: int) -> Place:
            return place.model_copy(update={"days": days})

        inner = CombinedToolset([FunctionToolset(tools=[visit]).prefixed("travel")])
        turns = [call("travel_visit", "c1", place={"city": "Ulm"}, days="2")], [text("done")]
        agent: Any = Agent(saying(*turns), toolsets=[inner])
        with recording() as recorder:
            agent.run_sync("go")
        assert told(recorder.trace)[2:-1] == [
            (
                "c1",
                "travel_visit",
                {"place": {"city": "Ulm"}, "days": "2"},
                {"city": "Ulm", "days": 2},
            )
        ]

    def test_what_a_tool_returns_is_told_without_what_it_adds(self) -> None:
        from pydantic_ai import Agent, ToolReturn

        agent: Any = Agent(saying([call("shot", "c1")], [text("done")]))

        def shot() -> ToolReturn:
            return ToolReturn(return_value={"taken": True}, content="Look at the corner.")

        agent.tool_plain(shot)

        with recording() as recorder:
            agent.run_sync("go")
        assert told(recorder.trace)[2:] == [
            ("c1", "shot", {}, {"taken": True}),
            ("user", "Look at the corner."),
            ("assistant", "done"),
        ]

    @pytest.mark.parametrize("kind", ["text", "list", "file"])
    def test_what_a_tool_adds_for_the_model_is_told_by_nobody_in_person(self, kind: str) -> None:
        from pydantic_ai import Agent, BinaryContent, ToolReturn

        added: Any = {
            "text": "Look at the corner.",
            "list": ["Look at", "the corner."],
            "file": ["This is it:", BinaryContent(b"GIF89a", media_type="image/gif")],
        }[kind]
        agent: Any = Agent(saying([call("shot", "c1")], [text("done")], [text("again")]))

        def shot() -> ToolReturn:
            return ToolReturn(return_value={"taken": True}, content=added)

        agent.tool_plain(shot)

        with recording() as recorder:
            history = agent.run_sync("go").all_messages()
            agent.run_sync("And now?", message_history=history)
        users = [turn for turn in recorder.trace.turns if turn.role == "user"]
        assert [turn.origin for turn in users] == ["human", "environment", "human"]
        assert users[2].text == "And now?"
        assert (len(recorder.trace.turns), len(recorder.trace.calls)) == (6, 1)

    def test_a_call_that_waited_for_approval_is_one_call(self) -> None:
        from pydantic_ai import (
            Agent,
            ApprovalRequired,
            DeferredToolRequests,
            DeferredToolResults,
            RunContext,
        )

        calls = [call("remove", "c1", n=1), call("clear", "c2", n=2)]
        output: Any = [str, DeferredToolRequests]
        agent: Any = Agent(saying(calls, [text("done")]), output_type=output)

        def remove(ctx: RunContext[None], n: int) -> str:
            if not ctx.tool_call_approved:
                raise ApprovalRequired
            return f"removed {n}"

        agent.tool(remove)

        def clear(n: int) -> str:
            return f"cleared {n}"

        agent.tool_plain(requires_approval=True)(clear)

        with recording() as recorder:
            first = agent.run_sync("go")
            given = DeferredToolResults(approvals={"c1": True, "c2": True})
            history = first.all_messages()
            agent.run_sync(message_history=history, deferred_tool_results=given)
        assert told(recorder.trace) == [
            ("user", "go"),
            ("assistant", ""),
            ("c1", "remove", {"n": 1}, "removed 1"),
            ("c2", "clear", {"n": 2}, "cleared 2"),
            ("assistant", "done"),
        ]

    def test_the_tools_of_an_mcp_server_are_recorded(self, tmp_path: Path) -> None:
        pytest.importorskip("mcp")
        from pydantic_ai import Agent

        script = tmp_path / "server.py"
        script.write_text(SERVER)
        turns = (
            [call("desk_find", "c1", name="nobody")],
            [call("desk_find", "c2", name="sam")],
            [text("done")],
        )
        toolset = mcp_server(script)
        agent: Any = Agent(saying(*turns), toolsets=[toolset.prefixed("desk")])

        async def play() -> None:
            async with agent:
                await agent.run("go")

        with recording() as recorder:
            asyncio.run(play())
        calls = [entry for entry in told(recorder.trace) if len(entry) == 4]
        assert calls == [
            ("c1", "desk_find", {"name": "nobody"}, "ModelRetry"),
            ("c2", "desk_find", {"name": "sam"}, "sam@example.com"),
        ]


SERVER = '''
try:
    from mcp.server.fastmcp import FastMCP
except ImportError:
    from mcp.server import MCPServer as FastMCP

server = FastMCP("desk")

@server.tool()
def find(name: str) -> str:
    """Return an address."""
    if name == "nobody":
        raise ValueError("there is nobody of that name")
    return f"{name}@example.com"

server.run()
'''


def mcp_server(script: Path) -> Any:
    try:
        from pydantic_ai.mcp import MCPServerStdio
    except ImportError:
        from pydantic_ai.mcp import MCPToolset

        transports = importlib.import_module("fastmcp.client.transports")
        transport = transports.StdioTransport(sys.executable, [str(script)])
        return MCPToolset(transport, init_timeout=60)
    return MCPServerStdio(sys.executable, [str(script)], timeout=60)

"""MCP: what the functions raised that tools are, and the definitions that a server has of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="frameworks: mcp is not installed in this environment")

from tracedance_collectors.journal import collector
from tracedance_integrations.mcp import functions

import tracedance_sdk as td
from tests.frameworks import mcp_office
from tests.frameworks.mcp_office import CONNECTIONS, by_stdio, office, session_of
from tracedance_sdk.recording.guard import PROCESS_FAULTS
from tracedance_sdk.recording.integrating import ToolUse, start_agent

pytestmark = [
    pytest.mark.needs("mcp"),
    pytest.mark.installs("mcp"),
    # Older versions warn of what they themselves do.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Field 'lifespan' has an incomplete definition"),
]

Play = Callable[[Any], Awaitable[Any]]


def cell(capability: str) -> pytest.MarkDecorator:
    return pytest.mark.cell("mcp server", capability, package="mcp")


@pytest.fixture(params=CONNECTIONS, ids=lambda connect: connect.__name__)
def connect(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Path]:
    td.configure(journal=tmp_path / "server")
    yield tmp_path / "server"
    td.configure()


def serve(connect: Any, server: Any, play: Play) -> None:
    """Let a client play with a server in this process, with nobody recording the client."""

    async def main() -> None:
        async with connect(server) as client:
            await play(client)

    asyncio.run(main())


def calling(name: str, arguments: dict[str, Any] | None = None) -> Play:
    async def play(client: Any) -> None:
        await client.call_tool(name, arguments or {})

    return play


def traces_in(folder: Path) -> list[Any]:
    return list(collector.collect(folder))


def error_of(call: Any) -> tuple[Any, str, str]:
    return call.result.ok, call.result.error.type, call.result.error.message


def get_order(order: str) -> str:
    raise KeyError(f"no order {order}")


async def get_order_slowly(order: str) -> str:
    await asyncio.sleep(0)
    raise KeyError(f"no order {order}")


ORDERS = pytest.mark.parametrize("tool", [get_order, get_order_slowly], ids=lambda f: f.__name__)


@cell("tool error")
@ORDERS
def test_a_server_records_what_the_function_raised(
    connect: Any, tool: Callable[..., Any], journal: Path
) -> None:
    serve(connect, office(tool), calling(tool.__name__, {"order": "A9"}))
    (trace,) = traces_in(journal)
    assert error_of(trace.calls[0]) == (False, "KeyError", "'no order A9'")
    # What the client was shown stays beside it.
    assert "rror executing tool" in trace.calls[0].result.content


@cell("tool error")
@ORDERS
def test_so_does_a_client_in_the_same_process(connect: Any, tool: Callable[..., Any]) -> None:
    recorder: Any = td.TraceRecorder()

    async def main() -> None:
        async with connect(office(tool)) as client, recorder:
            found = await client.call_tool(tool.__name__, {"order": "A9"})
            assert "rror executing tool" in found.content[0].text

    asyncio.run(main())
    assert not recorder.close().faults
    (call,) = recorder.trace.calls
    assert error_of(call) == (False, "KeyError", "'no order A9'")


@cell("tool error")
def test_a_server_in_another_process_has_the_reason_and_its_client_what_it_was_told(
    tmp_path: Path,
) -> None:
    recorder: Any = td.TraceRecorder(agent="clerk")

    async def main() -> None:
        async with by_stdio({"TRACEDANCE_JOURNAL": str(tmp_path)}) as session, recorder:
            await session.call_tool("print_page", {"page": "1"})

    asyncio.run(main())
    (theirs,) = traces_in(tmp_path)
    assert error_of(theirs.calls[0]) == (False, "ValueError", "the printer is on fire: 1")
    assert recorder.trace.calls[0].result.error.type == "tool_error"


@cell("tool error")
def test_what_no_function_raised_is_the_servers_error(connect: Any, journal: Path) -> None:
    async def play(client: Any) -> None:
        await client.call_tool("no_such_tool", {})
        await client.call_tool("add", {"first": "one"})

    serve(connect, office(), play)
    assert [t.calls[0].result.error.type for t in traces_in(journal)] == ["tool_error"] * 2


@cell("tool error")
def test_a_failure_within_that_the_function_survives_is_not_its_own(
    connect: Any, journal: Path
) -> None:
    async def try_both(order: str) -> str:
        try:
            await server.call_tool("get_order", {"order": order})
        except Exception:  # noqa: BLE001  # whatever the library makes of it
            return "there is none"
        return "there is one"

    server = office(get_order, try_both)
    serve(connect, server, calling("try_both", {"order": "A9"}))
    (call,) = traces_in(journal)[0].calls
    assert (call.result.ok, call.result.content) == (True, "there is none")


@cell("tool error")
def test_a_call_that_is_tried_again_and_succeeds_is_no_failure(connect: Any, journal: Path) -> None:
    tries = []

    def open_door() -> str:
        tries.append(1)
        if len(tries) == 1:
            raise TimeoutError("stuck")
        return "open"

    server = office(open_door)
    once = server._tool_manager.call_tool

    async def twice(*args: Any, **kwargs: Any) -> Any:
        try:
            return await once(*args, **kwargs)
        except Exception:  # noqa: BLE001  # whatever the library makes of it
            return await once(*args, **kwargs)

    server._tool_manager.call_tool = twice
    serve(connect, server, calling("open_door"))
    (call,) = traces_in(journal)[0].calls
    assert (call.result.ok, call.result.content) == (True, "open")


@cell("tool error")
def test_an_error_of_the_protocol_that_a_function_raises_keeps_its_code(journal: Path) -> None:
    from mcp.shared import exceptions
    from mcp.types import ErrorData

    kind: Any = getattr(exceptions, "MCPError", None)

    def refuse() -> str:
        if kind is None:
            raise exceptions.McpError(ErrorData(code=-32050, message="closed"))
        raise kind(code=-32050, message="closed")

    async def play(client: Any) -> None:
        try:
            await client.call_tool("refuse", {})
        except Exception as error:  # noqa: BLE001  # one generation raises it
            assert "closed" in str(error)  # noqa: PT017

    serve(session_of, office(refuse), play)
    told = error_of(traces_in(journal)[0].calls[0])
    assert told == (
        (False, "tool_error", "Error executing tool refuse: closed")
        if kind is None
        else (False, "-32050", "closed")
    )


@cell("nested agents")
def test_the_definitions_of_a_servers_tools_are_on_record(connect: Any, journal: Path) -> None:
    serve(connect, office(), calling("find_contact", {"name": "Sam"}))
    (trace,) = traces_in(journal)
    # A decorated function that is no tool of the server's is known by its use.
    names = [tool.name for tool in trace.tools]
    assert names == [*(f.__name__ for f in mcp_office.TOOLS), "look_up"]
    assert trace.tools[1].description == "Add."
    assert set(trace.tools[1].parameters["properties"]) == {"first", "second"}


@cell("nested agents")
def test_a_server_in_another_process_misses_no_tools(tmp_path: Path) -> None:
    async def main() -> None:
        async with by_stdio({"TRACEDANCE_JOURNAL": str(tmp_path)}) as session:
            await session.call_tool("greet", {"name": "Sam"})

    asyncio.run(main())
    (trace,) = traces_in(tmp_path)
    assert "tools_missing" not in {note.kind for note in trace.fidelity.notes}
    assert [tool.name for tool in trace.tools] == [f.__name__ for f in mcp_office.TOOLS]


@cell("nested agents")
def test_server_and_client_have_the_same_definitions(connect: Any, journal: Path) -> None:
    recorder: Any = td.TraceRecorder(journal=None)

    async def play(client: Any) -> None:
        await client.call_tool("greet", {"name": "Sam"})
        with recorder:
            await client.list_tools()

    serve(connect, office(), play)
    ours = {tool.name: (tool.description, tool.parameters) for tool in recorder.trace.tools}
    (trace,) = [t for t in traces_in(journal) if t.agent.name == "office"]
    assert {tool.name: (tool.description, tool.parameters) for tool in trace.tools} == ours


@cell("nested agents")
def test_tools_of_a_server_are_not_those_of_an_agent_that_works_around_it() -> None:
    recorder: Any = td.TraceRecorder()

    async def main() -> None:
        operation = start_agent("clerk")
        tokens = operation.enter()
        async with session_of(office()) as session:
            from tracedance_integrations import mcp as td_mcp

            td_mcp.uninstall()
            call = session.call_tool  # of a client that is in another process, as far as we see
            td_mcp.install()
            await call("greet", {"name": "Sam"})
        operation.leave(tokens)
        operation.succeed(None)

    with recorder:
        asyncio.run(main())
    assert [call.name for call in recorder.trace.calls] == ["greet"]
    assert recorder.trace.tools == ()


def low_level() -> Any:
    """Return a server that is told of calls by a handler, and of a tool."""
    from mcp import types
    from mcp.server.lowlevel import Server

    schema = {"type": "object", "properties": {"page": {"type": "string"}}}
    tool = types.Tool.model_validate(
        {"name": "print_page", "description": "Print.", "inputSchema": schema}
    )
    if mcp_office.HAS_CLIENT:

        async def listed(*_: Any) -> Any:
            return types.ListToolsResult(tools=[tool])

        async def called(_: Any, params: Any) -> Any:
            raise KeyError(params.arguments["page"])

        return Server("low", on_list_tools=listed, on_call_tool=called)
    server: Any = Server("low")

    @server.list_tools()  # type: ignore[untyped-decorator]  # of the older library
    async def list_tools() -> Any:
        return [tool]

    @server.call_tool()  # type: ignore[untyped-decorator]  # of the older library
    async def call_tool(_: str, arguments: Any) -> Any:
        raise KeyError(arguments["page"])

    return server


@cell("tool error")
def test_what_a_handler_of_calls_raises_is_on_record_and_what_it_lists(journal: Path) -> None:
    async def play(client: Any) -> None:
        await client.list_tools()
        try:
            await client.call_tool("print_page", {"page": "7"})
        except Exception as error:  # noqa: BLE001  # one generation raises it
            assert type(error).__name__ == "MCPError"  # noqa: PT017

    serve(session_of, low_level(), play)
    (trace,) = traces_in(journal)
    assert error_of(trace.calls[0]) == (False, "KeyError", "'7'")
    assert [(tool.name, tool.description) for tool in trace.tools] == [("print_page", "Print.")]


@pytest.mark.parametrize("name", ["_describe_registered", "_describe_listed", "_keep"])
def test_a_fault_of_ours_leaves_the_server_at_work(
    name: str, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("ours")

    got: list[str] = []

    async def play(client: Any) -> None:
        found = await client.call_tool("get_order", {"order": "A9"})
        got.append(found.content[0].text)

    serve(session_of, office(get_order), play)
    monkeypatch.setattr(functions, name, broken)
    before = PROCESS_FAULTS.copy()
    serve(session_of, office(get_order), play)
    assert got[0] == got[1]
    assert before == PROCESS_FAULTS  # it is counted in the run
    assert all(call.result.ok is False for trace in traces_in(journal) for call in trace.calls)


@pytest.mark.cell("mcp client", "tool error", package="mcp")
def test_the_reason_is_that_of_a_frameworks_call_too_whose_body_the_request_is() -> None:
    recorder: Any = td.TraceRecorder()

    async def main() -> None:
        async with session_of(office(get_order)) as session, recorder:
            given = {"order": "A9"}
            use = ToolUse("shop_get_order", given)
            await use.run_async(lambda: session.call_tool("get_order", given))

    asyncio.run(main())
    (call,) = recorder.trace.calls
    assert error_of(call) == (False, "KeyError", "'no order A9'")

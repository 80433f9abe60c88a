"""Clients of MCP servers, recorded by the integration."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

pytest.importorskip("mcp", reason="frameworks: mcp is not installed in this environment")

from tracedance_integrations import mcp as td_mcp
from tracedance_integrations.mcp import results, sending

import tracedance_sdk as td
from tests.frameworks import mcp_office
from tests.frameworks.mcp_office import CONNECTIONS, office
from tests.frameworks.recorded_answers import Recorded
from tracedance_sdk.errors import MissingDependency
from tracedance_sdk.recording import AskedCall, GivenAnswer, LetRun, TraceRecorder, answers_from
from tracedance_sdk.recording.guard import PROCESS_FAULTS
from tracedance_sdk.testing import SECRET
from tracedance_sdk.trace import Result, encode_json

pytestmark = [
    pytest.mark.needs("mcp"),
    # Older versions warn of what they themselves do.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Field 'lifespan' has an incomplete definition"),
]

Connect = Callable[[Any], Any]


def cell(capability: str) -> pytest.MarkDecorator:
    return pytest.mark.cell("mcp client", capability, package="mcp")


@pytest.fixture(params=CONNECTIONS, ids=lambda connect: connect.__name__)
def connect(request: pytest.FixtureRequest) -> Any:
    return request.param


def record(
    connect: Connect,
    play: Callable[[Any], Awaitable[Any]],
    *more: Callable[..., Any],
    **options: Any,
) -> Any:
    """Return the recorder in which a client plays with the office; nothing went wrong in us."""
    recorder = TraceRecorder(agent="clerk", **options)

    async def main() -> None:
        async with connect(office(*more)) as client, recorder:
            await play(client)

    asyncio.run(main())
    assert not recorder.close().faults
    return recorder


def seen(trace: Any) -> list[Any]:
    return [
        (call.name, call.arguments, call.result.ok, call.result.content) for call in trace.calls
    ]


@cell("async")
@pytest.mark.installs("mcp")
def test_calls_of_a_client_are_calls_of_the_run_with_the_values_that_came_back(
    connect: Connect,
) -> None:
    def plain() -> dict[str, Any]:
        return {"result": 1, "none": None}

    async def play(client: Any) -> None:
        await client.call_tool("add", {"first": 1, "second": 2})
        await client.call_tool("greet", {"name": "Sam"})
        await client.call_tool("plain")

    trace = record(connect, play, plain).trace
    assert [call.requested_by for call in trace.calls] == ["agent"] * 3
    assert seen(trace)[:2] == [
        ("add", {"first": 1, "second": 2}, True, 3),
        ("greet", {"name": "Sam"}, True, "hello Sam"),
    ]
    assert seen(trace)[2][:3] == ("plain", {}, True)
    content = trace.calls[2].result.content
    # Without a schema of the tool's, servers give no structure.
    content = json.loads(content) if isinstance(content, str) else content
    assert content == {"result": 1, "none": None}


@pytest.mark.installs("mcp")
def test_a_decorated_function_in_the_same_process_is_the_call_and_what_it_calls_is_within(
    connect: Connect,
) -> None:
    async def play(client: Any) -> None:
        await client.call_tool("find_contact", {"name": "Sam"})

    recorder = record(connect, play)
    assert seen(recorder.trace) == [
        ("find_contact", {"name": "Sam"}, True, {"name": "Sam", "phone": "number of Sam"}),
        ("look_up", {"name": "Sam"}, True, "number of Sam"),
    ]
    assert [call.requested_by for call in recorder.trace.calls] == ["agent", "tool"]
    assert len(recorder.traces) == 1


@pytest.mark.installs("mcp")
def test_listed_tools_are_the_definitions_of_the_run(connect: Connect) -> None:
    async def play(client: Any) -> None:
        await client.list_tools()
        await client.list_tools()

    tools = record(connect, play).trace.tools
    assert [tool.name for tool in tools] == [f.__name__ for f in mcp_office.TOOLS]
    assert {tool.origin for tool in tools} == {"recorded"}
    assert tools[1].description == "Add."
    assert set(tools[1].parameters["properties"]) == {"first", "second"}


@pytest.mark.installs("mcp")
def test_tools_that_a_tool_lists_are_not_the_agents(connect: Connect) -> None:
    async def play(client: Any) -> None:
        @td.tool
        async def outer() -> int:
            await client.list_tools()
            found = await client.call_tool("add", {"first": 1, "second": 1})
            return len(found.content)

        await outer()

    trace = record(connect, play).trace
    assert [(call.name, call.requested_by) for call in trace.calls] == [
        ("outer", "agent"),
        ("add", "tool"),
    ]
    assert [tool.name for tool in trace.tools] == ["outer"]


@cell("parallel calls")
@pytest.mark.installs("mcp")
def test_parallel_calls_keep_their_own_results(connect: Connect) -> None:
    async def play(client: Any) -> None:
        await asyncio.gather(
            client.call_tool("wait", {"seconds": 0.2, "word": "late"}),
            client.call_tool("wait", {"seconds": 0.05, "word": "soon"}),
            client.call_tool("find_contact", {"name": "Sam"}),
        )

    trace = record(connect, play).trace
    own = [call for call in trace.calls if call.requested_by == "agent"]
    assert [call.result.content for call in own] == [
        "late",
        "soon",
        {"name": "Sam", "phone": "number of Sam"},
    ]
    assert [call.name for call in trace.calls if call.requested_by == "tool"] == ["look_up"]


@cell("tool error")
@pytest.mark.installs("mcp")
def test_a_result_that_is_an_error_is_a_failed_call_and_the_client_goes_on(
    connect: Connect,
) -> None:
    async def play(client: Any) -> None:
        found = await client.call_tool("no_such_tool", {"page": "1"})
        assert "nknown tool" in found.content[0].text
        await client.call_tool("add", {"first": 1, "second": 1})

    first, second = record(connect, play).trace.calls
    assert (first.result.ok, first.result.error.type) == (False, "tool_error")
    assert "no_such_tool" in first.result.error.message
    assert first.result.content == first.result.error.message
    assert second.result.ok is True


@pytest.mark.installs("mcp")
def test_an_error_of_a_decorated_function_is_its_own(connect: Connect) -> None:
    @td.tool
    def burn(page: str) -> str:
        raise KeyError(page)

    async def play(client: Any) -> None:
        await client.call_tool("burn", {"page": "1"})

    (call,) = record(connect, play, burn).trace.calls
    assert (call.result.ok, call.result.error.type) == (False, "KeyError")


@cell("tool error")
@pytest.mark.installs("mcp")
def test_an_error_of_the_protocol_has_its_code_for_a_type(connect: Connect) -> None:
    raised: list[Exception] = []

    async def play(client: Any) -> None:
        with pytest.raises(Exception, match="imed out") as caught:
            await client.call_tool("wait", {"seconds": 5, "word": "x"}, **_timeout(0.1))
        raised.append(caught.value)

    (call,) = record(connect, play).trace.calls
    error: Any = raised[0]
    assert call.result.error.type == str(error.error.code)
    assert call.result.error.message == error.error.message
    assert call.result.ok is False


def _timeout(seconds: float) -> dict[str, Any]:
    from datetime import timedelta

    wanted: Any = seconds if mcp_office.HAS_CLIENT else timedelta(seconds=seconds)
    return {"read_timeout_seconds": wanted}


@cell("cancellation")
@pytest.mark.installs("mcp")
def test_a_cancelled_call_is_interrupted_and_the_cancellation_passes(connect: Connect) -> None:
    async def play(client: Any) -> None:
        task = asyncio.create_task(client.call_tool("wait", {"seconds": 9, "word": "x"}))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    (call,) = record(connect, play).trace.calls
    assert (call.name, call.result.interrupted) == ("wait", True)


@cell("masking")
@pytest.mark.installs("mcp")
def test_secrets_are_masked_in_the_record_and_reach_the_server(connect: Connect) -> None:
    got: list[str] = []

    def keep(key: str) -> str:
        got.append(key)
        return f"kept {key}"

    async def play(client: Any) -> None:
        found = await client.call_tool("keep", {"key": SECRET})
        assert found.content[0].text == f"kept {SECRET}"

    trace = record(connect, play, keep).trace
    assert got == [SECRET]
    assert SECRET not in encode_json(trace).decode()
    assert "[MASKED:" in str(trace.calls[0].arguments)
    assert "[MASKED:" in str(trace.calls[0].result.content)


def places() -> list[tuple[Any, str]]:
    import mcp
    from mcp.client import stdio

    found = [(getattr(mcp, n), m) for n in ("ClientSession", "Client") if hasattr(mcp, n)
             for m in ("call_tool", "list_tools")]  # fmt: skip
    found.append((stdio, "get_default_environment"))
    if not mcp_office.HAS_CLIENT:
        from mcp.server.fastmcp.tools.tool_manager import ToolManager
        from mcp.server.fastmcp.utilities.func_metadata import FuncMetadata
        from mcp.server.lowlevel import Server
        from mcp.shared.session import BaseSession

        return [
            *found,
            (BaseSession, "send_request"),
            (Server, "_handle_request"),
            (Server, "_make_error_result"),
            (ToolManager, "call_tool"),
            (FuncMetadata, "call_fn_with_arg_validation"),
        ]
    from mcp.server.mcpserver.tools.tool_manager import ToolManager
    from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata
    from mcp.server.runner import ServerRunner
    from mcp.shared import direct_dispatcher, jsonrpc_dispatcher

    return [
        *found,
        (ServerRunner, "_compose_server_middleware"),
        (ToolManager, "call_tool"),
        (FuncMetadata, "call_fn"),
        (jsonrpc_dispatcher, "inject_trace_context"),
        (jsonrpc_dispatcher.JSONRPCDispatcher, "send_raw_request"),
        (direct_dispatcher.DirectDispatcher, "send_raw_request"),
    ]


@cell("uninstall")
def test_uninstalling_leaves_nothing(connect: Connect) -> None:
    before = [vars(owner).get(name) for owner, name in places()]
    td_mcp.install()
    td_mcp.install()
    changed = [vars(owner).get(name) for owner, name in places()]
    assert all(a is not b for a, b in zip(before, changed, strict=True))
    td_mcp.uninstall()
    td_mcp.uninstall()
    assert [vars(owner).get(name) for owner, name in places()] == before

    async def play(client: Any) -> None:
        await client.call_tool("add", {"first": 1, "second": 1})

    assert record(connect, play).trace.calls == ()


@cell("no recorder")
@pytest.mark.installs("mcp")
def test_without_a_recorder_nothing_is_sent_besides(connect: Connect) -> None:
    metas: list[Any] = []

    async def main() -> None:
        server = office(spy(metas))
        async with connect(server) as client:
            await client.call_tool("spy")
            assert (await client.call_tool("add", {"first": 1, "second": 1})).content[0].text == "2"

    asyncio.run(main())
    assert [key for key in metas[0] if key in ("traceparent", sending.KEY)] == []


def spy(metas: list[Any]) -> Callable[..., Any]:
    """Return a tool that keeps what a request says besides."""

    def spy(ctx: Any) -> str:
        meta = ctx.request_context.meta
        metas.append(meta if isinstance(meta, dict) else (meta.model_dump() if meta else {}))
        return "seen"

    spy.__annotations__ = {"ctx": _context(), "return": str}
    return spy


def _context() -> Any:
    if mcp_office.HAS_CLIENT:
        from mcp.server.mcpserver import Context
    else:
        from mcp.server.fastmcp import Context
    return Context


@cell("async")
@pytest.mark.installs("mcp")
def test_a_request_tells_which_call_it_is_made_for(connect: Connect) -> None:
    metas: list[Any] = []

    async def play(client: Any) -> None:
        await client.call_tool("spy")

    trace = record(connect, play, spy(metas)).trace
    assert trace.otel is not None
    told = metas[0][sending.KEY]
    assert (told["trace_id"], told["call_id"]) == (trace.id, trace.calls[0].id)
    assert told["traceparent"] == metas[0]["traceparent"]
    assert told["traceparent"].split("-")[1] == trace.otel.trace_id


@pytest.mark.installs("mcp")
def test_what_the_program_itself_says_besides_stays(connect: Connect) -> None:
    metas: list[Any] = []
    own = {"traceparent": f"00-{'ab' * 16}-{'cd' * 8}-01", "shop": {"id": 7}}

    async def play(client: Any) -> None:
        await client.call_tool("spy", meta=dict(own))

    trace = record(connect, play, spy(metas)).trace
    assert {key: metas[0][key] for key in own} == own
    assert metas[0][sending.KEY]["trace_id"] == trace.id


@cell("replay")
@pytest.mark.installs("mcp")
def test_recorded_answers_come_back_as_results_and_nothing_is_sent(connect: Connect) -> None:
    ran: list[str] = []

    def blocks(name: str) -> str:
        ran.append(name)
        return f"text for {name}"

    def listed(name: str) -> list[str]:
        ran.append(name)
        return [name, name]

    asked: list[tuple[str, dict[str, Any]]] = [
        ("blocks", {"name": "a"}),
        ("listed", {"name": "b"}),
        ("add", {"first": 1, "second": 2}),
        ("find_contact", {"name": "Sam"}),
        ("print_page", {"page": "1"}),
        ("no_such_tool", {}),
    ]
    got: list[list[Any]] = []

    async def play(client: Any) -> None:
        await client.list_tools()
        got.append([])
        for name, arguments in asked:
            found = await client.call_tool(name, arguments)
            wire = found.model_dump(by_alias=True, mode="json", exclude_none=True)
            got[-1].append((wire["isError"], wire.get("structuredContent"), results.outcome(found)))

    first = record(connect, play, blocks, listed).trace
    ran.clear()
    with answers_from(Recorded(first)):
        second = record(connect, play, blocks, listed).trace
    assert ran == []
    own = [call for call in first.calls if call.requested_by == "agent"]
    assert seen(second) == [(c.name, c.arguments, c.result.ok, c.result.content) for c in own]
    assert [entry[0] for entry in got[1]] == [entry[0] for entry in got[0]]
    assert [entry[2] for entry in got[1]] == [entry[2] for entry in got[0]]
    for before, after in zip(got[0], got[1], strict=True):
        assert before[1] is None or after[1] == before[1]


@cell("replay")
@pytest.mark.installs("mcp")
def test_a_recorded_error_of_the_protocol_is_raised_as_one(connect: Connect) -> None:
    from mcp.shared import exceptions

    kind: Any = getattr(exceptions, "MCPError", None) or exceptions.McpError

    class Source:
        def answer(self, asked: AskedCall, /) -> GivenAnswer:
            error = {"type": "-32001", "message": f"no time for {asked.name}"}
            return GivenAnswer(Result.model_validate({"ok": False, "error": error}))

    async def play(client: Any) -> None:
        with pytest.raises(kind) as caught:
            await client.call_tool("add", {"first": 1, "second": 2})
        assert (caught.value.error.code, caught.value.error.message) == (-32001, "no time for add")

    with answers_from(Source()):
        (call,) = record(connect, play).trace.calls
    assert (call.result.ok, call.result.error.type) == (False, "-32001")


@cell("replay")
@pytest.mark.installs("mcp")
def test_answers_reach_a_client_without_a_recorder_once(connect: Connect) -> None:
    asked: list[str] = []

    class Source:
        def answer(self, call: AskedCall, /) -> GivenAnswer | LetRun:
            asked.append(call.name)
            return LetRun() if call.name == "add" else GivenAnswer(Result(ok=True, content="far"))

    async def main() -> None:
        async with connect(office()) as client:
            found = await client.call_tool("add", {"first": 1, "second": 2})
            assert found.content[0].text == "3"
            found = await client.call_tool("greet", {"name": "Sam"})
            assert found.content[0].text == "far"

    with answers_from(Source()):
        asyncio.run(main())
    assert asked[0] == "add"
    assert asked.count("greet") == 1


@pytest.mark.installs("mcp")
@pytest.mark.parametrize(
    ("module", "name", "place"),
    [
        pytest.param(results, "outcome", "outcome: RuntimeError", id="reading-results"),
        pytest.param(sending, "_added", "trace context: RuntimeError", id="telling-the-server"),
    ],
)
def test_a_fault_of_ours_is_counted_and_the_program_is_as_without_us(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, module: Any, name: str, place: str
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("ours")

    monkeypatch.setattr(module, name, broken)
    recorder: Any = TraceRecorder()

    async def main() -> None:
        async with connect(office()) as client, recorder:
            found = await client.call_tool("add", {"first": 1, "second": 2})
            assert found.content[0].text == "3"

    asyncio.run(main())
    assert recorder.close().faults[place] == 1
    (call,) = recorder.trace.calls
    assert call.result.ok is True


@pytest.mark.installs("mcp")
def test_a_fault_in_reading_what_a_call_is_leaves_it_unrecorded(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tracedance_integrations.mcp import client as ours

    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("ours")

    monkeypatch.setattr(ours, "_use", broken)
    monkeypatch.setattr(ours, "read_tools", broken)
    recorder: Any = TraceRecorder()

    async def main() -> None:
        async with connect(office()) as client, recorder:
            await client.list_tools()
            await client.call_tool("greet", {"name": "Sam"})

    asyncio.run(main())
    faults = recorder.close().faults
    assert faults["tool: RuntimeError"] >= 1
    assert faults["tools: RuntimeError"] >= 1


def test_a_version_that_is_not_tested_is_warned_of_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from importlib import metadata

    monkeypatch.setattr(metadata, "version", lambda _: "9.1.0")
    monkeypatch.setattr(td_mcp._INTEGRATION, "_has_warned", False)
    with caplog.at_level(logging.WARNING):
        for _ in range(2):
            td_mcp.install()
            td_mcp.uninstall()
    told = [r.getMessage() for r in caplog.records if "mcp 9.1.0" in r.getMessage()]
    assert len(told) == 1


def test_without_the_library_the_command_that_brings_it_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(MissingDependency, match=r"pip install 'tracedance-sdk\[mcp\]'") as caught:
        td_mcp.install()
    assert "\n" not in str(caught.value)
    assert not PROCESS_FAULTS["install mcp: ModuleNotFoundError"]

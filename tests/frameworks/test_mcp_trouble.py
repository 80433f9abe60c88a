"""MCP in trouble: odd requests and results, servers that die, several recorders at once."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pickle
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="frameworks: mcp is not installed in this environment")

from tracedance_integrations import mcp as td_mcp

from tests.frameworks import mcp_office
from tests.frameworks.mcp_office import CONNECTIONS, by_stdio, office
from tracedance_sdk.recording import TraceRecorder
from tracedance_sdk.recording.guard import PROCESS_FAULTS

pytestmark = [
    pytest.mark.needs("mcp"),
    pytest.mark.installs("mcp"),
    # Older versions warn of what they themselves do.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Field 'lifespan' has an incomplete definition"),
]

Play = Callable[[Any], Awaitable[Any]]


@pytest.fixture(params=CONNECTIONS, ids=lambda connect: connect.__name__)
def connect(request: pytest.FixtureRequest) -> Any:
    return request.param


def played(connect: Any, play: Play, *more: Callable[..., Any]) -> Any:
    """Return what a client gets of the office."""

    async def main() -> Any:
        async with connect(office(*more)) as client:
            return await play(client)

    return asyncio.run(main())


def recorded(connect: Any, play: Play, *more: Callable[..., Any]) -> tuple[Any, Any]:
    """Return the same on record, and the trace; nothing went wrong in us."""
    before = PROCESS_FAULTS.copy()
    recorder = TraceRecorder(agent="clerk")

    async def main() -> Any:
        async with connect(office(*more)) as client, recorder:
            return await play(client)

    value = asyncio.run(main())
    assert (recorder.close().faults, PROCESS_FAULTS) == ({}, before)
    return value, recorder.trace


async def _told(asked: Awaitable[Any]) -> str:
    try:
        return str(await asked)
    except Exception as error:  # noqa: BLE001  # all that the library may say
        return f"{type(error).__name__}: {error}"


def test_a_call_without_a_name_is_refused_as_the_library_refuses_it(connect: Any) -> None:
    async def play(client: Any) -> list[str]:
        asked = [client.call_tool(None), client.call_tool(7, {})]
        return [await _told(each) for each in asked]

    td_mcp.uninstall()
    bare = played(connect, play)
    td_mcp.install()
    value, trace = recorded(connect, play)
    assert (value, trace.calls) == (bare, ())


ODD_NAMES = ["x" * 100_000, "\ud800", "a\x00b", "../../etc", "", " ", "a\nb", "{}", "%s"]


def test_odd_names_of_tools_reach_the_server_and_the_record(connect: Any) -> None:
    async def play(client: Any) -> list[str]:
        return [await _told(client.call_tool(name, {})) for name in ODD_NAMES]

    td_mcp.uninstall()
    bare = played(connect, play)
    td_mcp.install()
    value, trace = recorded(connect, play)
    assert value == bare
    assert len(trace.calls) == len(ODD_NAMES)
    assert not any(call.result.ok for call in trace.calls)


@pytest.mark.skipif(not mcp_office.HAS_CLIENT, reason="before 2 the library reads requests first")
@pytest.mark.parametrize("params", [None, {}, {"name": 5}, {"name": "add", "arguments": [1]}])
def test_requests_of_strangers_that_are_none_are_no_faults_of_ours(params: Any) -> None:
    async def play(session: Any) -> str:
        return await _told(session._dispatcher.send_raw_request("tools/call", params))

    td_mcp.uninstall()
    bare = played(mcp_office.session_of, play)
    td_mcp.install()
    value, _ = recorded(mcp_office.session_of, play)
    assert value == bare


def _results() -> list[Callable[[], Any]]:
    """Return tools that give every kind of content."""
    from mcp.types import CallToolResult

    def giving(number: int, told: dict[str, Any]) -> Callable[[], Any]:
        def give() -> Any:
            return CallToolResult.model_validate(told)

        give.__name__ = f"give_{number}"
        give.__annotations__["return"] = CallToolResult
        return give

    image = {"type": "image", "data": "QUJD", "mimeType": "image/png"}
    blob = {"uri": "file:///y", "blob": "QUJD", "mimeType": "a/b"}
    link = {"type": "resource_link", "uri": "file:///x", "name": "n"}
    told: list[dict[str, Any]] = [
        {"content": [], "_meta": {"tracedance/parent": "zz", "k": [1] * 99}},
        {"content": [image], "isError": True},
        {"content": [link, {"type": "resource", "resource": blob}]},
        {"content": [{"type": "audio", "data": "QUJD", "mimeType": "audio/wav"}]},
        {"content": [{"type": "text", "text": "x" * 3_000_000}]},
    ]
    return [giving(number, each) for number, each in enumerate(told)]


def test_every_kind_of_content_comes_as_it_was_and_is_on_record(connect: Any) -> None:
    tools = _results()

    async def play(client: Any) -> list[str]:
        return [await _told(client.call_tool(tool.__name__)) for tool in tools]

    td_mcp.uninstall()
    bare = played(connect, play, *tools)
    td_mcp.install()
    value, trace = recorded(connect, play, *tools)
    assert value == bare
    assert [call.result.ok for call in trace.calls] == [True, False, True, True, True]
    assert "QUJD" in json.dumps(trace.calls[2].result.content)
    assert len(trace.calls[4].result.content) == 3_000_000


def test_recorders_at_the_same_time_each_have_the_calls_of_their_own(connect: Any) -> None:
    async def play(client: Any) -> list[list[str]]:
        async def one(name: str) -> list[str]:
            with TraceRecorder(agent=name) as recorder:
                asked = (client.call_tool("greet", {"name": f"{name}{n}"}) for n in range(4))
                await asyncio.gather(*asked)
            assert not recorder.close().faults
            return [call.arguments["name"] for call in recorder.trace.calls]

        return list(await asyncio.gather(*(one(name) for name in "abc")))

    assert played(connect, play) == [[f"{name}{n}" for n in range(4)] for name in "abc"]


def test_a_call_on_its_way_when_the_hooks_are_taken_out_ends_as_it_would(connect: Any) -> None:
    async def play(client: Any) -> list[str]:
        on_its_way = asyncio.ensure_future(client.call_tool("wait", {"seconds": 0.1, "word": "w"}))
        await asyncio.sleep(0.02)
        td_mcp.uninstall()
        found = [(await on_its_way).content[0].text]
        found.append((await client.call_tool("greet", {"name": "Sam"})).content[0].text)
        td_mcp.install()
        return found

    value, trace = recorded(connect, play)
    assert value == ["w", "hello Sam"]
    assert (trace.calls[0].name, trace.calls[0].result.content) == ("wait", "w")


class _Odd(BaseException):
    """Nothing that anybody catches."""


def test_what_no_program_catches_passes_through_a_tool() -> None:
    def blow_up() -> str:
        raise _Odd("enough")

    async def play(client: Any) -> str:
        return await asyncio.wait_for(_told(client.call_tool("blow_up")), 5)

    def outcome() -> str:
        try:
            return str(played(mcp_office.session_of, play, blow_up))
        except BaseException as error:  # noqa: BLE001  # that is what is compared
            while isinstance(error, BaseExceptionGroup):
                error = error.exceptions[0]
            return f"{type(error).__name__}: {error}"

    td_mcp.uninstall()
    bare = outcome()
    td_mcp.install()
    with TraceRecorder() as recorder:
        assert outcome() == bare
    assert not recorder.close().faults


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="looks for processes there")
def test_a_server_that_dies_fails_its_calls_and_the_next_one_answers() -> None:
    async def greet(session: Any) -> str:
        asked = session.call_tool("greet", {"name": "Sam"})
        return await asyncio.wait_for(_told(asked), 10)

    async def main() -> list[str]:
        async with by_stdio({}) as session:
            waiting = session.call_tool("wait", {"seconds": 60, "word": "w"})
            on_its_way = asyncio.ensure_future(_told(waiting))
            await asyncio.sleep(0.2)
            for child in _children():
                os.kill(child, signal.SIGKILL)
            found = [await on_its_way, await greet(session)]
        async with by_stdio({}) as session:
            return [*found, await greet(session)]

    with TraceRecorder() as recorder:
        found = asyncio.run(main())
    assert not recorder.close().faults
    assert ["hello Sam" in said for said in found] == [False, False, True]
    assert [bool(call.result and call.result.ok) for call in recorder.trace.calls] == [
        False,
        False,
        True,
    ]


def _children() -> list[int]:
    """Return the office's processes that this one has started."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = path.joinpath("stat").read_text().rpartition(")")[2].split()[1]
            words = path.joinpath("cmdline").read_bytes()
            if int(parent) == os.getpid() and b"mcp_office" in words:
                found.append(int(path.name))
    return found


def test_hooked_methods_are_pickled_as_before() -> None:
    from mcp import ClientSession

    assert pickle.loads(pickle.dumps(ClientSession.call_tool)) is ClientSession.call_tool
    assert asyncio.iscoroutinefunction(ClientSession.call_tool)

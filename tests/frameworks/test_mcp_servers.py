"""MCP servers, and one trace from a client through a server in another process."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="frameworks: mcp is not installed in this environment")

from tracedance_collectors.journal import collector
from tracedance_integrations import mcp as td_mcp
from tracedance_integrations.mcp import sending, server

import tracedance_sdk as td
from tests.frameworks import mcp_office
from tests.frameworks.drivers import collected_spans
from tests.frameworks.mcp_office import CONNECTIONS, by_http, by_stdio, office
from tracedance_sdk.recording import AskedCall, GivenAnswer, LetRun, answers_from
from tracedance_sdk.recording.guard import PROCESS_FAULTS
from tracedance_sdk.testing import SECRET
from tracedance_sdk.trace import Result

pytestmark = [
    pytest.mark.needs("mcp", "uvicorn"),
    # Older versions warn of what they themselves do.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Field 'lifespan' has an incomplete definition"),
]

Play = Callable[[Any], Awaitable[Any]]
WAYS = pytest.mark.parametrize("way", [by_stdio, by_http], ids=["stdio", "streamable-http"])


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


def traces_in(*folders: Path) -> list[Any]:
    return [found for folder in folders for found in collector.collect(folder)]


def played(way: Any, play: Play, settings: dict[str, str] | None = None, **options: Any) -> Any:
    """Return the recorder in which a client plays with a server in a process of its own."""
    recorder: Any = td.TraceRecorder(agent="clerk", **options)

    async def main() -> None:
        async with way(settings or {}) as session, recorder:
            await play(session)

    asyncio.run(main())
    assert not recorder.close().faults
    return recorder


def serve_in_process(connect: Any, play: Play, *more: Callable[..., Any]) -> None:
    """Let a client play with a server in this process, with nobody recording the client."""

    async def main() -> None:
        async with connect(office(*more)) as client:
            await play(client)

    asyncio.run(main())


async def find(session: Any) -> None:
    found = await session.call_tool("find_contact", {"name": "Sam"})
    assert json.loads(found.content[0].text) == {"name": "Sam", "phone": "number of Sam"}


@cell("nested agents")
@pytest.mark.installs("mcp")
@WAYS
def test_client_and_server_are_one_trace(way: Any, tmp_path: Path) -> None:
    recorder = played(
        way, find, {"TRACEDANCE_JOURNAL": str(tmp_path / "b")}, journal=tmp_path / "a"
    )
    ours, theirs = traces_in(tmp_path / "a", tmp_path / "b")
    assert ours == recorder.trace
    assert (ours.agent.name, theirs.agent.name) == ("clerk", "office")
    assert (theirs.parent.trace_id, theirs.parent.call_id) == (ours.id, ours.calls[0].id)
    assert theirs.otel.trace_id == ours.otel.trace_id
    assert [(c.name, c.requested_by) for c in theirs.calls] == [
        ("find_contact", "agent"),
        ("look_up", "tool"),
    ]
    assert theirs.calls[0].result.content == {"name": "Sam", "phone": "number of Sam"}
    assert [call.name for call in ours.calls] == ["find_contact"]


@cell("nested agents")
@pytest.mark.installs("mcp")
def test_one_folder_may_hold_both_sides(tmp_path: Path) -> None:
    played(by_stdio, find, {"TRACEDANCE_JOURNAL": str(tmp_path)}, journal=tmp_path)
    by_name = {trace.agent.name: trace for trace in traces_in(tmp_path)}
    assert by_name["office"].parent.trace_id == by_name["clerk"].id
    assert by_name["clerk"].parent is None


@cell("async")
@pytest.mark.installs("mcp")
def test_a_server_that_is_told_nowhere_to_record_records_nothing(tmp_path: Path) -> None:
    before = set(tmp_path.rglob("*"))
    recorder = played(by_stdio, find)
    assert [call.name for call in recorder.trace.calls] == ["find_contact"]
    assert set(tmp_path.rglob("*")) == before


@cell("beside others")
@pytest.mark.installs("mcp")
@WAYS
def test_with_the_programs_own_provider_spans_lead_from_the_call_to_the_server(
    way: Any, tmp_path: Path
) -> None:
    provider, exporter = collected_spans()
    settings = {"OFFICE_SPANS": str(tmp_path / "spans"), "TRACEDANCE_JOURNAL": str(tmp_path / "b")}
    recorder = played(way, find, settings, tracer_provider=provider)
    call = next(s for s in exporter.get_finished_spans() if s.name == "execute_tool find_contact")
    assert call.context is not None
    theirs = [json.loads(line) for line in (tmp_path / "spans").read_text().splitlines()]
    spans = {span["context"]["span_id"]: span for span in theirs}
    run = next(span for span in theirs if span["name"] == "invoke_agent office")
    assert int(run["context"]["trace_id"], 16) == call.context.trace_id
    above = run["parent_id"]
    while above in spans:  # a span that the library itself makes of the request
        above = spans[above]["parent_id"]
    assert int(above, 16) == call.context.span_id
    (trace,) = traces_in(tmp_path / "b")
    assert trace.parent.trace_id == recorder.trace.id
    assert trace.otel.trace_id == recorder.trace.otel.trace_id


@cell("async")
@pytest.mark.installs("mcp")
def test_a_recorder_around_the_server_takes_calls_of_clients_that_tell_nothing(
    tmp_path: Path,
) -> None:
    td_mcp.uninstall()
    played(by_stdio, find, {"TRACEDANCE_JOURNAL": str(tmp_path), "OFFICE_RECORDS": "1"})
    (trace,) = traces_in(tmp_path)
    assert (trace.agent.name, trace.parent) == ("the office's own", None)
    assert [call.name for call in trace.calls] == ["find_contact", "look_up"]


@cell("nested agents")
@pytest.mark.installs("mcp")
def test_a_recorder_around_the_server_leaves_alone_what_belongs_to_a_client(
    tmp_path: Path,
) -> None:
    settings = {"TRACEDANCE_JOURNAL": str(tmp_path), "OFFICE_RECORDS": "1"}
    recorder = played(by_stdio, find, settings)
    by_name = {trace.agent.name: trace for trace in traces_in(tmp_path)}
    assert by_name["the office's own"].calls == ()
    assert by_name["office"].parent.trace_id == recorder.trace.id


@cell("nested agents")
@pytest.mark.installs("mcp")
def test_a_recorder_around_the_server_takes_what_would_go_nowhere(connect: Any) -> None:
    parent = {"traceparent": f"00-{'ab' * 16}-{'cd' * 8}-01", "trace_id": "ab" * 16}
    recorder: Any = td.TraceRecorder()

    async def main() -> None:
        server = office()
        async with recorder, connect(server) as client:
            td_mcp.uninstall()
            call = client.call_tool  # of a client that is in another process, as far as we see
            td_mcp.install()
            await call("find_contact", {"name": "Sam"}, meta={sending.KEY: parent})

    asyncio.run(main())
    assert [(call.name, call.requested_by) for call in recorder.trace.calls] == [
        ("find_contact", "agent"),
        ("look_up", "tool"),
    ]


@cell("async")
@pytest.mark.installs("mcp")
def test_a_client_without_us_makes_runs_of_their_own(connect: Any, journal: Path) -> None:
    async def play(client: Any) -> None:
        await client.call_tool("add", {"first": 1, "second": 2})
        await client.call_tool(
            "greet", {"name": "Sam"}, meta={"traceparent": f"00-{'ab' * 16}-{'cd' * 8}-01"}
        )

    serve_in_process(connect, play)
    first, second = traces_in(journal)
    assert [first.parent, second.parent] == [None, None]
    assert first.calls[0].result.content == 3
    assert second.otel.trace_id == "ab" * 16


@cell("parallel calls")
@pytest.mark.installs("mcp")
def test_parallel_requests_are_runs_of_their_own(connect: Any, journal: Path) -> None:
    async def play(client: Any) -> None:
        await asyncio.gather(
            client.call_tool("wait", {"seconds": 0.2, "word": "late"}),
            client.call_tool("wait", {"seconds": 0.05, "word": "soon"}),
            client.call_tool("find_contact", {"name": "Sam"}),
        )

    serve_in_process(connect, play)
    found = {str(t.calls[0].arguments): [c.name for c in t.calls] for t in traces_in(journal)}
    assert sorted(found.values()) == [["find_contact", "look_up"], ["wait"], ["wait"]]


@cell("tool error")
@pytest.mark.installs("mcp")
def test_failures_of_tools_are_failed_calls(connect: Any, journal: Path) -> None:
    @td.tool
    def burn(page: str) -> str:
        raise KeyError(page)

    async def play(client: Any) -> None:
        await client.call_tool("print_page", {"page": "1"})
        await client.call_tool("burn", {"page": "2"})
        await client.call_tool("no_such_tool", {})

    serve_in_process(connect, play, burn)
    told = [(t.calls[0].name, t.calls[0].result.error.type) for t in traces_in(journal)]
    assert told == [
        ("print_page", "ValueError"),
        ("burn", "KeyError"),
        ("no_such_tool", "tool_error"),
    ]


@cell("cancellation")
@pytest.mark.installs("mcp")
def test_a_request_that_is_cancelled_is_an_interrupted_call(connect: Any, journal: Path) -> None:
    async def play(client: Any) -> None:
        task = asyncio.create_task(client.call_tool("wait", {"seconds": 9, "word": "x"}))
        await asyncio.sleep(0.2)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    serve_in_process(connect, play)
    (trace,) = traces_in(journal)
    assert (trace.calls[0].name, trace.calls[0].result.interrupted) == ("wait", True)


@cell("masking")
@pytest.mark.installs("mcp")
def test_secrets_are_masked_in_what_the_server_writes(tmp_path: Path) -> None:
    async def play(session: Any) -> None:
        found = await session.call_tool("greet", {"name": SECRET})
        assert found.content[0].text == f"hello {SECRET}"

    played(by_stdio, play, {"TRACEDANCE_JOURNAL": str(tmp_path)})
    written = "".join(path.read_text() for path in tmp_path.glob("*.jsonl"))
    assert "[MASKED:" in written
    assert SECRET not in written


@cell("no recorder")
@pytest.mark.installs("mcp")
def test_without_a_recorder_and_a_place_to_write_a_server_does_nothing_more(
    connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def used(*_: Any, **__: Any) -> Any:
        raise AssertionError("a run was begun")

    from tracedance_sdk.recording import agents

    monkeypatch.setattr(agents.AgentRun, "__init__", used)
    got: list[str] = []

    async def play(client: Any) -> None:
        got.append((await client.call_tool("greet", {"name": "Sam"})).content[0].text)

    serve_in_process(connect, play)
    assert got == ["hello Sam"]


@cell("uninstall")
def test_uninstalling_leaves_a_running_server_as_it_was(connect: Any, journal: Path) -> None:
    async def play(client: Any) -> None:
        td_mcp.install()
        await client.call_tool("add", {"first": 1, "second": 2})
        td_mcp.uninstall()
        await client.call_tool("greet", {"name": "Sam"})

    made = office()

    async def main() -> None:
        async with connect(made) as client:
            handlers = _handlers(made)
            await play(client)
            assert _handlers(made) == handlers

    asyncio.run(main())
    assert [trace.calls[0].name for trace in traces_in(journal)] == ["add"]


def _handlers(made: Any) -> dict[Any, Any]:
    if mcp_office.HAS_CLIENT:
        return dict(made._lowlevel_server._request_handlers)
    return {key: id(handler) for key, handler in made._mcp_server.request_handlers.items()}


HOSTILE = [
    pytest.param("no object", id="text"),
    pytest.param(["00"], id="list"),
    pytest.param({}, id="empty"),
    pytest.param({"traceparent": "00-" + "zz" * 16 + "-" + "cd" * 8 + "-01"}, id="no-hex"),
    pytest.param({"traceparent": "00-" + "00" * 16 + "-" + "cd" * 8 + "-01"}, id="zeros"),
    pytest.param({"traceparent": "ff-" + "ab" * 16 + "-" + "cd" * 8 + "-01"}, id="version"),
    pytest.param({"traceparent": "0" * 100_000}, id="long"),
    pytest.param({"traceparent": 7, "trace_id": 7, "call_id": 7}, id="numbers"),
    pytest.param(
        {"traceparent": f"00-{'ab' * 16}-{'cd' * 8}-01", "trace_id": "../x", "call_id": "c"},
        id="path-for-an-id",
    ),
    pytest.param(
        {"traceparent": f"00-{'ab' * 16}-{'cd' * 8}-01", "trace_id": "ab" * 16, "call_id": "a\nb"},
        id="line-feed",
    ),
    pytest.param(
        {
            "traceparent": f"00-{'ab' * 16}-{'cd' * 8}-01",
            "trace_id": "ab" * 16,
            "call_id": "c" * 300,
        },
        id="long-call-id",
    ),
]


@pytest.mark.installs("mcp")
@pytest.mark.parametrize("told", HOSTILE)
def test_a_parent_that_cannot_be_one_is_counted_and_ignored(told: Any, journal: Path) -> None:
    async def play(client: Any) -> None:
        meta = {sending.KEY: told, "traceparent": "00-not-hex-01"}
        found = await client.call_tool("greet", {"name": "Sam"}, meta=meta)
        assert found.content[0].text == "hello Sam"

    before = PROCESS_FAULTS[server.MALFORMED]
    serve_in_process(CONNECTIONS[0], play)
    (trace,) = traces_in(journal)
    assert trace.parent is None
    assert trace.calls[0].result.content == "hello Sam"
    assert PROCESS_FAULTS[server.MALFORMED] == before + 2


@cell("replay")
@pytest.mark.installs("mcp")
def test_recorded_answers_stand_in_for_a_servers_tools(connect: Any) -> None:
    class Source:
        def answer(self, asked: AskedCall, /) -> GivenAnswer | LetRun:
            return GivenAnswer(Result(ok=True, content=f"answer to {asked.arguments['name']}"))

    got: list[str] = []

    async def play(client: Any) -> None:
        td_mcp.uninstall()  # the client's own hook
        from tracedance_integrations.mcp.server import server_hooks

        from tracedance_sdk.recording.integrating import Patches

        patches = Patches()
        server_hooks(patches)
        try:
            with answers_from(Source()):
                got.append((await client.call_tool("greet", {"name": "Sam"})).content[0].text)
        finally:
            patches.undo()

    serve_in_process(connect, play)
    assert got == ["answer to Sam"]


@pytest.mark.installs("mcp")
@pytest.mark.parametrize("name", ["_start", "_served", "_served_before_2"])
def test_a_fault_of_ours_leaves_the_server_at_work(
    name: str, connect: Any, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("ours")

    monkeypatch.setattr(server, name, broken)
    PROCESS_FAULTS.clear()
    got: list[str] = []

    async def play(client: Any) -> None:
        got.append((await client.call_tool("greet", {"name": "Sam"})).content[0].text)

    serve_in_process(connect, play)
    assert got == ["hello Sam"]
    is_used = name == "_start" or (name == "_served") == mcp_office.HAS_CLIENT
    assert sum(PROCESS_FAULTS.values()) == (1 if is_used else 0)
    assert len(traces_in(journal) if journal.exists() else []) == (0 if is_used else 1)

"""MCP servers that a client starts: which of our variables reach the process."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="frameworks: mcp is not installed in this environment")

from tracedance_collectors.journal import collector
from tracedance_integrations import mcp as td_mcp
from tracedance_integrations.mcp import starting

import tracedance_sdk as td
from tests.frameworks import mcp_office
from tracedance_sdk.recording.guard import PROCESS_FAULTS
from tracedance_sdk.settings import SETTINGS

pytestmark = [
    pytest.mark.needs("mcp"),
    pytest.mark.installs("mcp"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Field 'lifespan' has an incomplete definition"),
]

SERVER = f"""
import os, sys
sys.path.insert(0, {str(mcp_office.ROOT)!r})
from tests.frameworks.mcp_office import Server
from tracedance_integrations import mcp as td_mcp
td_mcp.install()
server = Server("shop")
def variables() -> dict[str, str]:
    return dict(os.environ)
server.add_tool(variables)
server.run()
"""
"""It tells which variables it was given."""


def cell(capability: str) -> pytest.MarkDecorator:
    return pytest.mark.cell("mcp client", capability, package="mcp")


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    for row in SETTINGS.values():
        monkeypatch.delenv(row.env, raising=False)


def variables(recorder: Any = None, **options: Any) -> dict[str, str]:
    """Return the variables of a server that is started with these options."""
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    async def main() -> Any:
        with Path(os.devnull).open("w") as nowhere:  # noqa: ASYNC230  # it does not block
            way = StdioServerParameters(command=sys.executable, args=["-c", SERVER], **options)
            async with (
                stdio_client(way, errlog=nowhere) as (read, write),
                ClientSession(read, write) as session,
            ):
                await session.initialize()
                if recorder is None:
                    return await session.call_tool("variables", {})
                async with recorder:
                    return await session.call_tool("variables", {})

    found: dict[str, str] = json.loads(asyncio.run(main()).content[0].text)
    return found


def ours(found: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in found.items() if name.startswith("TRACEDANCE_")}


def agents_in(folder: Path) -> list[str]:
    found: Any = collector.collect(folder)
    return [trace.agent.name for trace in found]


@cell("nested agents")
def test_a_server_that_a_client_starts_writes_into_the_journal_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEDANCE_JOURNAL", str(tmp_path))
    recorder: Any = td.TraceRecorder(agent="clerk")
    variables(recorder)
    assert not recorder.close().faults
    found: Any = collector.collect(tmp_path)
    by_name = {trace.agent.name: trace for trace in found}
    assert set(by_name) == {"clerk", "shop"}
    assert by_name["shop"].parent.trace_id == by_name["clerk"].id


def test_a_folder_is_the_same_one_wherever_the_server_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("TRACEDANCE_JOURNAL", "traces")
    variables(cwd=tmp_path / "there")
    assert agents_in(tmp_path / "here/traces") == ["shop"]
    assert list((tmp_path / "there").iterdir()) == []


def test_what_the_program_says_in_env_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEDANCE_JOURNAL", str(tmp_path / "a"))
    own = {"TRACEDANCE_JOURNAL": str(tmp_path / "b"), "SHOP": "open"}
    found = variables(env=own)
    assert (found["TRACEDANCE_JOURNAL"], found["SHOP"]) == (str(tmp_path / "b"), "open")
    assert "TRACEDANCE_JOURNAL" in variables(env={"SHOP": "open"})
    # An empty one says that the server shall not record.
    variables(env={"TRACEDANCE_JOURNAL": ""})
    assert agents_in(tmp_path / "a") == ["shop"]


def test_nothing_but_the_journal_and_how_it_is_written_is_handed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for row in SETTINGS.values():
        if row.name != "journal_key":
            monkeypatch.setenv(row.env, row.default or "1")
    monkeypatch.setenv("TRACEDANCE_JOURNAL", str(tmp_path))
    monkeypatch.setenv("TRACEDANCE_SECRET", "s")
    td_mcp.uninstall()
    bare = variables()
    td_mcp.install()
    found = variables()
    assert ours(bare) == {}
    assert set(found) - set(bare) == {
        "TRACEDANCE_JOURNAL",
        "TRACEDANCE_DURABILITY",
        "TRACEDANCE_REDACTION",
    }


def test_neither_a_key_nor_a_journal_under_a_key_is_handed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEDANCE_JOURNAL", str(tmp_path))
    monkeypatch.setenv("TRACEDANCE_JOURNAL_KEY", "k")
    assert ours(variables()) == {}


def test_without_a_journal_in_the_environment_nothing_is_handed_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TRACEDANCE_REDACTION", "false")
    assert ours(variables()) == {}


def test_a_fault_of_ours_leaves_the_server_to_be_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACEDANCE_JOURNAL", str(tmp_path))

    def broken() -> dict[str, str]:
        raise RuntimeError("ours")

    monkeypatch.setattr(starting, "_ours", broken)
    before = sum(PROCESS_FAULTS.values())
    assert ours(variables()) == {}
    assert sum(PROCESS_FAULTS.values()) == before + 1

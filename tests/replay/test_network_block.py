"""No connections to other machines during a replay, and everything as before after it."""

from __future__ import annotations

import asyncio
import functools
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tracedance_sdk.errors import BlockedNetwork
from tracedance_sdk.recording import tool
from tracedance_sdk.replay import NetworkBlock, blocked_network, replaying

FAR = ("192.0.2.1", 443)  # of a network that nobody has


def state() -> tuple[Any, ...]:
    methods = [vars(socket.socket).get(name) for name in ("connect", "connect_ex", "sendto")]
    functions = ("create_connection", "getaddrinfo", "gethostbyname", "gethostbyname_ex")
    return (*methods, *(getattr(socket, name) for name in functions))


@pytest.fixture(autouse=True)
def all_as_before() -> Iterator[None]:
    before = state()
    yield
    assert state() == before


@pytest.fixture
def server() -> Iterator[tuple[str, int]]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()


def tcp(method: str) -> Any:
    with socket.socket() as sock:
        return getattr(sock, method)(FAR)


def udp() -> int:
    with socket.socket(type=socket.SOCK_DGRAM) as sock:
        return sock.sendto(b"x", FAR)


def tls() -> None:
    context = ssl.create_default_context()
    with context.wrap_socket(socket.socket(), server_hostname="a.test") as sock:
        sock.connect(FAR)


async def _opened() -> None:
    await asyncio.open_connection("a.test", 443)


REACHING: dict[str, Callable[[], Any]] = {
    "connect": lambda: tcp("connect"),
    "connect_ex": lambda: tcp("connect_ex"),
    "sendto": udp,
    "create_connection": lambda: socket.create_connection(FAR, timeout=1),
    "a name": lambda: socket.create_connection(("a.test", 443), timeout=1),
    "getaddrinfo": lambda: socket.getaddrinfo("a.test", 443),
    "gethostbyname": lambda: socket.gethostbyname("a.test"),
    "gethostbyname_ex": lambda: socket.gethostbyname_ex("a.test"),
    "TLS": tls,
    "asyncio": lambda: asyncio.run(_opened()),
    "a mapped address": lambda: socket.create_connection(("::ffff:192.0.2.1", 443)),
}


@pytest.mark.parametrize("way", REACHING)
def test_other_machines_are_not_reached(way: str) -> None:
    with (
        blocked_network(NetworkBlock(during="a test")) as block,
        pytest.raises(BlockedNetwork, match="while a test replays"),
    ):
        REACHING[way]()
    assert len(block.refused) == 1


def test_this_machine_is(server: tuple[str, int], tmp_path: Path) -> None:
    with blocked_network(NetworkBlock()) as block:
        socket.create_connection(server).close()
        socket.create_connection(("localhost", server[1])).close()
        with socket.socket() as sock:
            assert sock.connect_ex(server) == 0
        assert socket.getaddrinfo(None, 80)
        assert socket.getaddrinfo("192.0.2.1", 80)
        assert socket.gethostbyname("localhost")
        with socket.socket(socket.AF_UNIX) as here, pytest.raises(FileNotFoundError):
            here.connect(str(tmp_path / "no.sock"))
    assert block.refused == []


def test_allowed_hosts_are_reached_by_name_pattern_and_address() -> None:
    block = NetworkBlock(["*.allowed.test", "192.0.2.*"])
    block.check("api.allowed.test", 443)
    block.check("API.Allowed.Test.", 443)
    block.check("192.0.2.9", 443)
    block.resolved("api.allowed.test", [(0, 0, 0, "", ("198.51.100.7", 443))])
    block.check("198.51.100.7", 443)
    block.resolved("other.test", [(0, 0, 0, "", ("198.51.100.8", 443))])
    for host in ("allowed.test", "198.51.100.8", "xallowed.test"):
        with pytest.raises(BlockedNetwork):
            block.check(host, 443)


def test_it_ends_with_the_statement_also_by_an_exception() -> None:
    before = state()
    with pytest.raises(ZeroDivisionError), blocked_network(NetworkBlock()):
        _ = int(state() != before) / 0
    assert state() == before


def test_of_several_blocks_the_latest_counts_and_the_last_undoes() -> None:
    first, second = blocked_network(NetworkBlock()), blocked_network(NetworkBlock(["a.test"]))
    block = first.__enter__()
    other = second.__enter__()
    other.check("a.test", 1)
    first.__exit__(None, None, None)
    with pytest.raises(BlockedNetwork):
        tcp("connect")
    second.__exit__(None, None, None)
    assert (block.refused, len(other.refused)) == ([], 1)


def test_what_somebody_else_has_patched_meanwhile_is_left_to_them() -> None:
    original = socket.getaddrinfo
    with blocked_network(NetworkBlock()):
        ours = socket.getaddrinfo
        socket.getaddrinfo = functools.partial(ours)
    try:
        assert socket.getaddrinfo("127.0.0.1", 80)
    finally:
        socket.getaddrinfo = original


def test_all_threads_are_covered() -> None:
    found: list[BaseException] = []

    def reach() -> None:
        try:
            tcp("connect")
        except BlockedNetwork as error:
            found.append(error)

    with blocked_network(NetworkBlock()):
        thread = threading.Thread(target=reach)
        thread.start()
        thread.join()
    assert len(found) == 1


def test_the_error_names_the_tool_and_what_is_replayed(tmp_path: Path) -> None:
    @tool(effect="pure")
    def convert(amount: int) -> int:
        socket.create_connection(("rates.test", 443))
        return amount

    with (
        replaying(tmp_path / "no.yaml", name="test_pay") as session,
        pytest.raises(BlockedNetwork) as caught,
    ):
        convert(3)

    assert str(caught.value) == (
        "connection to rates.test:443 by the tool convert is blocked while test_pay replays"
        " recorded answers; allow the host with allow_hosts=['rates.test'], or record its tool"
    )
    assert session.block is not None
    assert session.block.refused == ["rates.test:443"]


def test_what_is_recorded_may_reach_other_machines(tmp_path: Path) -> None:
    before = state()
    with replaying(tmp_path / "no.yaml", record="once") as session:
        assert state() == before
    assert session.block is None

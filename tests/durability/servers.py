"""Start real servers for the services of these tests, ask them, and stop them."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest

from tests.durability.hosts import ROOT, clean_environment

PROGRAMS: Final = ROOT / ".venv-servers" / "bin"

_START_SECONDS: Final = 40.0
_STOP_SECONDS: Final = 15.0
_MODULE: Final = "tests.durability"


def program(name: str) -> str:
    """Return the path of a server's program; skip the test where it is not installed."""
    path = PROGRAMS / name
    if not path.exists():
        pytest.skip(f"servers: {name} is not in .venv-servers; run `make servers`")
    return str(path)


def version_of(package: str) -> str:
    """Return the version of a package as the servers have it."""
    found = next((ROOT / ".venv-servers").glob(f"lib/*/site-packages/{package}-*.dist-info"))
    return found.name.removesuffix(".dist-info").rpartition("-")[2]


def gunicorn(port: int, *options: str) -> list[str]:
    return [
        program("gunicorn"),
        f"{_MODULE}.service_asgi:app",
        *("--bind", f"127.0.0.1:{port}", "--workers", "2", "--log-level", "warning"),
        *("--worker-class", "uvicorn.workers.UvicornWorker"),
        *options,
    ]


def uvicorn(port: int, *options: str) -> list[str]:
    where = ("--host", "127.0.0.1", "--port", str(port), "--log-level", "warning")
    return [program("uvicorn"), f"{_MODULE}.service_asgi:app", *where, *options]


def uwsgi(port: int, *options: str) -> list[str]:
    return [
        program("uwsgi"),
        *("--http-socket", f"127.0.0.1:{port}", "--module", f"{_MODULE}.service_wsgi:app"),
        *("--master", "--processes", "2", "--need-app", "--disable-logging"),
        # Workers finish their request before they end; one that ends within it runs no exit hooks.
        *("--hook-master-start", "unix_signal:15 gracefully_kill_them_all"),
        *options,
    ]


def celery(*options: str) -> list[str]:
    return [
        *(program("celery"), "-A", f"{_MODULE}.service_tasks", "worker", "--pool", "prefork"),
        *("--concurrency", "2", "--without-gossip", "--without-mingle", "--without-heartbeat"),
        *("--loglevel", "WARNING"),
        *options,
    ]


class Running:
    """A server that runs.

    Attributes:
        stop_seconds: From the request to stop to its end; None while it runs.
        exit_code: Of its main process; None while it runs.
        log: What it wrote.
    """

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self._process = process
        self._log = log
        self.stop_seconds: float | None = None
        self.exit_code: int | None = None

    @property
    def log(self) -> str:
        return self._log.read_text(errors="replace")

    def stop(self) -> None:
        """Ask it to stop, as service managers do.

        Raises:
            TimeoutExpired: It hangs; it is killed.
        """
        began = time.monotonic()
        self._process.send_signal(signal.SIGTERM)
        try:
            self.exit_code = self._process.wait(_STOP_SECONDS)
        finally:
            self._process.kill()
            self._process.wait()
        self.stop_seconds = time.monotonic() - began


@contextlib.contextmanager
def serving(
    command: list[str], scratch: Path, *, where: Path = ROOT, **variables: str
) -> Iterator[Running]:
    """Run a server; it is stopped when the statement ends, unless it was before.

    Args:
        command: Starts it.
        scratch: Folder for its log.
        where: Folder it is started in, from which it can import.
        **variables: Of its environment.
    """
    log = scratch / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=where,
            stdout=output,
            stderr=output,
            env=clean_environment(
                PYTHONDONTWRITEBYTECODE="1", PYTHONPATH=f"{ROOT}:{where}", **variables
            ),
        )
    running = Running(process, log)
    try:
        yield running
    finally:
        if running.exit_code is None:
            running.stop()


def wait_for_port(port: int, running: Running) -> None:
    """Return when somebody listens.

    Raises:
        TimeoutError: Nobody does.
    """
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.1)
    raise TimeoutError(f"no server on port {port}:\n{running.log}")


def get(port: int, path: str, *, at_most: int | None = None) -> str:
    """Return the answer to a request; with `at_most` bytes of it read, hang up."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
        connection.sendall(request.encode())
        answer = b""
        while (at_most is None or len(answer) < at_most) and (data := connection.recv(65536)):
            answer += data
    return answer.decode()


def get_all(port: int, paths: list[str], *, at_most: int | None = None) -> list[str]:
    """Return the answers to several requests, four at a time."""
    with ThreadPoolExecutor(4) as pool:
        return list(pool.map(lambda path: get(port, path, at_most=at_most), paths))

"""The page on production: its programs run under the servers and commands it names."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.durability.hosts import ROOT, clean_environment
from tests.durability.receivers import free_port, http_receiver
from tests.durability.servers import get_all, program, serving, wait_for_port
from tests.durability.service_check import check_sent, read_traces
from tracedance_sdk.errors import JournalError
from tracedance_sdk.trace import Trace

PAGE = (ROOT / "docs" / "production.md").read_text()
FILES = dict(
    re.findall(r"<!-- file: (\S+) -->\n```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
)
COMMANDS = [
    line
    for block in re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    for line in block.splitlines()
]
HTTP = [line for line in COMMANDS if "127.0.0.1" in line]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the files of the page."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_the_page_names_the_servers_that_are_tested() -> None:
    assert [line.split()[0] for line in COMMANDS] == [
        "gunicorn",
        "uvicorn",
        "uwsgi",
        "celery",
        "tracedance",
    ]


@pytest.mark.durability
@pytest.mark.parametrize("line", HTTP, ids=[line.split()[0] for line in HTTP])
def test_a_server_started_as_the_page_says_records_and_sends(line: str, folder: Path) -> None:
    port = free_port()
    name, *arguments = shlex.split(line.replace("8000", str(port)))
    with (
        http_receiver() as (endpoint, received),
        serving(
            [program(name), *arguments],
            folder,
            where=folder,
            TRACEDANCE_JOURNAL=str(folder / "traces"),
            OTEL_EXPORTER_OTLP_ENDPOINT=endpoint,
        ) as server,
    ):
        wait_for_port(port, server)
        answers = get_all(port, [f"/?question={n}" for n in range(6)])
        server.stop()

    assert all("on" in answer and "way" in answer for answer in answers), server.log
    check_runs(folder / "traces", received.spans, n_runs=6)


@pytest.mark.durability
def test_celery_started_as_the_page_says_records_and_sends(folder: Path) -> None:
    (line,) = (line for line in COMMANDS if line.startswith("celery"))
    name, *arguments = shlex.split(line)
    (folder / "data_in").mkdir()
    (folder / "data_out").symlink_to(folder / "data_in")
    (folder / "control").mkdir()
    broker = {"CELERY_BROKER_URL": "filesystem://"}
    with (
        http_receiver() as (endpoint, received),
        serving(
            [program(name), *arguments],
            folder,
            where=folder,
            TRACEDANCE_JOURNAL=str(folder / "traces"),
            OTEL_EXPORTER_OTLP_ENDPOINT=endpoint,
            **broker,
        ) as server,
    ):
        ask = "import tasks; [tasks.answer.delay(n) for n in range(6)]"
        subprocess.run(
            [program("python"), "-c", ask],
            cwd=folder,
            env=clean_environment(**broker, PYTHONPATH=f"{ROOT}:{folder}"),
            check=True,
            timeout=60,
        )
        wait_until(lambda: ended(folder / "traces") == 6)
        server.stop()

    check_runs(folder / "traces", received.spans, n_runs=6)


@pytest.mark.parametrize(
    ("name", "printed", "n_runs"), [("workers.py", "10\n", 8), ("forked.py", "", 1)]
)
def test_a_program_of_the_page_records_and_sends(
    name: str, printed: str, n_runs: int, folder: Path
) -> None:
    with http_receiver() as (endpoint, received):
        done = subprocess.run(
            [sys.executable, name],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env=clean_environment(
                TRACEDANCE_JOURNAL="traces", OTEL_EXPORTER_OTLP_ENDPOINT=endpoint
            ),
        )

    assert (done.stdout, done.stderr) == (printed, "")
    check_runs(folder / "traces", received.spans, n_runs=n_runs)


def ended(journal: Path) -> int:
    """Return how many runs of a journal have ended."""
    try:
        traces = read_traces(journal)
    except JournalError:
        return 0
    return sum(has_ended(trace) for trace in traces)


def has_ended(trace: Trace) -> bool:
    return trace.outcome is not None and trace.outcome.ended is True


def check_runs(journal: Path, spans: list[object], *, n_runs: int) -> None:
    traces = read_traces(journal)
    assert len(traces) == n_runs
    assert all(map(has_ended, traces))
    check_sent(traces, spans)


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.2)

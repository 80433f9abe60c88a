"""Real servers with several workers: every request's run is whole, apart, and exported."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.durability.hosts import ROOT, clean_environment
from tests.durability.receivers import Received, free_port, http_receiver
from tests.durability.servers import (
    Running,
    celery,
    get_all,
    gunicorn,
    program,
    serving,
    uvicorn,
    uwsgi,
    version_of,
    wait_for_port,
)
from tests.durability.service_agent import CALLS, PARTS
from tests.durability.service_check import Service, check_apart, check_sent, read_service
from tests.support.tables import AddRow

N_REQUESTS = 12
N_HALF = 4


def add_process_row(
    add_row: AddRow,
    name: str,
    version: str,
    *,
    service: Service,
    received: Received,
    server: Running,
) -> None:
    add_row(
        "processes",
        model=name,
        version=version,
        requests=len(service.traces),
        calls=sum(len(trace.calls) for trace in service.traces.values()),
        mixed=service.mixed,
        journal_files=len(service.processes),
        spans_sent=len(received.spans),
        seconds=f"stop {server.stop_seconds:.1f}",
    )


def check_ask(service: Service, prefix: str, n: int) -> None:
    """Check the runs of requests that were answered at once."""
    for number in range(n):
        trace = service.traces[f"{prefix}{number}"]
        assert [call.arguments["n"] for call in trace.calls] == list(range(CALLS))
        assert trace.outcome is not None
        assert trace.outcome.ended


def check_streams(service: Service, prefix: str, n: int, *, whole: bool) -> None:
    """Check the runs of requests that were streamed, and read whole or not."""
    for number in range(n):
        request = f"{prefix}{number}"
        look_up, draft = service.traces[request].calls
        outcome = service.traces[request].outcome
        assert look_up.result is not None
        assert look_up.result.ok
        assert draft.result is not None
        assert outcome is not None
        expected = [f"{request}/{part} " for part in range(PARTS)]
        assert isinstance(draft.result.content, list)
        if whole:
            assert draft.result.content == expected
            assert outcome.ended
        else:
            assert draft.result.interrupted, draft.result
            assert 0 < len(draft.result.content) < PARTS
            assert draft.result.content == expected[: len(draft.result.content)]
            assert not outcome.ended


ASGI = [
    pytest.param("gunicorn, uvicorn workers", (), id="gunicorn"),
    pytest.param(
        "gunicorn, uvicorn workers, preload",
        ("--preload",),
        id="gunicorn preload",
        marks=pytest.mark.durability,
    ),
    pytest.param(
        "uvicorn, 2 workers",
        ("--workers", "2"),
        id="uvicorn workers",
        marks=pytest.mark.durability,
    ),
]


@pytest.mark.parametrize(("name", "options"), ASGI)
def test_an_asgi_server_records_every_request_read_or_dropped(
    name: str, options: tuple[str, ...], tmp_path: Path, add_row: AddRow
) -> None:
    port = free_port()
    kind = name.partition(",")[0]
    command = {"gunicorn": gunicorn, "uvicorn": uvicorn}[kind](port, *options)
    journal = tmp_path / "traces"
    with (
        http_receiver() as (endpoint, received),
        serving(
            command,
            tmp_path,
            TRACEDANCE_JOURNAL=str(journal),
            OTEL_EXPORTER_OTLP_ENDPOINT=endpoint,
        ) as server,
    ):
        wait_for_port(port, server)
        answers = get_all(port, [f"/answer/a{n}" for n in range(N_REQUESTS)])
        streams = get_all(port, [f"/stream/s{n}" for n in range(N_REQUESTS)])
        get_all(port, [f"/stream/h{n}" for n in range(N_HALF)], at_most=250)
        server.stop()

    assert all("0 1 2" in text for text in answers), server.log
    assert all(f"/{PARTS - 1} " in text for text in streams), server.log
    assert server.exit_code in (0, -15), server.log
    assert "Traceback" not in server.log
    service = read_service(journal)
    add_process_row(
        add_row, name, version_of(kind), service=service, received=received, server=server
    )
    check_apart(service)
    assert len(service.traces) == 2 * N_REQUESTS + N_HALF
    check_ask(service, "a", N_REQUESTS)
    check_streams(service, "s", N_REQUESTS, whole=True)
    check_streams(service, "h", N_HALF, whole=False)
    check_sent(service.traces.values(), received.spans)


def test_celery_workers_record_every_task(tmp_path: Path, add_row: AddRow) -> None:
    journal = tmp_path / "traces"
    names = [f"t{n}" for n in range(N_REQUESTS)]
    with (
        http_receiver() as (endpoint, received),
        serving(
            celery(),
            tmp_path,
            CELERY_FOLDER=str(tmp_path),
            TRACEDANCE_JOURNAL=str(journal),
            OTEL_EXPORTER_OTLP_ENDPOINT=endpoint,
        ) as server,
    ):
        asked = subprocess.run(
            [program("python"), "-m", "tests.durability.service_tasks", *names],
            cwd=ROOT,
            env=clean_environment(CELERY_FOLDER=str(tmp_path)),
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
        server.stop()

    assert asked.stdout.split("\n")[:-1] == ["0 1 2"] * N_REQUESTS, (asked.stderr, server.log)
    assert server.exit_code == 0, server.log
    assert "Traceback" not in server.log
    service = read_service(journal)
    add_process_row(
        add_row,
        "Celery, prefork",
        version_of("celery"),
        service=service,
        received=received,
        server=server,
    )
    check_apart(service)
    assert set(service.traces) == set(names)
    check_ask(service, "t", N_REQUESTS)
    check_sent(service.traces.values(), received.spans)


UWSGI = [
    pytest.param(("--enable-threads", "--lazy-apps"), id="each worker loads the program"),
    pytest.param(("--enable-threads", "--py-call-osafterfork"), id="fork hooks are called"),
    pytest.param(("--enable-threads",), id="fork hooks are not called"),
    pytest.param(("--enable-threads", "--threads", "2"), id="threads"),
]
RECORDED_BEFORE = pytest.param(
    ("--enable-threads",), True, id="fork hooks are not called, the master recorded before"
)


@pytest.mark.durability
@pytest.mark.parametrize(
    ("options", "before"),
    [
        *(pytest.param(*param.values, False, id=param.id) for param in UWSGI),
        RECORDED_BEFORE,
    ],
)
def test_uwsgi_workers_record_every_request(
    options: tuple[str, ...], before: bool, tmp_path: Path, add_row: AddRow
) -> None:
    port = free_port()
    journal = tmp_path / "traces"
    with (
        http_receiver() as (endpoint, received),
        serving(
            uwsgi(port, *options),
            tmp_path,
            RECORD_AT_START="1" if before else "",
            TRACEDANCE_JOURNAL=str(journal),
            OTEL_EXPORTER_OTLP_ENDPOINT=endpoint,
        ) as server,
    ):
        wait_for_port(port, server)
        answers = get_all(port, [f"/answer/a{n}" for n in range(N_REQUESTS)])
        server.stop()

    assert all("0 1 2" in text for text in answers), server.log
    assert "Traceback" not in server.log
    service = read_service(journal)
    add_process_row(
        add_row,
        f"uWSGI {' '.join(options)}{', master recorded before' if before else ''}",
        version_of("uwsgi"),
        service=service,
        received=received,
        server=server,
    )
    check_apart(service)
    assert len(service.traces) == N_REQUESTS + before
    check_ask(service, "a", N_REQUESTS)
    check_sent(service.traces.values(), received.spans)

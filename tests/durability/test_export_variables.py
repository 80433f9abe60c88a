"""OpenTelemetry's variables steer the export, and the secrets in them stay out of every log."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.durability.hosts import run_host
from tests.durability.receivers import RECEIVERS, Manner, free_port, grpc_receiver, http_receiver

SECRET = "s3cr3t-0123456789abcdef"


def test_a_base_endpoint_gets_the_path_and_one_for_traces_is_used_as_it_is() -> None:
    with http_receiver() as (endpoint, received):
        run_host("export_host.py", {"calls": 1}, OTEL_EXPORTER_OTLP_ENDPOINT=endpoint + "/base/")
        run_host(
            "export_host.py",
            {"calls": 1},
            OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{free_port()}",
            OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=endpoint + "/own/path",
        )

    assert set(received.paths) == {"/base/v1/traces", "/own/path"}
    assert len(received.spans) == 4


@pytest.mark.parametrize("variable", ["PROTOCOL", "TRACES_PROTOCOL"])
def test_the_protocol_is_a_choice(variable: str) -> None:
    with grpc_receiver() as (endpoint, received):
        done = run_host(
            "export_host.py",
            {"calls": 1},
            OTEL_EXPORTER_OTLP_ENDPOINT=endpoint,
            **{f"OTEL_EXPORTER_OTLP_{variable}": "grpc"},
        )

    assert sorted(received.names()) == ["execute_tool lookup", "invoke_agent agent"]
    assert done.said["summary"]["exported"] == 2


def test_an_unknown_protocol_is_a_fault_that_names_itself_and_the_run_is_recorded() -> None:
    done = run_host(
        "export_host.py",
        {"calls": 1},
        OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:1",
        OTEL_EXPORTER_OTLP_PROTOCOL="carrier-pigeon",
    )

    assert done.said["summary"]["faults"] == {"pipeline: InvalidOption": 1}
    assert "OTEL_EXPORTER_OTLP_PROTOCOL='carrier-pigeon'" in done.errors


@pytest.mark.parametrize("variable", ["COMPRESSION", "TRACES_COMPRESSION"])
@pytest.mark.parametrize("protocol", RECEIVERS)
def test_compression_is_a_choice(protocol: str, variable: str) -> None:
    with RECEIVERS[protocol]() as (endpoint, received):
        run_host(
            "export_host.py",
            {"calls": 1},
            OTEL_EXPORTER_OTLP_ENDPOINT=endpoint,
            OTEL_EXPORTER_OTLP_PROTOCOL=protocol,
            **{f"OTEL_EXPORTER_OTLP_{variable}": "gzip"},
        )

    assert len(received.spans) == 2
    if protocol != "grpc":  # gRPC unpacks before a service sees anything.
        assert {headers["content-encoding"] for headers in received.headers} == {"gzip"}


@pytest.mark.parametrize("variable", ["TIMEOUT", "TRACES_TIMEOUT"])
@pytest.mark.parametrize("protocol", RECEIVERS)
def test_the_timeout_is_kept(protocol: str, variable: str) -> None:
    with RECEIVERS[protocol](Manner(hang=True)) as (endpoint, _):
        done = run_host(
            "export_host.py",
            {"calls": 1},
            OTEL_EXPORTER_OTLP_ENDPOINT=endpoint,
            OTEL_EXPORTER_OTLP_PROTOCOL=protocol,
            **{f"OTEL_EXPORTER_OTLP_{variable}": "0.3"},
        )

    (reason,) = done.said["flushed"]["dropped"]
    assert reason in ("no answer: ReadTimeout", "gRPC DEADLINE_EXCEEDED")
    assert 0.2 < done.said["flush_seconds"] < 1.5


@pytest.mark.parametrize("manner", [Manner(), Manner(refuse="401"), None], ids=str)
@pytest.mark.parametrize("variable", ["HEADERS", "TRACES_HEADERS"])
@pytest.mark.parametrize("protocol", RECEIVERS)
def test_headers_are_sent_and_stand_in_no_log_summary_or_journal(
    protocol: str, variable: str, manner: Manner | None, tmp_path: Path
) -> None:
    asked = {"calls": 1, "journal": str(tmp_path), "log": True}
    told = manner or Manner()
    if protocol == "grpc":
        told = told._replace(refuse="UNAUTHENTICATED" if told.refuse else "")
    nowhere = f"http://127.0.0.1:{free_port()}"
    with RECEIVERS[protocol](told) as (endpoint, received):
        done = run_host(
            "export_host.py",
            asked,
            OTEL_EXPORTER_OTLP_ENDPOINT=nowhere if manner is None else endpoint,
            OTEL_EXPORTER_OTLP_PROTOCOL=protocol,
            OTEL_EXPORTER_OTLP_TIMEOUT="0.5",
            **{f"OTEL_EXPORTER_OTLP_{variable}": f"x-token={SECRET},other=%20spaced"},
        )

    if manner is not None:
        assert {headers["x-token"] for headers in received.headers} == {SECRET}
    assert SECRET not in done.errors
    assert SECRET not in str(done.said)
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert SECRET.encode() not in written


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("OTEL_SDK_DISABLED", "true"),
        ("OTEL_TRACES_EXPORTER", "none"),
        ("TRACEDANCE_EXPORTER", "none"),
    ],
)
def test_what_switches_export_off(variable: str, value: str) -> None:
    with http_receiver() as (endpoint, received):
        done = run_host(
            "export_host.py",
            {"calls": 1},
            OTEL_EXPORTER_OTLP_ENDPOINT=endpoint,
            **{variable: value},
        )

    assert received.headers == []
    assert done.said["summary"]["exported"] == 0


def test_the_resource_is_the_one_opentelemetry_is_told() -> None:
    with http_receiver() as (endpoint, received):
        run_host(
            "export_host.py",
            {"calls": 1},
            OTEL_EXPORTER_OTLP_ENDPOINT=endpoint,
            OTEL_SERVICE_NAME="desk",
            OTEL_RESOURCE_ATTRIBUTES="deployment.environment.name=staging",
        )

    told = {item.key: item.value.string_value for item in received.resources[0].attributes}
    assert told["service.name"] == "desk"
    assert told["deployment.environment.name"] == "staging"


def test_the_batch_variables_bound_requests() -> None:
    with http_receiver() as (endpoint, received):
        run_host(
            "export_host.py",
            {"calls": 20},
            OTEL_EXPORTER_OTLP_ENDPOINT=endpoint,
            OTEL_BSP_MAX_EXPORT_BATCH_SIZE="5",
        )

    assert len(received.spans) == 21
    assert len(received.headers) >= 5


def test_requests_stay_below_what_receivers_take_however_much_the_spans_hold() -> None:
    with grpc_receiver() as (endpoint, received):
        done = run_host(
            "export_host.py",
            {"calls": 500, "text": 20_000},
            OTEL_EXPORTER_OTLP_ENDPOINT=endpoint,
            OTEL_EXPORTER_OTLP_PROTOCOL="grpc",
        )

    assert done.said["summary"]["exported"] == 501
    assert len(received.spans) == 501
    assert sum(received.sizes) > 10_000_000
    assert max(received.sizes) < 4 * 1024 * 1024

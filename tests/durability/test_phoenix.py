"""Spans sent to a real backend, Arize Phoenix, come back as they were sent."""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.durability.hosts import ROOT, run_host
from tests.durability.receivers import free_port
from tests.support.tables import AddRow
from tracedance_sdk.journal import Attributes, EvidenceRecord, SpanRecord, read_journal
from tracedance_sdk.otel import assemble
from tracedance_sdk.recording.leaving import leaving
from tracedance_sdk.trace import content_hash

pytestmark = [pytest.mark.durability, pytest.mark.xdist_group("phoenix")]

PHOENIX = ROOT / ".venv-phoenix" / "bin" / "phoenix"
KINDS = {"SPAN_KIND_INTERNAL": 1, "SPAN_KIND_CLIENT": 3}


@pytest.fixture(scope="module")
def phoenix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Start Phoenix; yield its endpoint by protocol."""
    if not PHOENIX.exists():
        pytest.skip("backend: phoenix absent; `make test-backends` installs it")
    http, grpc = free_port(), free_port()
    folder = tmp_path_factory.mktemp("phoenix")
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("OTEL_")},
        "PHOENIX_WORKING_DIR": str(folder),
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(http),
        "PHOENIX_GRPC_PORT": str(grpc),
        "PHOENIX_TELEMETRY_ENABLED": "false",
    }
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            [str(PHOENIX), "serve"], env=environment, stdout=log, stderr=subprocess.STDOUT
        )
    try:
        wait_for(f"http://127.0.0.1:{http}/healthz", server, folder / "log")
        yield {"http/protobuf": f"http://127.0.0.1:{http}", "grpc": f"http://127.0.0.1:{grpc}"}
    finally:
        server.terminate()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait(10)


def wait_for(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + 110
    while time.monotonic() < until and server.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=2).close()
        except OSError:
            time.sleep(0.25)
        else:
            return
    pytest.fail(f"Phoenix did not come up: {log.read_text()[-2000:]}")


def spans_of(endpoint: str, trace_ids: set[str], n_expected: int) -> list[dict[str, Any]]:
    """Return the spans of these OpenTelemetry traces as Phoenix tells them, in OTLP JSON."""
    until = time.monotonic() + 20
    found: list[dict[str, Any]] = []
    while len(found) < n_expected and time.monotonic() < until:
        url, found = f"{endpoint}/v1/projects/default/spans/otlpv1?limit=1000", []
        with urllib.request.urlopen(url, timeout=10) as reply:
            listed = json.load(reply)["data"]
        found = [span for span in listed if span["trace_id"] in trace_ids]
        time.sleep(0.05)
    return found


def value_of(value: dict[str, Any]) -> Any:
    (found,) = [item for item in value.values() if item is not None]
    if isinstance(found, dict):
        return tuple(value_of(item) for item in found["values"])
    return found


def record_of(span: dict[str, Any]) -> SpanRecord:
    attributes: Attributes = {
        item["key"]: value_of(item["value"])
        for item in span["attributes"]
        if any(value is not None for value in item["value"].values())
    }
    failed = span["status"]["code"] == 2
    return SpanRecord(
        span["name"],
        span["trace_id"],
        span["span_id"],
        span["parent_span_id"],
        KINDS[span["kind"]],
        span["start_time_unix_nano"],
        span["end_time_unix_nano"],
        attributes,
        span["status"]["message"] if failed else None,
    )


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_what_phoenix_returns_contains_what_was_sent(
    protocol: str, phoenix: dict[str, str], tmp_path: Path, add_row: AddRow
) -> None:
    done = run_host(
        "rich_host.py",
        {"journal": str(tmp_path)},
        OTEL_EXPORTER_OTLP_ENDPOINT=phoenix[protocol],
        OTEL_EXPORTER_OTLP_PROTOCOL=protocol,
    )
    contents = read_journal(tmp_path)
    sent = [
        leaving(record, with_content=True) for record in contents if isinstance(record, SpanRecord)
    ]
    trace_ids = {record.trace_id for record in sent}
    began = time.monotonic()
    returned = [
        record_of(span) for span in spans_of(phoenix["http/protobuf"], trace_ids, len(sent))
    ]
    seconds = time.monotonic() - began

    # The summary is the lead agent's; the helper's run has two spans.
    assert done.said["summary"]["exported"] + 2 == len(sent) == len(returned)
    by_id = {record.span_id: record for record in returned}
    n_attributes = 0
    for ours in sent:
        theirs = by_id[ours.span_id]
        assert theirs[:4] == ours[:4]
        # Phoenix keeps microseconds, and says of every span that it is INTERNAL.
        assert abs(theirs.start_ns - ours.start_ns) < 1000
        assert abs(theirs.end_ns - ours.end_ns) < 1000
        assert theirs.error == ours.error
        assert {key: theirs.attributes.get(key) for key in ours.attributes} == ours.attributes
        n_attributes += len(ours.attributes)
    evidence: list[EvidenceRecord] = list(returned)
    traces = assemble(evidence, blobs=contents.get_blob)
    assert [content_hash(trace) for trace in traces] == [
        content_hash(trace) for trace in assemble(list(contents), blobs=contents.get_blob)
    ]
    add_row(
        "spans sent to Phoenix and read back",
        protocol=protocol,
        sent=len(sent),
        returned=len(returned),
        attributes=n_attributes,
        different=0,
        back_after=f"{seconds:.2f} s",
    )

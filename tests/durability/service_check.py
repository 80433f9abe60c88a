"""What a service that records its requests must leave: a journal a process, and every span sent."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple

from tests.durability.kill_check import broken_chain
from tracedance_sdk.journal import read_journal
from tracedance_sdk.otel import assemble
from tracedance_sdk.trace import Trace


class Service(NamedTuple):
    """What a service left.

    Attributes:
        traces: By the request that the run served.
        processes: Those that wrote a journal file, one entry a file.
        mixed: Traces that hold calls of more than one request, or none.
        repeated: Further traces of a request.
    """

    traces: dict[str, Trace]
    processes: list[int]
    mixed: int
    repeated: int


def read_service(folder: Path) -> Service:
    """Read the journal of a service whose tools take ``request`` as an argument.

    Raises:
        AssertionError: A line cannot be read, or a chain is broken.
    """
    traces = read_traces(folder)
    by_request: dict[str, Trace] = {}
    mixed = repeated = 0
    for trace in traces:
        requests = sorted({call.arguments["request"] for call in trace.calls})
        mixed += len(requests) != 1
        for request in requests:
            repeated += request in by_request
            by_request[request] = trace
    processes = [writer_of(path) for path in sorted(folder.glob("*.jsonl"))]
    return Service(by_request, processes, mixed, repeated)


def read_traces(folder: Path) -> list[Trace]:
    """Return the traces of a journal without fault.

    Raises:
        AssertionError: A line cannot be read, or a chain is broken.
    """
    contents = read_journal(folder)
    traces = assemble(contents, blobs=contents.get_blob)
    assert contents.problems == []
    assert [what for path in contents.files for what in broken_chain(path)] == []
    return traces


def writer_of(path: Path) -> int:
    """Return the process that a journal file names in its header."""
    with path.open("rb") as file:
        header = json.loads(file.readline())
    record = header["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0]
    (process,) = (item["value"] for item in record["attributes"] if item["key"] == "pid")
    return int(process["intValue"])


def check_apart(service: Service) -> None:
    """Check that nothing of one process or request stands among another's.

    Raises:
        AssertionError: A process wrote two files, or a trace is mixed or repeated.
    """
    assert len(set(service.processes)) == len(service.processes), "one journal file a process"
    assert (service.mixed, service.repeated) == (0, 0)


def check_sent(traces: Collection[Trace], spans: list[Any]) -> None:
    """Check that the spans of every trace arrived, once each.

    Raises:
        AssertionError: Some are missing, or came twice, or belong to no trace of the journal.
    """
    expected = sum(1 + len(trace.calls) for trace in traces)
    ids = [span.span_id for span in spans]
    assert len(set(ids)) == len(ids), "a span was sent twice"
    assert len(ids) == expected, f"{len(ids)} of {expected} spans were sent"
    sent = {span.trace_id.hex() for span in spans}
    assert sent == {trace.otel.trace_id for trace in traces if trace.otel}

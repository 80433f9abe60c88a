"""OTLP receivers on loopback, over HTTP and gRPC, that behave as badly as they are told to."""

from __future__ import annotations

import contextlib
import gzip
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import grpc
from google.rpc.error_details_pb2 import RetryInfo
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2_grpc import (
    TraceServiceServicer,
    add_TraceServiceServicer_to_server,
)


class Manner(NamedTuple):
    """How a receiver treats a request.

    Attributes:
        delay_seconds: Waits before it answers.
        refuse: HTTP status, or gRPC status by name; "" takes the request.
        retry_after: Seconds that a refusal asks to wait.
        hang: Accepts and never answers.
        die: Closes the connection in the middle of its answer, having taken nothing.
        reject: How many spans of a request it rejects.
        refusals: After so many refusals it takes requests; None refuses for ever.
    """

    delay_seconds: float = 0.0
    refuse: str = ""
    retry_after: int | None = None
    hang: bool = False
    die: bool = False
    reject: int = 0
    refusals: int | None = None


class Received:
    """What a receiver took.

    Attributes:
        spans: OTLP spans, in the order they came.
        resources: OTLP resources of the requests taken.
        headers: Of each request, taken or not, by lower-case name.
        paths: Of each request.
    """

    def __init__(self, manner: Manner) -> None:
        self.manner = manner
        self.spans: list[Any] = []
        self.resources: list[Any] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.sizes: list[int] = []
        self.over = threading.Event()
        self._lock = threading.Lock()
        self._refused = 0

    def note(self, headers: dict[str, str], path: str, size: int) -> None:
        with self._lock:
            self.headers.append(headers)
            self.paths.append(path)
            self.sizes.append(size)

    def refuses(self) -> bool:
        """Whether this request is refused."""
        with self._lock:
            limit = self.manner.refusals
            if not self.manner.refuse or (limit is not None and self._refused >= limit):
                return False
            self._refused += 1
            return True

    def take(self, request: ExportTraceServiceRequest) -> ExportTraceServiceResponse:
        """Keep the spans of a request, all but those to be rejected."""
        spans = [
            span
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]
        n_rejected = min(self.manner.reject, len(spans))
        with self._lock:
            self.spans += spans[: len(spans) - n_rejected]
            self.resources += [resource.resource for resource in request.resource_spans]
        said = ExportTraceServiceResponse()
        if n_rejected:
            said.partial_success.rejected_spans = n_rejected
            said.partial_success.error_message = "too many"
        return said

    def names(self) -> list[str]:
        return [span.name for span in self.spans]


def free_port() -> int:
    """Return a port of loopback on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def http_receiver(manner: Manner = Manner()) -> Iterator[tuple[str, Received]]:  # noqa: B008
    """Yield the endpoint of an OTLP/HTTP receiver, and what it takes."""
    received = Received(manner)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.note(
                {name.lower(): value for name, value in self.headers.items()}, self.path, len(body)
            )
            if received.manner.hang:
                received.over.wait(60)
                self.close_connection = True
                return
            received.over.wait(received.manner.delay_seconds)
            if received.manner.die:
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
                self.wfile.flush()
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
            elif received.refuses():
                self._answer(int(received.manner.refuse), b"no")
            else:
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                said = received.take(ExportTraceServiceRequest.FromString(body))
                self._answer(200, said.SerializeToString())

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", str(len(body)))
            if status != 200 and received.manner.retry_after is not None:
                self.send_header("Retry-After", str(received.manner.retry_after))
            self.end_headers()
            with contextlib.suppress(ConnectionError):
                self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

        def handle(self) -> None:
            with contextlib.suppress(ConnectionError):
                super().handle()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", received
    finally:
        received.over.set()
        server.shutdown()
        server.server_close()
        thread.join(5)


@contextlib.contextmanager
def grpc_receiver(manner: Manner = Manner()) -> Iterator[tuple[str, Received]]:  # noqa: B008
    """Yield the endpoint of an OTLP/gRPC receiver, and what it takes."""
    received = Received(manner)
    server = grpc.server(ThreadPoolExecutor(8))

    class Service(TraceServiceServicer):
        def Export(self, request: Any, context: Any) -> Any:  # noqa: N802  # the service's word
            headers = {key: str(value) for key, value in context.invocation_metadata()}
            received.note(headers, "Export", request.ByteSize())
            if received.manner.hang:
                received.over.wait(60)
            received.over.wait(received.manner.delay_seconds)
            if received.manner.die:
                server.stop(0)
                received.over.wait(5)
            if received.refuses():
                _refuse(context, received.manner)
            return received.take(request)

    add: Any = add_TraceServiceServicer_to_server
    add(Service(), server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"http://127.0.0.1:{port}", received
    finally:
        received.over.set()
        server.stop(0).wait(5)


def _refuse(context: Any, manner: Manner) -> None:
    if manner.retry_after is not None:
        info = RetryInfo()
        info.retry_delay.seconds = manner.retry_after
        context.set_trailing_metadata((("google.rpc.retryinfo-bin", info.SerializeToString()),))
    context.abort(grpc.StatusCode[manner.refuse], "no")


RECEIVERS = {"http/protobuf": http_receiver, "grpc": grpc_receiver}

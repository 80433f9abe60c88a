"""OpenTelemetry's own OTLP exporters, with an ear for what the receiver said.

The exporters are set up by OpenTelemetry's variables. They report a failure without its reason,
and count spans that a receiver rejected as exported; both are noted here.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.sdk.trace.export import SpanExporter

from tracedance_sdk.settings import read_text

if TYPE_CHECKING:
    from requests import PreparedRequest, Response, Session

MAX_REPLY_BYTES: Final = 64 * 1024
"""Of a longer reply nothing is read."""


class Replies:
    """What the receiver said to the last request.

    Attributes:
        problem: Why it was not taken, in a few words; None when nothing was said against it.
        rejected: How many spans of a request that was taken were not.
    """

    def __init__(self) -> None:
        self._trouble: str | None = None
        self.forget()

    def forget(self) -> None:
        """Be ready for the next request."""
        self.problem: str | None = None
        self.rejected = 0

    def refuse(self, problem: str, endpoint: str | None) -> None:
        """Note that a request was not taken, and by whom."""
        self.problem = problem
        self._trouble = problem if not endpoint else f"{problem} at {_bare(endpoint)}"

    def accept(self, *, rejected: int = 0) -> None:
        """Note that a request was taken, but for some of its spans."""
        self.rejected = rejected
        self._trouble = None

    def last_trouble(self) -> str | None:
        """Return why the last request was not taken, and by whom; None when it was."""
        return self._trouble


def otlp_exporter(replies: Replies) -> SpanExporter:
    """Return the exporter that OpenTelemetry's variables ask for.

    Args:
        replies: Where the receiver's replies are noted.

    Raises:
        InvalidOption: A protocol that does not exist.
        Exception: What the exporter says of its variables.
    """
    protocol = read_text("otlp_traces_protocol") or read_text("otlp_protocol")
    return _over_grpc(replies) if protocol == "grpc" else _over_http(replies)


def _over_http(replies: Replies) -> SpanExporter:
    from opentelemetry.exporter.otlp.proto.http import trace_exporter

    if any(name.endswith("_CREDENTIAL_PROVIDER") for name in os.environ):
        # The variable names a session of the user's, which ours would take the place of.
        return trace_exporter.OTLPSpanExporter()
    return trace_exporter.OTLPSpanExporter(session=_session(replies))


def _session(replies: Replies) -> Session:
    import requests

    class Listening(requests.Session):
        def send(self, request: PreparedRequest, **options: Any) -> Response:
            replies.forget()
            try:
                response = super().send(request, **options)
            except Exception as error:
                replies.refuse(f"no answer: {type(error).__name__}", request.url)
                raise
            _note_http(replies, response)
            return response

    return Listening()


def _note_http(replies: Replies, response: Response) -> None:
    if response.status_code >= 300:
        replies.refuse(f"HTTP {response.status_code}", response.url)
        return
    rejected = 0
    if "protobuf" in response.headers.get("Content-Type", ""):
        from google.protobuf.message import DecodeError
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
            ExportTraceServiceResponse,
        )

        with suppress(DecodeError):
            said = ExportTraceServiceResponse.FromString(response.content[:MAX_REPLY_BYTES])
            rejected = said.partial_success.rejected_spans
    replies.accept(rejected=rejected)


def _bare(endpoint: str) -> str:
    """Return an address without what may be secret in it: user, password, query, fragment."""
    before, slashes, rest = endpoint.partition("://")
    if not slashes:
        before, rest = "", endpoint
    shown = rest.partition("?")[0].partition("#")[0].rpartition("@")[2]
    return f"{before}{slashes}{shown}"


def _over_grpc(replies: Replies) -> SpanExporter:
    from opentelemetry.exporter.otlp.proto.grpc import trace_exporter

    class Listening(trace_exporter.OTLPSpanExporter):
        def _initialize_channel_and_stub(self) -> None:
            super()._initialize_channel_and_stub()  # type: ignore[no-untyped-call]  # theirs
            stub: Any = self._client
            stub.Export = _listening(stub.Export, replies, self._endpoint)

    return Listening()


def _listening(
    send: Callable[..., Any], replies: Replies, endpoint: str | None
) -> Callable[..., Any]:
    import grpc

    def listening(*args: Any, **kwargs: Any) -> Any:
        replies.forget()
        try:
            said = send(*args, **kwargs)
        except grpc.RpcError as error:
            code = error.code() if isinstance(error, grpc.Call) else None
            replies.refuse("gRPC" if code is None else f"gRPC {code.name}", endpoint)
            raise
        replies.accept(rejected=said.partial_success.rejected_spans)
        return said

    return listening

"""What `close` says of spans that nobody took yet: who was asked, and what went wrong last."""

from __future__ import annotations

import socket

import pytest

from tracedance_sdk.recording import TraceRecorder
from tracedance_sdk.recording.otlp import Replies
from tracedance_sdk.recording.tallies import LATE


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@pytest.mark.parametrize(
    ("protocol", "said"),
    [
        ("http/protobuf", "no answer: ConnectionError at http://127.0.0.1:{}/v1/traces"),
        ("grpc", "gRPC UNAVAILABLE at 127.0.0.1:{}"),
    ],
)
def test_a_receiver_that_is_not_there_is_named_without_its_password(
    monkeypatch: pytest.MonkeyPatch, protocol: str, said: str
) -> None:
    port = free_port()
    user = "me:secret@" if protocol != "grpc" else ""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://{user}127.0.0.1:{port}")
    with TraceRecorder(exporter="otlp") as recorder, recorder.call("look", {}) as call:
        call.result = 1
    assert recorder.close().dropped == {f"{LATE}: {said.format(port)}": 2}


@pytest.mark.parametrize(
    ("endpoint", "shown"),
    [
        ("http://a:b@host:1/v1/traces?token=x#y", "http://host:1/v1/traces"),
        ("http://host?token=x", "http://host"),
        ("https://user@host/", "https://host/"),
        ("me:pw@host:4317", "host:4317"),
        ("http://me:p/w@host/v1", "http://host/v1"),
        ("host:4317", "host:4317"),
    ],
)
def test_an_address_is_shown_without_secrets(endpoint: str, shown: str) -> None:
    replies = Replies()
    replies.refuse("HTTP 503", endpoint)
    assert replies.last_trouble() == f"HTTP 503 at {shown}"
    replies.forget()
    assert replies.last_trouble() is not None
    replies.accept()
    assert replies.last_trouble() is None

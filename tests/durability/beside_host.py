"""A program that another SDK observes while it records; it prints who saw which spans as JSON.

    .venv-beside/bin/python tests/durability/beside_host.py \
        '{"partner": "logfire", "first": "theirs"}'
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from opentelemetry import propagate
from opentelemetry import trace as otel
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import tracedance_sdk as td

NOWHERE = "http://127.0.0.1:9"


class Partner(NamedTuple):
    """Another SDK at work.

    Attributes:
        provider: Its OpenTelemetry provider.
        exporter: What it sends away.
        span: Opens a span of its own around some work.
        work: Does something that it observes by itself, in a span called "work".
        flush: Sends what waits.
    """

    provider: Any
    exporter: InMemorySpanExporter
    span: Callable[[str], AbstractContextManager[Any]]
    work: Callable[[], object]
    flush: Callable[[], object]


def start_logfire() -> Partner:
    import logfire

    exporter = InMemorySpanExporter()
    logfire.configure(
        send_to_logfire=False,
        console=False,
        metrics=False,
        additional_span_processors=[SimpleSpanProcessor(exporter)],
    )

    work = logfire.instrument("work", extract_args=False)(lambda: None)
    provider = otel.get_tracer_provider()
    return Partner(provider, exporter, logfire.span, work, logfire.force_flush)


def start_langfuse() -> Partner:
    from langfuse import Langfuse, observe

    exporter = InMemorySpanExporter()
    client = Langfuse(
        public_key="pk-lf-test", secret_key="sk-lf-test", base_url=NOWHERE, span_exporter=exporter
    )

    def span(name: str) -> Any:
        return client.start_as_current_observation(name=name)

    work = observe(name="work")(lambda: None)
    return Partner(otel.get_tracer_provider(), exporter, span, work, client.flush)


def start_openinference() -> Partner:
    import openai
    from openinference.instrumentation.openai import OpenAIInstrumentor

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    OpenAIInstrumentor().instrument(tracer_provider=provider)
    client = openai.OpenAI(api_key="none", base_url=answering_model(), max_retries=0)
    tracer = provider.get_tracer("theirs")

    def work() -> object:
        return client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "hi"}]
        )

    return Partner(provider, exporter, tracer.start_as_current_span, work, provider.force_flush)


def answering_model() -> str:
    """Start a server of chat completions on loopback and return its address."""
    reply = {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": "hello"},
            }
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            body = json.dumps(reply).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}/v1"


PARTNERS = {
    "logfire": start_logfire,
    "langfuse": start_langfuse,
    "openinference": start_openinference,
}


def surroundings() -> dict[str, Any]:
    """Return what belongs to the program and must stay as it is."""
    return {
        "provider": id(otel._TRACER_PROVIDER),
        "propagator": id(propagate.get_global_textmap()),
        "environment": dict(os.environ),
        "handlers": [id(handler) for handler in logging.getLogger().handlers],
        "level": logging.getLogger().level,
        "excepthook": id(sys.excepthook),
        "thread excepthook": id(threading.excepthook),
        "unraisablehook": id(sys.unraisablehook),
        "span": id(otel.get_current_span()),
    }


def told(spans: Sequence[ReadableSpan]) -> list[dict[str, Any]]:
    return [
        {
            "name": span.name,
            "id": span.context.span_id,
            "trace": span.context.trace_id,
            "parent": None if span.parent is None else span.parent.span_id,
            "links": [link.context.span_id for link in span.links],
        }
        for span in spans
        if span.context is not None
    ]


def observed_run(partner: Partner, ours: InMemorySpanExporter, **options: Any) -> dict[str, Any]:
    """Record a run inside a span of theirs, with spans of theirs inside it."""
    partner.exporter.clear()
    ours.clear()

    @td.tool
    def look() -> str:
        with partner.span("inside"):
            partner.work()
        return "seen"

    before = surroundings()
    with partner.span("request"), td.TraceRecorder(**options) as recorder:
        recorder.record_turn("assistant", "I look.", model="m")
        look()
    after = surroundings()
    recorder.flush()
    partner.flush()
    (call,) = recorder.trace.calls
    return {
        "ours": told(ours.get_finished_spans()),
        "theirs": told(partner.exporter.get_finished_spans()),
        "changed": [key for key in before if before[key] != after[key]],
        "recorded": call.result is not None and call.result.content == "seen",
    }


def main(asked: dict[str, str]) -> None:
    ours = InMemorySpanExporter()
    start = PARTNERS[asked["partner"]]
    changed: list[str] = []
    if asked["first"] == "theirs":
        partner = start()
    elif asked["first"] == "ours":
        before = surroundings()
        with td.TraceRecorder(exporter=ours) as recorder, recorder.call("warm up") as call:
            call.result = 1
        after = surroundings()
        changed = [key for key in before if before[key] != after[key]]
        partner = start()
    else:
        with td.TraceRecorder(exporter=ours) as recorder, recorder.call("warm up") as call:
            partner = start()
    apart = observed_run(partner, ours, exporter=ours)
    nested = observed_run(partner, ours, tracer_provider=partner.provider)
    print(json.dumps({"apart": apart, "nested": nested, "changed": changed}), flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))

"""Spans without content hold none of it, and a provider's context keeps what is not ours."""

from __future__ import annotations

import contextvars
from collections.abc import Iterator

import pytest
from opentelemetry import baggage, context
from opentelemetry import trace as otel
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import tracedance_sdk as td

WORDS = ("ERRTEXT", "SYSTEXT", "STATETEXT", "METATEXT", "ARGTEXT", "TURNTEXT", "DETTEXT")


@td.tool
def look(what: str) -> str:
    return what


@td.tool
def fail(what: str) -> None:
    raise ValueError(f"ERRTEXT {what}")


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def provider(exporter: InMemorySpanExporter) -> Iterator[TracerProvider]:
    found = TracerProvider()
    found.add_span_processor(SimpleSpanProcessor(exporter))
    yield found
    found.shutdown()


@pytest.mark.parametrize("through_provider", [True, False])
def test_spans_without_content_hold_of_an_error_its_type_alone(
    through_provider: bool, exporter: InMemorySpanExporter, provider: TracerProvider
) -> None:
    recorder = td.TraceRecorder(
        exporter=None if through_provider else exporter,
        tracer_provider=provider if through_provider else None,
        content="off",
        system_prompt="SYSTEXT",
        state=lambda: {"s": "STATETEXT"},
        metadata={"m": "METATEXT"},
    )

    def use() -> None:
        with recorder:
            look("ARGTEXT")
            recorder.record_turn("user", "TURNTEXT")
            recorder.set_outcome(details={"d": "DETTEXT"})
            fail("X")

    with pytest.raises(ValueError, match="ERRTEXT"):
        use()
    spans: dict[str, ReadableSpan] = {span.name: span for span in exporter.get_finished_spans()}
    text = " ".join(span.to_json() for span in spans.values())
    assert [word for word in WORDS if word in text] == []
    failed = spans["execute_tool fail"]
    assert (failed.attributes or {})["error.type"] == "ValueError"
    assert failed.status.description == "ValueError"
    root = spans["invoke_agent agent"]
    assert root.status.status_code is otel.StatusCode.ERROR
    assert not root.status.description
    result = recorder.trace.calls[1].result
    assert result is not None
    assert result.error is not None
    assert result.error.message == "ERRTEXT X"


def test_what_the_program_puts_into_the_context_stays_after_a_run_in_its_provider(
    provider: TracerProvider,
) -> None:
    def run() -> None:
        tracer = provider.get_tracer("theirs")
        with tracer.start_as_current_span("around") as around:
            with td.TraceRecorder(tracer_provider=provider):
                context.attach(baggage.set_baggage("order", "7"))
                assert otel.get_current_span() is not around
            assert baggage.get_baggage("order") == "7"
            assert otel.get_current_span() is around
            with td.TraceRecorder(tracer_provider=provider):
                pass
            assert otel.get_current_span() is around

    contextvars.copy_context().run(run)

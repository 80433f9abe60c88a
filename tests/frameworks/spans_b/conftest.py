"""A collector on the process's global provider, which these frameworks write to."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from opentelemetry import context, trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider

import tracedance_sdk as td


class _Relay(SpanProcessor):
    """Hands spans to the collector of the test that runs; a provider gives no processor back."""

    def __init__(self) -> None:
        self.collector: td.SpanCollector | None = None

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        if self.collector is not None:
            self.collector.on_start(span, parent_context)

    def on_end(self, span: ReadableSpan) -> None:
        if self.collector is not None:
            self.collector.on_end(span)


@pytest.fixture(autouse=True, scope="module")
def leftovers() -> Iterator[None]:
    """What a framework leaves open is warned of here, where its warnings are ignored."""
    yield
    gc.collect()


@pytest.fixture(autouse=True)
def silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """No framework, nor what it brings along, asks or tells anything outside."""
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    monkeypatch.setenv("LITELLM_TELEMETRY", "False")
    monkeypatch.setenv("AGNO_TELEMETRY", "false")


@pytest.fixture(autouse=True)
def no_span_around() -> Iterator[None]:
    """Some instrumentations leave a span current that has ended; it is nobody's parent here."""
    token = context.attach(Context())
    yield
    context.detach(token)


@pytest.fixture(scope="session")
def relay() -> _Relay:
    provider = trace.get_tracer_provider()
    if not isinstance(provider, TracerProvider):
        provider = TracerProvider()
        trace.set_tracer_provider(provider)
    found = _Relay()
    provider.add_span_processor(found)
    return found


@pytest.fixture
def collector(relay: _Relay) -> Iterator[td.SpanCollector]:
    relay.collector = td.SpanCollector()
    yield relay.collector
    summary = relay.collector.summary()
    relay.collector = None
    assert (summary.open_runs, summary.open_spans, dict(summary.faults)) == (0, 0, {})

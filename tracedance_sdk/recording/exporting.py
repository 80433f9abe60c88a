"""Send ended spans away: OpenTelemetry's batching in front of an exporter, with a count of both."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final
from weakref import WeakKeyDictionary

from opentelemetry.metrics import NoOpMeterProvider
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from tracedance_sdk.journal import SpanRecord
from tracedance_sdk.otel import JSON_ATTRIBUTES, SCHEMA_URL, SCOPE, SCOPE_ATTRIBUTES, readable_span
from tracedance_sdk.recording.span_limits import attribute_length
from tracedance_sdk.recording.tallies import Tally
from tracedance_sdk.settings import read_text

PATIENCE_SECONDS: Final = 2.0
"""How long a flush waits for an exporter."""


class CountingExporter(SpanExporter):
    """Passes spans on and counts, for each run, what the exporter took.

    Args:
        exporter: Does the sending.
        owned: It was made here, so that it is shut down here.

    Attributes:
        answers: False from a flush that ran out of time until spans are taken again.
    """

    def __init__(self, exporter: Any, *, owned: bool) -> None:
        self.answers = True
        self._exporter = exporter
        self._owned = owned
        self._lock = threading.Lock()
        self._waiting: WeakKeyDictionary[ReadableSpan, Tally] = WeakKeyDictionary()

    @property
    def idle(self) -> bool:
        """Whether no span is on its way."""
        with self._lock:
            return not self._waiting

    def expect(self, span: ReadableSpan, tally: Tally) -> None:
        """Note that a span is on its way."""
        with self._lock:
            tally.handed += 1
            self._waiting[span] = tally

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send spans."""
        try:
            result: SpanExportResult = self._exporter.export(spans)
        except Exception as error:
            self._count(spans, f"the exporter raised {type(error).__name__}")
            raise
        self.answers = True
        failed = None if result is SpanExportResult.SUCCESS else "the exporter reported a failure"
        self._count(spans, failed)
        return result

    def start_afresh_in_child(self) -> None:
        """Wait for nothing, whatever the lock was doing in the parent process."""
        self._lock = threading.Lock()
        self._waiting = WeakKeyDictionary()

    def shutdown(self) -> None:
        """Shut the exporter down, if it is ours."""
        if self._owned:
            self._exporter.shutdown()

    def _count(self, spans: Sequence[ReadableSpan], failure: str | None) -> None:
        with self._lock:
            for span in spans:
                tally = self._waiting.pop(span, None)
                if tally is None:
                    continue
                if failure is None:
                    tally.exported += 1
                else:
                    tally.failed[failure] += 1


class Export:
    """The way of ended spans out of the process: one queue, one thread.

    Args:
        exporter: Does the sending.
        owned: It was made here.
        with_content: Spans hold arguments, results and messages.
    """

    def __init__(self, exporter: Any, *, owned: bool, with_content: bool) -> None:
        self._counting = CountingExporter(exporter, owned=owned)
        self._processor = BatchSpanProcessor(self._counting, **_metered_by_nobody())
        self._with_content = with_content
        self._resource = Resource.create()
        self._scope = InstrumentationScope(SCOPE, None, SCHEMA_URL, SCOPE_ATTRIBUTES)
        self._limit = attribute_length()

    def add(self, record: SpanRecord, tally: Tally) -> None:
        """Queue an ended span."""
        if not self._with_content:
            record = without_content(record)
        span = readable_span(
            record, resource=self._resource, scope=self._scope, max_value_length=self._limit
        )
        self._counting.expect(span, tally)
        self._processor.on_end(span)

    def flush(self) -> None:
        """Send what waits, for at most `PATIENCE_SECONDS`.

        An exporter that let a flush run out of time is not waited for until it takes spans again.
        """
        if self._counting.idle or not self._counting.answers:
            return
        done = threading.Event()
        self._start("flush", self._processor.force_flush, done.set)
        if not done.wait(PATIENCE_SECONDS):
            self._counting.answers = False

    async def flush_async(self) -> None:
        """The same, while other tasks go on."""
        if self._counting.idle or not self._counting.answers:
            return
        loop, done = asyncio.get_running_loop(), asyncio.Event()
        self._start("flush", self._processor.force_flush, partial(_tell, loop, done))
        try:
            await asyncio.wait_for(done.wait(), PATIENCE_SECONDS)
        except TimeoutError:
            self._counting.answers = False

    def close(self) -> None:
        """Send what waits, for at most `PATIENCE_SECONDS`, and end the thread."""
        done = threading.Event()
        self._start("close", self._processor.shutdown, done.set)
        done.wait(PATIENCE_SECONDS)

    def start_afresh_in_child(self) -> None:
        """Leave what waits to the process this one was forked from, as the processor does."""
        self._counting.start_afresh_in_child()

    def _start(self, what: str, work: Callable[[], object], then: Callable[[], object]) -> None:
        """Do in a thread what the processor itself would do without any limit of time."""

        def both() -> None:
            try:
                work()
            finally:
                then()

        threading.Thread(target=both, name=f"tracedance-{what}", daemon=True).start()


def _metered_by_nobody() -> dict[str, Any]:
    """Keep a processor that measures itself from looking up the global meter provider."""
    if "meter_provider" in inspect.signature(BatchSpanProcessor).parameters:
        return {"meter_provider": NoOpMeterProvider()}
    return {}


def _tell(loop: asyncio.AbstractEventLoop, done: asyncio.Event) -> None:
    """Set the event of a loop from another thread; nobody waits any more when it is closed."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(done.set)


def without_content(record: SpanRecord) -> SpanRecord:
    """Return a span without arguments, results, messages and states."""
    kept = {key: value for key, value in record.attributes.items() if key not in JSON_ATTRIBUTES}
    return record._replace(attributes=kept)


def open_export(exporter: Any, *, with_content: bool) -> Export:
    """Return the way out for ``otlp``, ``console``, or a span exporter."""
    if exporter == "otlp":
        return Export(_otlp(), owned=True, with_content=with_content)
    if exporter == "console":
        from opentelemetry.sdk.trace.export import ConsoleSpanExporter

        return Export(ConsoleSpanExporter(), owned=True, with_content=with_content)
    return Export(exporter, owned=False, with_content=with_content)


def _otlp() -> SpanExporter:
    protocol = read_text("otlp_traces_protocol") or read_text("otlp_protocol")
    if protocol == "grpc":
        from opentelemetry.exporter.otlp.proto.grpc import trace_exporter as grpc_exporter

        return grpc_exporter.OTLPSpanExporter()
    from opentelemetry.exporter.otlp.proto.http import trace_exporter as http_exporter

    return http_exporter.OTLPSpanExporter()

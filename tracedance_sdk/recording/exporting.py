"""Send ended spans away, in the background, with a count of what became of each."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, Final

from opentelemetry import context as otel_context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from tracedance_sdk.journal import SpanRecord
from tracedance_sdk.otel import SCHEMA_URL, SCOPE, SCOPE_ATTRIBUTES, readable_span
from tracedance_sdk.recording.otlp import Replies, otlp_exporter
from tracedance_sdk.recording.outbox import Outbox, Parcel, limits_asked_for
from tracedance_sdk.recording.span_limits import attribute_length
from tracedance_sdk.recording.tallies import Tally

PATIENCE_SECONDS: Final = 2.0
"""How long a flush waits for an exporter."""

REJECTED: Final = "rejected by the receiver"

_LOGGER: Final = logging.getLogger(__name__)


class Export:
    """The way of ended spans out of the process: one queue, one thread, one exporter.

    Args:
        make: Returns the exporter, which notes in its argument what a receiver said. Called again
            in a forked process, which must not use the connections of its parent.
        owned: It makes an exporter of ours, which is shut down here.
        with_content: Spans hold arguments, results and messages.
    """

    def __init__(self, make: Callable[[Replies], Any], *, owned: bool, with_content: bool) -> None:
        self._make = make
        self._owned = owned
        self._replies = Replies()
        self._exporter: Any = make(self._replies)
        self._answers = True
        self._resource = Resource.create()
        self._scope = InstrumentationScope(SCOPE, None, SCHEMA_URL, SCOPE_ATTRIBUTES)
        self._limit = attribute_length()
        self._outbox = Outbox(self._send, with_content=with_content, limits=limits_asked_for())
        self._outbox.start()

    @property
    def idle(self) -> bool:
        """Whether no span waits or is being sent."""
        return self._outbox.idle

    def add(self, record: SpanRecord, tally: Tally) -> None:
        """Queue an ended span."""
        tally.trouble = self._replies.last_trouble
        self._outbox.put(record, tally)

    def flush(self) -> None:
        """Send what waits, for at most `PATIENCE_SECONDS`.

        An exporter that let a flush run out of time is not waited for until it takes spans again.
        """
        if self._answers and not self._outbox.idle:
            self._answers = self._outbox.flush(PATIENCE_SECONDS)

    async def flush_async(self) -> None:
        """The same, while other tasks go on."""
        if not self._answers or self._outbox.idle:
            return
        loop, done = asyncio.get_running_loop(), asyncio.Event()
        self._outbox.flush_and_tell(partial(_tell, loop, done))
        try:
            await asyncio.wait_for(done.wait(), PATIENCE_SECONDS)
        except TimeoutError:
            self._answers = False

    def close(self) -> None:
        """Send what waits, for at most `PATIENCE_SECONDS`, and end the thread."""
        n_left = self._outbox.close(PATIENCE_SECONDS)
        if n_left:
            _LOGGER.warning("tracedance gave up exporting %d spans", n_left)
        if self._owned and self._exporter is not None:
            self._exporter.shutdown()

    def start_afresh_in_child(self) -> None:
        """Leave what waits, and the connections, to the process this one was forked from."""
        self._outbox.start_afresh_in_child()
        self._answers = True
        if self._owned:
            self._exporter = None

    def _send(self, parcels: list[Parcel]) -> None:
        """Send spans and count them; called by the queue's thread alone."""
        self._replies.forget()
        token = otel_context.attach(_UNOBSERVED)
        try:
            failure = self._failure(parcels)
        except Exception as error:  # whatever an exporter does, it is counted
            _LOGGER.debug("tracedance could not export", exc_info=error)
            failure = f"the exporter raised {type(error).__name__}"
        finally:
            otel_context.detach(token)
        if failure is None:
            self._answers = True
        n_rejected = 0 if failure else self._replies.rejected
        for place, parcel in enumerate(parcels, start=1):
            if failure is not None:
                parcel.tally.failed[failure] += 1
            elif place > len(parcels) - n_rejected:
                parcel.tally.failed[REJECTED] += 1
            else:
                parcel.tally.exported += 1

    def _failure(self, parcels: list[Parcel]) -> str | None:
        """Export, and return what went wrong."""
        if self._exporter is None:
            self._exporter = self._make(self._replies)
        result = self._exporter.export([self._readable(parcel.record) for parcel in parcels])
        if result is SpanExportResult.SUCCESS:
            return None
        return self._replies.problem or "the exporter reported a failure"

    def _readable(self, record: SpanRecord) -> ReadableSpan:
        return readable_span(
            record, resource=self._resource, scope=self._scope, max_value_length=self._limit
        )


_UNOBSERVED: Final = otel_context.set_value(
    otel_context._SUPPRESS_INSTRUMENTATION_KEY,
    True,  # as OpenTelemetry's processors set it
    otel_context.Context(),
)
"""The context of an export: nobody's instrumentation makes spans of it."""


def _tell(loop: asyncio.AbstractEventLoop, done: asyncio.Event) -> None:
    """Set the event of a loop from another thread; nobody waits any more when it is closed."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(done.set)


def open_export(exporter: Any, *, with_content: bool) -> Export:
    """Return the way out for ``otlp``, ``console``, or a span exporter.

    Raises:
        InvalidOption: A variable of OpenTelemetry's that cannot be used.
    """
    if exporter == "otlp":
        return Export(otlp_exporter, owned=True, with_content=with_content)
    if exporter == "console":
        return Export(_console, owned=True, with_content=with_content)

    def given(_: Replies) -> Any:
        return exporter

    return Export(given, owned=False, with_content=with_content)


def _console(_: Replies) -> SpanExporter:
    from opentelemetry.sdk.trace.export import ConsoleSpanExporter

    return ConsoleSpanExporter()

"""Log records of OpenTelemetry's SDK, for what older instrumentations say in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opentelemetry.sdk._logs import LogRecordProcessor


class SpanLogs(LogRecordProcessor):
    """Hands log records on; see `SpanCollector.log_processor`.

    Args:
        take: Takes each record; never raises.
        flush: Hands over what waits.
    """

    def __init__(self, take: Callable[[Any], None], *, flush: Callable[[], None]) -> None:
        self._take = take
        self._flush = flush

    def on_emit(self, log_record: Any) -> None:  # the SDK's type has had two names
        """Take a log record."""
        self._take(log_record)

    def shutdown(self) -> None:
        """Do nothing: the records belong to spans, and leave with them."""

    def force_flush(self, timeout_millis: int = 30000) -> bool:  # noqa: ARG002  # as the SDK calls
        """Hand over what waits."""
        self._flush()
        return True

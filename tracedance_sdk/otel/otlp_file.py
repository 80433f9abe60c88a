"""Traces as lines of an OTLP file, as every OpenTelemetry collector and backend reads them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from tracedance_sdk.journal import encode_spans
from tracedance_sdk.otel.disassembly import trace_records
from tracedance_sdk.otel.names import SCHEMA_URL, SCOPE, SCOPE_ATTRIBUTES
from tracedance_sdk.trace import Trace

_SPANS_A_LINE: Final = 100
_WRITER: Final[dict[str, Any]] = {
    "name": SCOPE,
    "attributes": [
        {"key": key, "value": {"stringValue": value}} for key, value in SCOPE_ATTRIBUTES.items()
    ],
}


def otlp_lines(trace: Trace) -> Iterator[bytes]:
    """Yield a trace as lines of OTLP-JSON, without line ends; the run's own span comes last.

    Nothing of the trace is lost: read by the collector ``otlp``, the lines of one trace or of many
    are the same traces again.

    Example:
        >>> from tracedance_sdk.trace import Trace
        >>> [line[:31] for line in otlp_lines(Trace(id="a"))]
        [b'{"resourceSpans":[{"resource":{']
    """
    records = iter(trace_records(trace))
    while batch := list(islice(records, _SPANS_A_LINE)):
        yield encode_spans(batch, scope=_WRITER, schema_url=SCHEMA_URL)

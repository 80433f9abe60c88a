"""The two kinds of record that evidence consists of: ended spans, and events at a moment.

Both are plain tuples, so that making one costs little on the path of a recorded call.
"""

from __future__ import annotations

from typing import Final, NamedTuple

Attribute = str | int | float | bool | tuple[str, ...]
"""A value of a span attribute. Structured values are JSON text."""

Attributes = dict[str, Attribute]

INTERNAL: Final = 1
CLIENT: Final = 3


class Link(NamedTuple):
    """A span of another OpenTelemetry trace that this one belongs with: lower-case hex ids."""

    trace_id: str
    span_id: str


class SpanRecord(NamedTuple):
    """A span that has ended.

    Attributes:
        trace_id: OpenTelemetry trace id, 32 lower-case hex characters.
        span_id: 16 lower-case hex characters.
        parent_id: Span id of the parent in the same OpenTelemetry trace, or None for a root.
        kind: OTLP span kind, `INTERNAL` or `CLIENT`.
        start_ns: Nanoseconds since the epoch.
        end_ns: Nanoseconds since the epoch, not before `start_ns`.
        error: Status description of a failure; None leaves the status unset. Empty text still
            means failure.
    """

    name: str
    trace_id: str
    span_id: str
    parent_id: str | None
    kind: int
    start_ns: int
    end_ns: int
    attributes: Attributes
    error: str | None = None
    links: tuple[Link, ...] = ()


class EventRecord(NamedTuple):
    """Something that happened at a moment: the start of a run or call, a turn, a grade.

    Attributes:
        name: Event name, such as ``tracedance.call.start``.
        trace_id: Of the span the event belongs to.
        span_id: Of the span the event belongs to.
        time_ns: Nanoseconds since the epoch.
    """

    name: str
    trace_id: str
    span_id: str
    time_ns: int
    attributes: Attributes
    parent_id: str | None = None


EvidenceRecord = SpanRecord | EventRecord

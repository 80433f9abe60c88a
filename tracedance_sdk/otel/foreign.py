"""Spans and log records of other programs, in one shape whatever encoding they came in.

Ids are lower-case hex where they are ids of OpenTelemetry, times are nanoseconds, attributes plain
JSON values. What an attribute means is not looked at here: that is the dialects' part.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from tracedance_sdk.journal import Attributes, Link, SpanRecord
from tracedance_sdk.trace import Json, canonical_json, type_stub

_HEX: Final = re.compile(r"[0-9a-fA-F]+")
_LATEST_NS: Final = 2**63 - 1
_UNITS: Final = ((10**17, 1), (10**14, 10**3), (10**11, 10**6))
"""From which size on a number since the epoch counts in units of so many nanoseconds."""

_FAILED: Final = frozenset({"2", "error", "status_code_error", "statuscode.error"})
_KINDS: Final = {"unspecified": 0, "internal": 1, "server": 2, "client": 3} | {
    "producer": 4,
    "consumer": 5,
}

TRACE_BYTES: Final = 16
SPAN_BYTES: Final = 8


class SpanEvent(NamedTuple):
    """Something inside a span, or a log record that belongs to it.

    Attributes:
        attributes: Fields of the event; those of a log record's body among them.
    """

    name: str
    time_ns: int
    attributes: dict[str, Json]


class ForeignSpan(NamedTuple):
    """A span that another program wrote.

    Attributes:
        trace_id: 32 lower-case hex characters, or the source's own text where it is no such id.
        span_id: 16 lower-case hex characters, or the source's own text.
        parent_id: None for a root.
        start_ns: Nanoseconds since the epoch; 0 where the source has none.
        end_ns: None for a span that never ended.
        attributes: As written: nothing in them is decoded.
        failed: The status says so.
        message: Status description.
        scope: Name of the instrumentation scope.
        scope_version: Its version.
        resource: Attributes of the resource, which the spans of one process share.
    """

    name: str
    trace_id: str
    span_id: str
    parent_id: str | None
    kind: int
    start_ns: int
    end_ns: int | None
    attributes: dict[str, Json]
    failed: bool = False
    message: str = ""
    events: tuple[SpanEvent, ...] = ()
    links: tuple[Link, ...] = ()
    scope: str = ""
    scope_version: str = ""
    resource: dict[str, Json] = {}  # noqa: RUF012 - shared and never changed


class ForeignLog(NamedTuple):
    """A log record: an event of the span with these ids, or of none."""

    trace_id: str
    span_id: str
    event: SpanEvent
    scope: str = ""
    resource: dict[str, Json] = {}  # noqa: RUF012 - shared and never changed


def of_record(record: SpanRecord) -> ForeignSpan:
    """Return an ended span of any other source in the shape of foreign ones."""
    attributes = plain_attributes(record.attributes)
    return ForeignSpan(
        record.name,
        record.trace_id,
        record.span_id,
        record.parent_id,
        record.kind,
        record.start_ns,
        record.end_ns,
        attributes,
        record.error is not None,
        record.error or "",
        links=record.links,
    )


def plain_attributes(attributes: Attributes) -> dict[str, Json]:
    """Return a record's attributes as foreign ones: plain JSON values."""
    return {key: _plain(value) for key, value in attributes.items()}


def as_record(span: ForeignSpan) -> SpanRecord:
    """Return a span that we wrote, read from whatever encoding, as the record that it was."""
    return SpanRecord(
        span.name,
        span.trace_id,
        span.span_id,
        span.parent_id,
        span.kind,
        span.start_ns,
        span.end_ns or span.start_ns,
        own_attributes(span.attributes),
        span.message if span.failed else None,
        span.links,
    )


def own_attributes(attributes: dict[str, Json]) -> Attributes:
    """Return attributes that we wrote as records have them; structures become JSON text."""
    found: Attributes = {}
    for key, value in attributes.items():
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            found[key] = tuple(value)
        elif isinstance(value, (list, dict)):
            found[key] = canonical_json(value).decode()
        elif value is not None:
            found[key] = value
    return found


def read_id(value: Json, size: int) -> str:
    """Return an id of `size` bytes as lower-case hex; empty where there is none.

    Hex (with or without ``0x``, with its leading zeros or without) and base64 are told apart by
    their length. Other text is an id of its own kind and stays as it is.
    """
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << (8 * size):
        return f"{value:0{2 * size}x}"
    if not isinstance(value, str) or not value:
        return ""
    text = value.removeprefix("0x")
    if len(text) <= 2 * size and _HEX.fullmatch(text):
        padded = text.lower().zfill(2 * size)
        return padded if padded.strip("0") else ""
    if len(text) == 4 * -(-size // 3) and text.endswith("="):
        try:
            data = base64.b64decode(text, validate=True)
        except binascii.Error:
            return value
        return data.hex() if any(data) else ""
    return value


def read_time(value: Json) -> int:
    """Return a time as nanoseconds since the epoch; 0 where it is none.

    Numbers tell their unit by their size; ``[seconds, nanoseconds]`` and ISO text are read too.
    """
    if isinstance(value, list) and len(value) == 2:
        seconds, rest = value
        is_pair = all(type(part) is int for part in value)
        return _in_range(seconds * 10**9 + rest) if is_pair else 0
    if isinstance(value, str):
        if value.isdecimal() and len(value) < 25:
            return read_time(int(value))
        try:
            return _iso_ns(value)
        except (ValueError, OverflowError):
            return 0
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 2**63:
        return 0
    unit = next((unit for least, unit in _UNITS if value >= least), 10**9)
    return _in_range(value * unit if isinstance(value, int) else round(value * unit))


def read_ns(value: Json) -> int:
    """Return nanoseconds written as a number or its digits, within what a span can hold."""
    if isinstance(value, str) and value.isdecimal() and len(value) < 25:
        return _in_range(int(value))
    return _in_range(value) if type(value) is int else 0


def read_kind(value: Json) -> int:
    """Return an OTLP span kind from its number or any spelling of its name."""
    if type(value) is int:
        return value if 0 <= value <= 5 else 0
    if not isinstance(value, str):
        return 0
    return _KINDS.get(value.lower().removeprefix("span_kind_").removeprefix("spankind."), 0)


def has_failed(code: Json) -> bool:
    """Whether a status code, a number or any spelling of its name, means failure."""
    return not isinstance(code, bool) and str(code).lower() in _FAILED


def read_text(value: Json) -> str:
    """Return text, or no text for anything else."""
    return value if isinstance(value, str) else ""


def read_object(value: Json) -> dict[str, Any]:
    """Return an object, or an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def read_list(value: Json) -> list[Json]:
    """Return a list, or an empty one for anything else."""
    return value if isinstance(value, list) else []


def finite(value: float) -> Json:
    """Return a number, or what stands for one that JSON cannot say."""
    return value if math.isfinite(value) else type_stub("float", str(value))


def whole(value: int) -> Json:
    """Return an integer, or what stands for one beyond 64 bits."""
    return value if -(2**63) <= value < 2**64 else type_stub("int", str(value)[:40])


def _in_range(nanoseconds: int) -> int:
    return nanoseconds if 0 < nanoseconds <= _LATEST_NS else 0


def _iso_ns(text: str) -> int:
    moment = datetime.fromisoformat(text)
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    seconds = since.days * 86_400 + since.seconds
    fraction = re.search(r"\.(\d{1,9})", text)
    nanoseconds = int(fraction[1].ljust(9, "0")) if fraction else since.microseconds * 1000
    return _in_range(seconds * 10**9 + nanoseconds)


def _plain(value: object) -> Json:
    return [_plain(item) for item in value] if isinstance(value, tuple) else value

"""OTLP in protobuf: a request body, or a collector's file of length-prefixed messages.

The collector's file exporter writes each message behind its length (four bytes, big-endian); with
``compression: zstd`` each message is packed on its own, whatever its format.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from tracedance_sdk.errors import InvalidJSON, MissingDependency
from tracedance_sdk.journal import Link
from tracedance_sdk.otel.foreign import ForeignLog, ForeignSpan, SpanEvent, finite
from tracedance_sdk.trace import Json

if TYPE_CHECKING:
    from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
    from opentelemetry.proto.trace.v1.trace_pb2 import Span

ZSTD: Final = b"\x28\xb5\x2f\xfd"
"""The first bytes of a zstd frame."""

MAX_MESSAGE_BYTES: Final = 256 * 1024**2
_LENGTH_BYTES: Final = 4
_LEAST_BODY: Final = 4
_FIELD_ONE: Final = 0x0A
_MOST_VARINT: Final = 5
_ERROR: Final = 2


def is_protobuf(head: bytes) -> bool:
    """Whether bytes begin as an OTLP request in protobuf, bare or behind its length."""
    return is_prefixed(head) or _is_request(head)


def is_prefixed(head: bytes) -> bool:
    """Whether bytes begin with a length and a message: packed, protobuf, or JSON of OTLP."""
    if len(head) <= _LENGTH_BYTES or head[0] > MAX_MESSAGE_BYTES >> 24:
        return False
    body = head[_LENGTH_BYTES:]
    if body.startswith(ZSTD):
        return True
    size = int.from_bytes(head[:_LENGTH_BYTES], "big")
    if body.startswith((b'{"resource', b'{"resource_')):
        return True
    first = _request_size(body)
    return first is not None and first <= size


def messages(data: bytes, *, where: str) -> Iterator[tuple[str, bytes]]:
    """Yield the messages of a file, each with its place: those behind lengths, or the file as one.

    Raises:
        InvalidJSON: The data ends within a message.
    """
    if not is_prefixed(data):
        yield where, data
        return
    place = 0
    view = memoryview(data)
    while place < len(data):
        size = int.from_bytes(view[place : place + _LENGTH_BYTES], "big")
        start = place + _LENGTH_BYTES
        place = start + size
        if place > len(data):
            raise InvalidJSON(f"{where}: it ends within the message at byte {start}")
        yield f"{where}: message at byte {start}", bytes(view[start:place])


def protobuf_spans(message: bytes, *, where: str) -> Iterator[ForeignSpan | ForeignLog]:
    """Yield the spans or log records of one request, or of nothing else that parses like one.

    Raises:
        InvalidJSON: Neither traces nor logs in protobuf.
    """
    from google.protobuf.message import DecodeError
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
        ExportTraceServiceRequest,
    )

    try:
        traces = ExportTraceServiceRequest.FromString(message)
        if any(
            span.span_id for g in traces.resource_spans for s in g.scope_spans for span in s.spans
        ):
            yield from _spans(traces)
            return
        logs = ExportLogsServiceRequest.FromString(message)
    except DecodeError as error:
        raise InvalidJSON(f"{where}: neither traces nor logs of OTLP in protobuf") from error
    yield from _logs(logs)


def _is_request(head: bytes) -> bool:
    return _request_size(head) is not None


def _request_size(data: bytes) -> int | None:
    """Return the size of a request's first entry, which holds a resource or scopes; else None."""
    found = _field(data, 0)
    if found is None:
        return None
    size, start = found
    inner = data[start] if start < len(data) else 0
    # An entry begins with its resource (field 1) or, without one, its scopes (field 2).
    begins = inner in (_FIELD_ONE, 0x12)
    return size if size >= _LEAST_BODY and begins and _field(data, start, tag=inner) else None


def _field(data: bytes, place: int, *, tag: int = _FIELD_ONE) -> tuple[int, int] | None:
    """Return the length of the field at a place and where it begins, if it has this tag."""
    if place >= len(data) or data[place] != tag:
        return None
    size = 0
    for count in range(_MOST_VARINT):
        position = place + 1 + count
        if position >= len(data):
            return None
        size |= (data[position] & 0x7F) << (7 * count)
        if not data[position] & 0x80:
            return size, position + 1
    return None


def unpacked_message(message: bytes, *, where: str) -> bytes:
    """Return a message out of its zstd frame, if it is in one.

    Raises:
        InvalidJSON: It cannot be unpacked, or is larger than `MAX_MESSAGE_BYTES`.
        MissingDependency: It is packed and zstandard is not installed.
    """
    if not message.startswith(ZSTD):
        return message
    try:
        import zstandard
    except ImportError as error:
        raise MissingDependency(
            f"{where} is packed with zstd; pip install 'tracedance-sdk[store]' reads it"
        ) from error
    try:
        with zstandard.ZstdDecompressor().stream_reader(message) as reader:
            data: bytes = reader.read(MAX_MESSAGE_BYTES + 1)
    except zstandard.ZstdError as error:
        raise InvalidJSON(f"{where}: damaged zstd data: {error}") from error
    if len(data) > MAX_MESSAGE_BYTES:
        raise InvalidJSON(f"{where} unpacks to more than {MAX_MESSAGE_BYTES:,} bytes")
    return data


def _spans(traces: Any) -> Iterator[ForeignSpan]:
    for entry in traces.resource_spans:
        resource = _attributes(entry.resource.attributes)
        for group in entry.scope_spans:
            scope = (group.scope.name, group.scope.version)
            for span in group.spans:
                yield _span(span, scope, resource)


def _span(span: Span, scope: tuple[str, str], resource: dict[str, Json]) -> ForeignSpan:
    return ForeignSpan(
        span.name,
        _id(span.trace_id),
        _id(span.span_id),
        _id(span.parent_span_id) or None,
        int(span.kind),
        _time(span.start_time_unix_nano),
        _time(span.end_time_unix_nano) or None,
        _attributes(span.attributes),
        span.status.code == _ERROR,
        span.status.message,
        tuple(
            SpanEvent(event.name, _time(event.time_unix_nano), _attributes(event.attributes))
            for event in span.events
        ),
        tuple(Link(_id(link.trace_id), _id(link.span_id)) for link in span.links),
        *scope,
        resource,
    )


def _logs(logs: Any) -> Iterator[ForeignLog]:
    for entry in logs.resource_logs:
        resource = _attributes(entry.resource.attributes)
        for group in entry.scope_logs:
            for log in group.log_records:
                fields = _attributes(log.attributes)
                name = log.event_name or str(fields.get("event.name", ""))
                body = _value(log.body)
                fields = {**fields, **(body if isinstance(body, dict) else {"body": body})}
                time = _time(log.time_unix_nano) or _time(log.observed_time_unix_nano)
                event = SpanEvent(name, time, fields)
                yield ForeignLog(
                    _id(log.trace_id), _id(log.span_id), event, group.scope.name, resource
                )


def _id(data: bytes) -> str:
    return data.hex() if any(data) else ""


def _time(nanoseconds: int) -> int:
    return nanoseconds if nanoseconds < 2**63 else 0


def _attributes(pairs: Any) -> dict[str, Json]:
    found: dict[str, Json] = {}
    pair: KeyValue
    for pair in pairs:
        if pair.value.WhichOneof("value") is not None:
            found[pair.key] = _value(pair.value)
    return found


def _value(value: AnyValue) -> Json:
    """Return a value as plain JSON; protobuf itself bounds how deep it is nested."""
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(item) for item in value.array_value.values]
    if kind == "kvlist_value":
        return {pair.key: _value(pair.value) for pair in value.kvlist_value.values}
    if kind == "bytes_value":
        return base64.b64encode(value.bytes_value).decode()
    if kind == "double_value":
        return finite(value.double_value)
    return None if kind is None else getattr(value, kind)

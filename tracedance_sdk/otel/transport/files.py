"""Files of spans: which encoding a file has, and what stands in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tracedance_sdk.errors import InvalidJSON, TraceDanceError
from tracedance_sdk.formats import ImportProblem, documents, read_document, read_head, unexpected
from tracedance_sdk.otel.foreign import ForeignLog, ForeignSpan
from tracedance_sdk.otel.transport.jaeger import is_jaeger, jaeger_spans
from tracedance_sdk.otel.transport.otlp_json import is_otlp, otlp_spans
from tracedance_sdk.otel.transport.plain_spans import plain_span, span_objects
from tracedance_sdk.otel.transport.protobuf import (
    is_protobuf,
    messages,
    protobuf_spans,
    unpacked_message,
)
from tracedance_sdk.trace import Json, parse_json

_HEAD_BYTES: Final = 4096
_BINARY: Final = frozenset({".pb", ".binpb", ".proto", ".bin"})


def spans_of_document(value: Json, *, where: str) -> Iterator[ForeignSpan | ForeignLog]:
    """Yield the spans and log records of a parsed JSON document of any shape that is known.

    Args:
        value: OTLP (also Tempo's), Jaeger's traces, or plain span objects.
        where: What it is, for messages.

    Raises:
        InvalidJSON: No spans in it.
    """
    if is_otlp(value):
        yield from otlp_spans(value)
    elif is_jaeger(value):
        yield from jaeger_spans(value)
    else:
        count = 0
        for count, span in enumerate(span_objects(value), 1):  # noqa: B007 - counted
            yield plain_span(span)
        if not count:
            raise InvalidJSON(f"{where}: no spans in it")


def spans_of_file(path: Path) -> Iterator[ForeignSpan | ForeignLog | ImportProblem]:
    """Yield the spans and log records of a file, and what in it cannot be read.

    Args:
        path: JSON, JSON lines, JSON documents one behind another, or protobuf; may be packed.

    Raises:
        TraceDanceError: The file as a whole cannot be read.
    """
    if is_binary(path, read_head(path, _HEAD_BYTES)):
        yield from _binary(path)
        return
    for document in documents(path):
        if isinstance(document, ImportProblem):
            yield document
        else:
            yield from _readable(document.value, path, document.line)


def is_binary(path: Path, head: bytes) -> bool:
    """Whether a file holds protobuf or length-prefixed messages, by its first bytes."""
    if head[:1] in (b"{", b"["):
        return False
    return is_protobuf(head) or (path.suffix in _BINARY and not head.strip().startswith(b"{"))


def _readable(
    value: Json, path: Path, line: int | None
) -> Iterator[ForeignSpan | ForeignLog | ImportProblem]:
    where = str(path) if line is None else f"{path}:{line}"
    try:
        yield from spans_of_document(value, where=where)
    except TraceDanceError as error:
        yield ImportProblem(str(path), str(error), line)
    except Exception as error:  # noqa: BLE001 - foreign spans may make a reader fail in any way
        yield ImportProblem(str(path), f"{where}: {unexpected(error)}", line)


def _binary(path: Path) -> Iterator[ForeignSpan | ForeignLog | ImportProblem]:
    try:
        for where, message in messages(read_document(path), where=str(path)):
            yield from _message(message, where, path)
    except InvalidJSON as error:
        yield ImportProblem(str(path), str(error))


def _message(
    message: bytes, where: str, path: Path
) -> Iterator[ForeignSpan | ForeignLog | ImportProblem]:
    try:
        data = unpacked_message(message, where=where)
        if not data.lstrip().startswith(b"{"):
            yield from protobuf_spans(data, where=where)
            return
        for line in data.splitlines():
            if line.strip():
                yield from spans_of_document(parse_json(line, where=where), where=where)
    except InvalidJSON as error:
        yield ImportProblem(str(path), str(error))
    except Exception as error:  # noqa: BLE001 - foreign spans may make a reader fail in any way
        yield ImportProblem(str(path), f"{where}: {unexpected(error)}")

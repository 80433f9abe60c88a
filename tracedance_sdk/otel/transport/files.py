"""Files of spans: which encoding a file has, and what stands in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from tracedance_sdk.errors import InvalidJSON, TraceDanceError
from tracedance_sdk.formats import ImportProblem, documents, read_document, read_head, unexpected
from tracedance_sdk.otel.foreign import ForeignLog, ForeignSpan
from tracedance_sdk.otel.transport.jaeger import is_jaeger, jaeger_spans
from tracedance_sdk.otel.transport.otlp_json import has_spans, is_otlp, otlp_spans
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


def spans_of_document(
    value: Json, *, where: str, faults: Counter[str] | None = None
) -> Iterator[ForeignSpan | ForeignLog]:
    """Yield the spans and log records of a parsed JSON document of any shape that is known.

    Args:
        value: OTLP (also Tempo's), Jaeger's traces, or plain span objects.
        where: What it is, for messages.
        faults: Takes what is wrong in it and was left out, with how often.

    Raises:
        InvalidJSON: No spans in it.
    """
    if is_otlp(value):
        yield from otlp_spans(value, faults)
    elif is_jaeger(value):
        yield from jaeger_spans(value)
    else:
        count = 0
        for count, span in enumerate(span_objects(value), 1):  # noqa: B007 - counted
            yield plain_span(span, faults)
        if faults is not None and isinstance(value, list) and 0 < count < len(value):
            faults["an item that is no span"] += len(value) - count
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
    is_silent, asked = True, False
    for document in documents(path):
        if isinstance(document, ImportProblem):
            is_silent = False
            yield document
            continue
        asked = asked or has_spans(document.value)
        for found in _readable(document.value, path, document.line):
            is_silent = False
            yield found
    if is_silent and asked:
        yield ImportProblem(str(path), f"{path}: no spans in it")


def is_binary(path: Path, head: bytes) -> bool:
    """Whether a file holds protobuf or length-prefixed messages, by its first bytes."""
    if head[:1] in (b"{", b"["):
        return False
    return is_protobuf(head) or (path.suffix in _BINARY and not head.strip().startswith(b"{"))


def _readable(
    value: Json, path: Path, line: int | None
) -> Iterator[ForeignSpan | ForeignLog | ImportProblem]:
    where = str(path) if line is None else f"{path}:{line}"
    faults: Counter[str] = Counter()
    try:
        yield from _with_ids(spans_of_document(value, where=where, faults=faults), faults)
    except TraceDanceError as error:
        yield ImportProblem(str(path), str(error), line)
    except Exception as error:  # noqa: BLE001 - foreign spans may make a reader fail in any way
        yield ImportProblem(str(path), f"{where}: {unexpected(error)}", line)
    yield from _told(faults, path, where, line)


def _binary(path: Path) -> Iterator[ForeignSpan | ForeignLog | ImportProblem]:
    try:
        for where, message in messages(read_document(path), where=str(path)):
            yield from _message(message, where, path)
    except InvalidJSON as error:
        yield ImportProblem(str(path), str(error))


def _message(
    message: bytes, where: str, path: Path
) -> Iterator[ForeignSpan | ForeignLog | ImportProblem]:
    faults: Counter[str] = Counter()
    try:
        data = unpacked_message(message, where=where)
        if not data.lstrip().startswith(b"{"):
            yield from _with_ids(protobuf_spans(data, where=where), faults)
        else:
            for line in data.splitlines():
                if line.strip():
                    value = parse_json(line, where=where)
                    found = spans_of_document(value, where=where, faults=faults)
                    yield from _with_ids(found, faults)
    except InvalidJSON as error:
        yield ImportProblem(str(path), str(error))
    except Exception as error:  # noqa: BLE001 - foreign spans may make a reader fail in any way
        yield ImportProblem(str(path), f"{where}: {unexpected(error)}")
    yield from _told(faults, path, where, None)


def _with_ids(
    found: Iterable[ForeignSpan | ForeignLog], faults: Counter[str]
) -> Iterator[ForeignSpan | ForeignLog]:
    """Yield what can be told from others: spans without ids would be taken for one."""
    for item in found:
        if isinstance(item, ForeignSpan) and not (item.trace_id and item.span_id):
            faults["a span without its ids"] += 1
        else:
            yield item


def _told(
    faults: Counter[str], path: Path, where: str, line: int | None
) -> Iterator[ImportProblem]:
    for what, count in faults.items():
        times = f" ({count:,} times)" if count > 1 else ""
        yield ImportProblem(str(path), f"{where}: {what}{times}", line)

"""Files of spans: which encoding a file has, and what stands in it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from tracedance_sdk.errors import InvalidJSON, TraceDanceError
from tracedance_sdk.formats import ImportProblem, documents, read_document
from tracedance_sdk.otel.foreign import ForeignLog, ForeignSpan
from tracedance_sdk.otel.transport.jaeger import is_jaeger, jaeger_spans
from tracedance_sdk.otel.transport.otlp_json import is_otlp, otlp_spans
from tracedance_sdk.otel.transport.plain_spans import is_span, plain_span, span_objects
from tracedance_sdk.otel.transport.protobuf import is_protobuf, messages, protobuf_spans
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
    if is_binary(path, _head(path)):
        yield from _binary(path)
        return
    try:
        for document in documents(path):
            if isinstance(document, ImportProblem):
                yield document
            else:
                yield from _readable(document.value, path, document.line)
    except InvalidJSON as error:
        yield from _one_behind_another(path, error)


def is_binary(path: Path, head: bytes) -> bool:
    """Whether a file holds protobuf or length-prefixed messages, by its first bytes."""
    if head[:1] in (b"{", b"["):
        return False
    return is_protobuf(head) or (path.suffix in _BINARY and not head.strip().startswith(b"{"))


def _head(path: Path) -> bytes:
    from tracedance_sdk.formats import read_head

    return read_head(path, _HEAD_BYTES)


def _readable(
    value: Json, path: Path, line: int | None
) -> Iterator[ForeignSpan | ForeignLog | ImportProblem]:
    where = str(path) if line is None else f"{path}:{line}"
    try:
        yield from spans_of_document(value, where=where)
    except TraceDanceError as error:
        yield ImportProblem(str(path), str(error), line)


def _binary(path: Path) -> Iterator[ForeignSpan | ForeignLog | ImportProblem]:
    try:
        for message in messages(read_document(path), where=str(path)):
            if message.lstrip()[:1] == b"{":
                for line in message.splitlines():
                    yield from _readable(parse_json(line, where=str(path)), path, None)
            else:
                yield from protobuf_spans(message, where=str(path))
    except InvalidJSON as error:
        yield ImportProblem(str(path), str(error))


def _one_behind_another(
    path: Path, single: InvalidJSON
) -> Iterator[ForeignSpan | ForeignLog | ImportProblem]:
    """Yield the spans of pretty-printed objects that follow one another without a comma."""
    try:
        text = read_document(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise single from None
    decoder = json.JSONDecoder()
    place, count, line, counted = _next(text, 0), 0, 1, 0
    while place < len(text):
        line, counted = line + text.count("\n", counted, place), place
        try:
            _, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError) as error:
            if not count:
                raise single from error
            yield ImportProblem(str(path), f"not JSON behind {count} documents: {error}", line)
            return
        value = parse_json(text[place:end], where=str(path))
        if not count and not is_span(value) and not is_otlp(value):
            raise single
        count += 1
        yield from _readable(value, path, line)
        place = _next(text, end)


def _next(text: str, place: int) -> int:
    while place < len(text) and text[place].isspace():
        place += 1
    return place


def only_records(
    found: Iterable[Any],
) -> tuple[list[ForeignSpan | ForeignLog], list[ImportProblem]]:
    """Return what was read apart from what could not be."""
    records: list[ForeignSpan | ForeignLog] = []
    problems: list[ImportProblem] = []
    for item in found:
        (problems if isinstance(item, ImportProblem) else records).append(item)
    return records, problems

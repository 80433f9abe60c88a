"""Open files of JSON documents: plain or gzipped, one document or one a line, within bounds."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Final, NamedTuple

from tracedance_sdk.errors import InvalidJSON, UnreadableFile
from tracedance_sdk.formats.importing import ImportProblem
from tracedance_sdk.trace import MAX_DEPTH, MAX_FILE_BYTES, Json, check_file, parse_json, read_bytes

MAX_UNPACKED_BYTES: Final = 256 * 1024**2
"""Largest document read from a compressed file, and longest line of any file, in bytes."""

HEAD_BYTES: Final = 64 * 1024
"""How much of a file is looked at to see what it is."""

_LINE_SUFFIXES: Final = {".jsonl", ".ndjson"}


class Document(NamedTuple):
    """A parsed JSON document; `line` counts from 1 and is None where the file is one document."""

    value: Json
    line: int | None


def read_document(path: str | os.PathLike[str], *, limit: int | None = None) -> bytes:
    """Return a file's bytes, unpacked when it is gzipped (by its first bytes, not its name).

    Args:
        path: A regular file.
        limit: Most bytes; by default `MAX_FILE_BYTES`, or `MAX_UNPACKED_BYTES` once unpacked.

    Raises:
        UnreadableFile: Missing, a folder, damaged, or larger than the limit.
    """
    data = read_bytes(path, limit=MAX_FILE_BYTES if limit is None else limit)
    if not data.startswith(b"\x1f\x8b"):
        return data
    most = MAX_UNPACKED_BYTES if limit is None else limit
    with _damage_named(path), gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
        unpacked = stream.read(most + 1)
    if len(unpacked) > most:
        raise UnreadableFile(f"{str(path)!r} unpacks to more than {most:,} bytes")
    return unpacked


def read_head(path: str | os.PathLike[str], size: int = HEAD_BYTES) -> bytes:
    """Return up to `size` first bytes of a file, unpacked when it is gzipped.

    Raises:
        UnreadableFile: Missing, not a regular file, or damaged.
    """
    with _stream(path) as stream, _damage_named(path):
        return stream.read(size)


def documents(
    path: str | os.PathLike[str], *, unique_keys: bool = False, max_depth: int = MAX_DEPTH
) -> Iterator[Document | ImportProblem]:
    """Yield the JSON documents of a file, one at a time where it is line-based.

    A file is line-based when its name says so (``.jsonl``, ``.ndjson``) or when its first line
    is a whole document and more lines follow.

    Args:
        path: A file, plain or gzipped.
        unique_keys: Refuse an object that names a key twice; see `parse_json`.
        max_depth: Deepest nesting that is read; see `parse_json`.

    Yields:
        Each document, or the problem of a line that is not JSON; blank lines are skipped.

    Raises:
        UnreadableFile: The file cannot be opened or unpacked.
        InvalidJSON: A file of one document that is not JSON.
    """
    parse = partial(parse_json, unique_keys=unique_keys, max_depth=max_depth)
    if _is_line_based(path):
        yield from _line_documents(path, parse)
    else:
        yield Document(parse(read_document(path), where=str(path)), None)


def _is_line_based(path: str | os.PathLike[str]) -> bool:
    if set(Path(path).suffixes[-2:]) & _LINE_SUFFIXES:
        return True
    with _stream(path) as stream, _damage_named(path):
        first = _next_line(stream, path)
        while first is not None and not first.strip():
            first = _next_line(stream, path)
        second = stream.read(1) if first is not None else b""
        while second.isspace():
            second = stream.read(1)
    if first is None or not second:
        return False
    try:
        value = parse_json(first, where=str(path))
    except InvalidJSON:
        return False
    return isinstance(value, (dict, list))


def _line_documents(
    path: str | os.PathLike[str], parse: Callable[..., Json]
) -> Iterator[Document | ImportProblem]:
    with _stream(path) as stream, _damage_named(path):
        number = 0
        while (line := _next_line(stream, path)) is not None:
            number += 1
            if not line.strip():
                continue
            try:
                value = parse(line, where=f"{path}:{number}")
            except InvalidJSON as error:
                yield ImportProblem(str(path), str(error), number)
            else:
                yield Document(value, number)


def _next_line(stream: IO[bytes], path: str | os.PathLike[str]) -> bytes | None:
    line = stream.readline(MAX_UNPACKED_BYTES + 1)
    if len(line) > MAX_UNPACKED_BYTES:
        raise UnreadableFile(f"{str(path)!r} has a line of more than {MAX_UNPACKED_BYTES:,} bytes")
    return line or None


@contextmanager
def _stream(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    where = check_file(path)
    try:
        raw = where.open("rb")
    except OSError as error:
        raise UnreadableFile(f"{str(path)!r} cannot be read: {error}") from error
    with raw:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        if not packed:
            yield raw
            return
        with gzip.GzipFile(fileobj=raw) as unpacked:
            yield unpacked  # type: ignore[misc]  # GzipFile reads bytes and is no IO[bytes]


@contextmanager
def _damage_named(path: str | os.PathLike[str]) -> Iterator[None]:
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise UnreadableFile(f"{str(path)!r} is a damaged gzip file: {error}") from error

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
from tracedance_sdk.trace import MAX_DEPTH, MAX_FILE_BYTES, Json, check_file, parse_json

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
    with _stream(path, limit) as stream, _damage_named(path):
        return _whole(stream, path, limit)


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
    data = None if _is_named_for_lines(path) else _single_document(path)
    if data is None:
        yield from _line_documents(path, parse)
    else:
        yield Document(parse(data, where=str(path)), None)


def _is_named_for_lines(path: str | os.PathLike[str]) -> bool:
    return bool(set(Path(path).suffixes[-2:]) & _LINE_SUFFIXES)


def _single_document(path: str | os.PathLike[str]) -> bytes | None:
    """Return the bytes of a file, or None when it holds one document a line."""
    with _stream(path) as stream, _damage_named(path):
        first = _next_line(stream, path)
        while first is not None and not first.strip():
            first = _next_line(stream, path)
        second = stream.read(1) if first is not None else b""
        while second.isspace():
            second = stream.read(1)
        if first is not None and second and _is_document(first):
            return None
        return _whole(stream, path)


def _is_document(line: bytes) -> bool:
    try:
        value = parse_json(line, where="line")
    except InvalidJSON:
        return False
    return isinstance(value, (dict, list))


def _whole(stream: IO[bytes], path: str | os.PathLike[str], limit: int | None = None) -> bytes:
    """Return all bytes of a stream from its start; bounded where they are unpacked."""
    if isinstance(stream, io.BufferedReader):
        # Past the buffer: what has been looked at would be joined with the rest, a second copy.
        stream.raw.seek(0)
        data: bytes = stream.raw.readall()
        return data
    stream.seek(0)
    most = MAX_UNPACKED_BYTES if limit is None else limit
    unpacked = stream.read(most + 1)
    if len(unpacked) > most:
        raise UnreadableFile(f"{str(path)!r} unpacks to more than {most:,} bytes")
    return unpacked


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
def _stream(path: str | os.PathLike[str], limit: int | None = None) -> Iterator[IO[bytes]]:
    where = check_file(path, limit=MAX_FILE_BYTES if limit is None else limit)
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
    except OSError as error:
        raise UnreadableFile(f"{str(path)!r} cannot be read: {error}") from error

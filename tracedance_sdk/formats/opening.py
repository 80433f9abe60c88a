"""Open files of JSON documents: plain or compressed, one document or one a line, within bounds."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

from tracedance_sdk.errors import InvalidJSON, UnreadableFile
from tracedance_sdk.formats.compressed import Damaged, compression, unpacked
from tracedance_sdk.formats.importing import ImportProblem
from tracedance_sdk.formats.run_together import MOST_BAD_ITEMS, Piece, items, pieces
from tracedance_sdk.trace import (
    MAX_DEPTH,
    MAX_FILE_BYTES,
    Json,
    check_file,
    count_marks,
    count_values,
    parse_json,
    parse_telling_repeats,
    parse_text,
)

MAX_UNPACKED_BYTES: Final = 256 * 1024**2
"""Largest document read from a compressed file, and longest line of any file, in bytes."""

MAX_LINES_BYTES: Final = 1024**4
"""Largest file of lines, as it lies on the disk, in bytes."""

HEAD_BYTES: Final = 64 * 1024
"""How much of a file is looked at to see what it is."""

_LINE_SUFFIXES: Final = {".jsonl", ".ndjson"}
_SKIPPED_AT_ONCE: Final = 1024**2
_SEPARATOR: Final = b"\x1e"
"""What stands before each document of a sequence; no JSON holds it."""

_SPACE: Final = b" \t\r\n\v\f" + _SEPARATOR

_Parse = Callable[..., tuple[Json, bytes | None, str | None]]
"""Returns a document's value, its bytes where they are wanted, and what is wrong with it all the
same."""


class Document(NamedTuple):
    """A parsed JSON document.

    Attributes:
        value: What it says.
        line: Where it starts, from 1; None where the file is one document. Documents that were
            written on one line have one number.
        text: Its bytes, when they were asked for and are its compact JSON.
        is_cut: A list, of which only the items are here that could be read.
    """

    value: Json
    line: int | None
    text: bytes | None = None
    is_cut: bool = False


class _Line(NamedTuple):
    """A line with its end; `data` is only its start where it is longer than the bound."""

    data: bytes
    is_whole: bool


def read_document(path: str | os.PathLike[str], *, limit: int | None = None) -> bytes:
    """Return a file's bytes, unpacked when it is compressed (by its first bytes, not its name).

    Args:
        path: A regular file, plain or packed by gzip or zstd.
        limit: Most bytes; by default `MAX_FILE_BYTES`, or `MAX_UNPACKED_BYTES` once unpacked.

    Raises:
        UnreadableFile: Missing, a folder, damaged, or larger than the limit.
        MissingDependency: Packed by zstd, and its package is not installed.
    """
    with _stream(path) as stream:
        return _whole(stream, path, limit)


def read_head(path: str | os.PathLike[str], size: int = HEAD_BYTES) -> bytes:
    """Return up to `size` first bytes of a file, unpacked when it is compressed.

    Raises:
        UnreadableFile: Missing, not a regular file, or damaged.
        MissingDependency: Packed by zstd, and its package is not installed.
    """
    with _stream(path) as stream:
        return stream.read(size)


def documents(
    path: str | os.PathLike[str],
    *,
    unique_keys: bool = False,
    max_depth: int = MAX_DEPTH,
    keep_text: bool = False,
    most_values: int | None = None,
) -> Iterator[Document | ImportProblem]:
    """Yield the JSON documents of a file, one at a time where it is line-based.

    A file is line-based when its name says so (``.jsonl``, ``.ndjson``) or when its first line
    is a whole document and more lines follow. Objects and lists that were written one after
    another, on a line or in a file of one document, are told apart, those of a sequence with their
    separators, too. Of a list that is cut short, or has items that are no JSON, the others are
    read.

    Args:
        path: A file, plain or packed by gzip or zstd.
        unique_keys: Refuse an object that names a key twice; else that is a problem beside the
            document, in which the last one counts.
        max_depth: Deepest nesting that is read; see `parse_json`.
        keep_text: Give each document's bytes with it, where they are as the fast writer's.
        most_values: For those who hold all lines at once: how many values they may have together,
            about; the lines after that are not read.

    Yields:
        Each document, or the problem of a line that is not JSON or longer than
        `MAX_UNPACKED_BYTES`; blank lines are skipped. Where a file of lines turns out to be
        damaged, that is the last problem.

    Source:
        RFC 7464, JSON Text Sequences, section 2.

    Raises:
        UnreadableFile: The file cannot be opened, or, as one document, not be unpacked.
        InvalidJSON: A file of one document that is not JSON.
        MissingDependency: Packed by zstd, and its package is not installed.
    """
    parse = partial(_parse, unique_keys=unique_keys, max_depth=max_depth, keep_text=keep_text)
    data = None if is_named_for_lines(path) else _single_document(path)
    if data is None:
        yield from _line_documents(path, parse, most_values)
        return
    if _SEPARATOR in data[:HEAD_BYTES]:
        yield from _sequence(data, parse, str(path))
        return
    try:
        value, text, repeated = parse(data, where=str(path))
    except InvalidJSON:
        first, *further = _taken_apart(data, parse, str(path), None) or (None,)
        if first is None:
            raise
        yield first
        yield from further
        return
    if repeated:
        yield ImportProblem(str(path), repeated)
    yield Document(value, None, text)


def _parse(
    data: bytes, *, where: str, unique_keys: bool, max_depth: int, keep_text: bool
) -> tuple[Json, bytes | None, str | None]:
    if unique_keys or keep_text:
        read = partial(parse_text, unique_keys=unique_keys, max_depth=max_depth)
        value, text = read(data, where=where)
        return value, text if keep_text else None, None
    value, repeated = parse_telling_repeats(data, where=where, max_depth=max_depth)
    return value, None, repeated


def is_named_for_lines(path: str | os.PathLike[str]) -> bool:
    """Whether a file's name promises one document a line."""
    return bool(set(Path(path).suffixes[-2:]) & _LINE_SUFFIXES)


def _single_document(path: str | os.PathLike[str]) -> bytes | None:
    """Return the bytes of a file, or None when it holds one document a line."""
    with _stream(path) as stream:
        _skip_space(stream)
        first = _next_line(stream)
        _skip_space(stream)
        second = stream.read(1)
        if first is not None and not first.is_whole:
            if second:
                return None
            raise UnreadableFile(f"{str(path)!r} has {_too_long()}")
        if first is not None and second and _is_document(first.data):
            return None
        return _whole(stream, path)


def _is_document(line: bytes) -> bool:
    try:
        value = parse_json(line, where="line")
    except InvalidJSON:
        return next(iter(pieces(line)), None) is not None
    return isinstance(value, (dict, list))


def _whole(
    stream: io.BufferedReader, path: str | os.PathLike[str], limit: int | None = None
) -> bytes:
    """Return all bytes of a stream from its start."""
    if isinstance(stream.raw, io.FileIO):
        check_file(path, limit=MAX_FILE_BYTES if limit is None else limit)
        # Past the buffer: what has been looked at would be joined with the rest, a second copy.
        stream.raw.seek(0)
        return stream.raw.readall()
    stream.seek(0)
    most = MAX_UNPACKED_BYTES if limit is None else limit
    data = stream.read(most + 1)
    if len(data) > most:
        raise UnreadableFile(f"{str(path)!r} unpacks to more than {most:,} bytes")
    return data


def _line_documents(
    path: str | os.PathLike[str], parse: _Parse, most_values: int | None
) -> Iterator[Document | ImportProblem]:
    number = 0
    budget = None if most_values is None else _Budget(most_values)
    with _stream(path) as stream:
        while True:
            number += 1
            try:
                number += _skip_space(stream)
                line = _next_line(stream)
            except (OSError, Damaged) as error:
                yield ImportProblem(str(path), str(_unreadable(path, error)), number)
                return
            if line is None:
                return
            if budget is not None and not budget.allows(line.data):
                reason = f"more than {most_values:,} values up to here; the rest is not read"
                yield ImportProblem(str(path), reason, number)
                return
            yield from _of_line(line, parse, str(path), number)


class _Budget:
    """How many values lines may still have; exact only once it matters."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._marks = self._values = 0

    def allows(self, line: bytes) -> bool:
        self._marks += count_marks(line)
        if self._marks > self._most:
            self._values += count_values(line, self._most)
        return self._values < self._most


def _sequence(data: bytes, parse: _Parse, path: str) -> Iterator[Document | ImportProblem]:
    """Yield the documents of a sequence, each of which may stand on several lines."""
    number = 1
    for text in data.split(_SEPARATOR):
        blank = text[: len(text) - len(text.lstrip(_SPACE))]
        at = number + blank.count(b"\n")
        if len(blank) < len(text):
            yield from _of_line(_Line(text, is_whole=True), parse, path, at)
        number += text.count(b"\n")


def _of_line(
    line: _Line, parse: _Parse, path: str, number: int
) -> Iterator[Document | ImportProblem]:
    where = f"{path}:{number}"
    if not line.is_whole:
        yield ImportProblem(path, f"{where}: {_too_long()}", number)
    else:
        try:
            value, text, repeated = parse(line.data.rstrip(b"\r\n"), where=where)
        except InvalidJSON as error:
            problem = ImportProblem(path, str(error), number)
            yield from _taken_apart(line.data, parse, path, number) or (problem,)
        else:
            if repeated:
                yield ImportProblem(path, repeated, number)
            yield Document(value, number, text)


def _taken_apart(
    data: bytes, parse: _Parse, path: str, line: int | None
) -> list[Document | ImportProblem]:
    """Return the whole documents in what is no document; what is none of them is a problem each."""
    first = line or 1
    data = data.replace(_SEPARATOR, b" ")
    found = [_piece(piece, parse, path, first) for piece in pieces(data)]
    return found or _whole_items(data, parse, path, line)


def _whole_items(
    data: bytes, parse: _Parse, path: str, line: int | None
) -> list[Document | ImportProblem]:
    """Return the whole items of a list that is not whole, as one list, and what else is in it."""
    whole: list[Json] = []
    bad: list[Document | ImportProblem] = []
    for piece in items(data):
        found = _piece(piece, parse, path, line or 1)
        if isinstance(found, Document):
            whole.append(found.value)
            continue
        bad.append(found)
        if len(bad) == MOST_BAD_ITEMS:
            bad.append(ImportProblem(path, "what follows in this list is not read", found.line))
            break
    if not bad:
        bad.append(ImportProblem(path, "a list that does not end", line))
    return [Document(whole, line, is_cut=True), *bad] if whole else []


def _piece(piece: Piece, parse: _Parse, path: str, first: int) -> Document | ImportProblem:
    number = first + piece.line
    try:
        value, written, _ = parse(piece.text, where=f"{path}:{number}")
    except InvalidJSON as error:
        reason = f"{error}, in what starts at character {piece.start + 1:,}"
        return ImportProblem(path, reason, number)
    return Document(value, number, written)


def _too_long() -> str:
    return f"a line of more than {MAX_UNPACKED_BYTES:,} bytes"


def _skip_space(stream: io.BufferedReader) -> int:
    """Skip white space and separators up to the next document; return how many lines that were.

    A block at a time: a file may hold nothing else.
    """
    lines = 0
    while block := stream.peek():
        rest = block.lstrip(_SPACE)
        skipped = stream.read(len(block) - len(rest))
        lines += skipped.count(b"\n")
        if rest:
            break
    return lines


def _next_line(stream: io.BufferedReader) -> _Line | None:
    data = stream.readline(MAX_UNPACKED_BYTES + 1)
    if len(data) <= MAX_UNPACKED_BYTES:
        return _Line(data, is_whole=True) if data else None
    rest = data
    while rest and not rest.endswith(b"\n"):
        rest = stream.readline(_SKIPPED_AT_ONCE)
    return _Line(data[:HEAD_BYTES], is_whole=False)


@contextmanager
def _stream(path: str | os.PathLike[str]) -> Iterator[io.BufferedReader]:
    where = check_file(path, limit=MAX_LINES_BYTES)
    try:
        with where.open("rb") as raw:
            kind = compression(raw.read(4))
            raw.seek(0)
            if kind is None:
                yield raw
            else:
                with unpacked(raw, kind=kind, size=where.stat().st_size) as stream:
                    yield stream
    except UnreadableFile:
        raise
    except (OSError, Damaged) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: str | os.PathLike[str], error: OSError | Damaged) -> UnreadableFile:
    if isinstance(error, UnreadableFile):
        return error
    if isinstance(error, Damaged):
        return UnreadableFile(f"{str(path)!r} is {error}")
    return UnreadableFile(f"{str(path)!r} cannot be read: {error}")

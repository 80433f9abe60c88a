"""Which files a journal consists of, and what their first lines say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from tracedance_sdk.errors import InvalidJSON, JournalError, UnsupportedVersion
from tracedance_sdk.journal.chain import take_apart
from tracedance_sdk.journal.decoding import decode_line
from tracedance_sdk.journal.encoding import FORMAT, HEADER_EVENT, VERSION
from tracedance_sdk.journal.records import Attribute, Attributes, EventRecord

MAX_LINE_BYTES: Final = 256 * 1024 * 1024
"""Longest line that is read unless told otherwise."""

SUFFIX: Final = ".jsonl"

_NAME: Final = re.compile(r"\d{8}T\d{6}-\d{9}-\d+-[0-9a-f]{8}\.jsonl")
_HEADER_BYTES: Final = 64 * 1024
_LINES_LOOKED_AT: Final = 4


class Header(NamedTuple):
    """What the first line of a file says.

    Attributes:
        name: Of the file.
        hash: ``sha256`` or ``hmac-sha256``.
        key: Mark of the key, see `key_mark`; empty without one.
        chain: Random; the same for all files of one chain.
        file: Number of the file in its chain, from 1.
        previous: Hash of the last line of the file before; empty for the first.
    """

    name: str
    hash: str
    key: str
    chain: str
    file: int
    previous: str


class JournalFiles(NamedTuple):
    """The files of a journal.

    Attributes:
        folder: Where they and the blobs lie.
        files: Journal files, in order of their names, damaged ones included.
        others: Files with a journal's suffix that are none, and why.
        is_folder: Whether a folder was asked for, not one file.
    """

    folder: Path
    files: tuple[Path, ...]
    others: tuple[tuple[Path, str], ...]
    is_folder: bool


def journal_files(where: Path) -> JournalFiles:
    """Find the files of a journal.

    Args:
        where: Its folder, or one of its files. A file whose header is damaged is known by its
            name or its other lines.

    Raises:
        JournalError: Nothing there, not readable, or no journal.
        UnsupportedVersion: A file of a version that this release does not read.
    """
    if not where.is_dir():
        problem = _why_none(where)
        if problem is not None:
            raise JournalError(problem)
        return JournalFiles(where.parent, (where,), (), is_folder=False)
    candidates = sorted(path for path in where.glob(f"*{SUFFIX}") if path.is_file())
    found = [(path, _why_none(path)) for path in candidates]
    files = tuple(path for path, problem in found if problem is None)
    others = tuple((path, problem) for path, problem in found if problem is not None)
    if not files:
        first = f"; {others[0][1]}" if others else ""
        raise JournalError(f"no journal in the folder {str(where)!r}{first}")
    return JournalFiles(where, files, others, is_folder=True)


def read_header(line: bytes) -> Header | None:
    """Return what a file's first line says; None when it is no header.

    Raises:
        UnsupportedVersion: A header of another version.
    """
    try:
        records = decode_line(line, where="header")
    except InvalidJSON:
        return None
    record = records[0] if records else None
    if not isinstance(record, EventRecord) or record.name != HEADER_EVENT:
        return None
    return header_of(record)


def header_of(record: EventRecord) -> Header | None:
    """Return what the record of a header says; None when it is another format's.

    Raises:
        UnsupportedVersion: A header of another version.
    """
    about = record.attributes
    if about.get("format") != FORMAT:
        return None
    version = about.get("version")
    if version != VERSION or isinstance(version, bool):
        raise UnsupportedVersion(
            f"journal version {version!r}; this release reads version {VERSION}"
        )
    return Header(
        name=_text(about, "name"),
        hash=_text(about, "hash"),
        key=_text(about, "key"),
        chain=_text(about, "chain"),
        file=_number(about.get("file")),
        previous=_text(about, "previous"),
    )


def numbered_lines(file: BinaryIO, limit: int) -> Iterator[tuple[int, bytes | None]]:
    """Yield lines with their newlines, numbered from 1; None in place of one beyond the bound."""
    number = 0
    while line := file.readline(limit):
        number += 1
        if line.endswith(b"\n") or len(line) < limit:
            yield number, line
            continue
        while rest := file.readline(1024 * 1024):
            if rest.endswith(b"\n"):
                break
        yield number, None


def _why_none(path: Path) -> str | None:
    """Return why a file is no journal, in one line; None when it is one."""
    try:
        if path.exists() and not path.is_file():
            return f"the journal {str(path)!r} cannot be read: it is neither file nor folder"
        with path.open("rb") as file:
            first = file.readline(_HEADER_BYTES)
            if _is_header(first, path) or _NAME.fullmatch(path.name):
                return None
            lines = [first] + [file.readline(_HEADER_BYTES) for _ in range(_LINES_LOOKED_AT)]
    except (OSError, ValueError) as error:
        if isinstance(error, UnsupportedVersion):
            raise
        return f"the journal {str(path)!r} cannot be read: {reason(error)}"
    if any(take_apart(line.rstrip(b"\n")) for line in lines):
        return None
    if not first:
        return f"{str(path)!r} is empty; a journal begins with its header"
    return f"{str(path)!r} is no journal: its first line is no header"


def reason(error: Exception) -> str:
    """Return what went wrong without the path, which the message around it names."""
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)


def _is_header(line: bytes, path: Path) -> bool:
    try:
        return read_header(line) is not None
    except UnsupportedVersion as error:
        raise UnsupportedVersion(f"{str(path)!r}: {error}") from None


def _text(about: Attributes, key: str) -> str:
    value = about.get(key, "")
    return value if isinstance(value, str) else ""


def _number(value: Attribute | None) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0

"""What pruning needs to know of a journal file, found in one pass over its lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tracedance_sdk.errors import InvalidJSON
from tracedance_sdk.journal.chain import take_apart
from tracedance_sdk.journal.decoding import decode_line
from tracedance_sdk.journal.encoding import CLOSE_EVENT, PRUNED_EVENT
from tracedance_sdk.journal.files import MAX_LINE_BYTES, Header, numbered_lines, read_header
from tracedance_sdk.journal.records import EventRecord, EvidenceRecord

_MENTION: Final = re.compile(rb"sha256:([0-9a-f]{64})")


class Survey(NamedTuple):
    """A journal file, as pruning sees it.

    Attributes:
        path: The file.
        header: What its first line says; None when that is damaged or not there.
        head: Hash of the last whole line; empty when there is none.
        next: Name of the file that its closing record says goes on; None without one.
        changed_ns: Time of the last record or of the last change of the file, whichever is later,
            in nanoseconds since the epoch.
        bytes: Its size.
        mentions: Digests that could be those of blobs.
        noted: Hashes of the last lines of pruned files that it has a note of.
    """

    path: Path
    header: Header | None
    head: str
    next: str | None
    changed_ns: int
    bytes: int
    mentions: frozenset[str]
    noted: frozenset[str]


def survey(path: Path) -> Survey:
    """Look through one file.

    Raises:
        OSError: It cannot be read.
        UnsupportedVersion: Its header is of another version.
    """
    status = path.lstat()
    header: Header | None = None
    last = b""
    mentions: set[str] = set()
    noted: set[str] = set()
    with path.open("rb") as file:
        for number, line in numbered_lines(file, MAX_LINE_BYTES):
            if line is None:
                continue
            if number == 1:
                header = read_header(line)
            mentions.update(digest.decode() for digest in _MENTION.findall(line))
            if PRUNED_EVENT.encode() in line:
                noted.update(_noted(line))
            if line.endswith(b"\n"):
                last = line.removesuffix(b"\n")
    pieces = take_apart(last)
    records = _records(last)
    return Survey(
        path=path,
        header=header,
        head=pieces.hash if pieces else "",
        next=_next(records),
        changed_ns=max(status.st_mtime_ns, *map(_time_ns, records))
        if records
        else status.st_mtime_ns,
        bytes=status.st_size,
        mentions=frozenset(mentions),
        noted=frozenset(noted),
    )


def _records(line: bytes) -> list[EvidenceRecord]:
    try:
        return decode_line(line, where="line")
    except InvalidJSON:
        return []


def _time_ns(record: EvidenceRecord) -> int:
    return record.time_ns if isinstance(record, EventRecord) else record.end_ns


def _next(records: list[EvidenceRecord]) -> str | None:
    for record in records:
        following = record.attributes.get("next") if record.name == CLOSE_EVENT else None
        if isinstance(following, str):
            return following
    return None


def _noted(line: bytes) -> Iterator[str]:
    for record in _records(line):
        head = record.attributes.get("head")
        if record.name == PRUNED_EVENT and isinstance(head, str):
            yield head

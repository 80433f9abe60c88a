"""Find out which collector reads a file, and whether the file only belongs to runs."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tracedance_sdk.errors import InvalidJSON, UnreadableFile
from tracedance_sdk.formats.detection import MOST_LINES, strength
from tracedance_sdk.formats.importing import Collector
from tracedance_sdk.formats.opening import HEAD_BYTES, is_named_for_lines, read_head
from tracedance_sdk.formats.unpacking import is_archive
from tracedance_sdk.formats.unrecognised import why_unrecognised
from tracedance_sdk.formats.walking import sniffs
from tracedance_sdk.trace import check_file, parse_json

MOST_PEEKED_BYTES: Final = 8 * 1024**2
"""How much of a file named like JSON is looked at when its first bytes do not tell what it is."""

_LIKELY: Final = {".json", ".jsonl", ".ndjson"}
_PACKED: Final = {".gz", ".zst", ".zip"}
_logger: Final = logging.getLogger(__name__)


class Recognised(NamedTuple):
    """What a source is.

    Attributes:
        reader: Who reads it; None when nobody does.
        belongs_to: Name of the collector to whose runs it belongs, without holding any.
        is_archive: A zip file that is no source of its own.
        why_not: Why nobody reads it, in a few words.
    """

    reader: Collector | None = None
    belongs_to: str | None = None
    is_archive: bool = False
    why_not: str = ""


def recognise(path: Path, readers: Sequence[Collector], *, limit: int) -> Recognised:
    """Return what a source is, by its first bytes or, where its name says JSON, by some more.

    Raises:
        UnreadableFile: It is not there, larger than `limit` bytes, or damaged.
        MissingDependency: Packed by zstd, and its package is not installed.
    """
    if path.is_dir():
        _check_folder(path)
        owner = next((reader for reader in readers if sniffs(reader, path, b"")), None)
        return Recognised(owner, why_not="a folder")
    check_file(path, limit=limit)
    size = HEAD_BYTES
    head = read_head(path, size)
    found = _by_head(path, head, readers)
    if found is None and len(head) == size and is_likely(path):
        size = MOST_PEEKED_BYTES
        head = read_head(path, size)
        found = _by_head(path, head, readers)
    if found is None and is_named_for_lines(path):
        found = _by_head(path, _from_first_document(head), readers)
    if found is not None:
        return found
    if is_archive(head):
        return Recognised(is_archive=True)
    return Recognised(why_not=why_unrecognised(head, is_whole=len(head) < size))


def is_likely(path: Path) -> bool:
    """Whether a file's name promises JSON."""
    return bool(set(path.suffixes[-2:]) & _LIKELY)


def is_packed(path: Path) -> bool:
    """Whether a file's name promises something packed."""
    return path.suffix in _PACKED


def _from_first_document(head: bytes) -> bytes:
    """Return the first bytes of lines without those before the first whole document."""
    lines = head.split(b"\n", MOST_LINES)
    for place, line in enumerate(lines[:MOST_LINES]):
        try:
            if isinstance(parse_json(line, where="line"), (dict, list)):
                return b"\n".join(lines[place:])
        except InvalidJSON:
            continue
    return b""


def _by_head(path: Path, head: bytes, readers: Sequence[Collector]) -> Recognised | None:
    reader, weight = _best(readers, path, head)
    companion = None
    for item in readers:
        heavier = _weight(item, "companions", path, head)
        if heavier is not None and (reader is None or (weight is not None and heavier > weight)):
            companion, reader, weight = item, item, heavier
    if companion is not None:
        return Recognised(belongs_to=companion.name)
    return None if reader is None else Recognised(reader)


def _best(
    readers: Sequence[Collector], path: Path, head: bytes
) -> tuple[Collector | None, int | None]:
    """Return who knows a file best: by signatures the heaviest, before them who only sniffs."""
    best: Collector | None = None
    most: int | None = None
    for reader in readers:
        if hasattr(reader, "signatures"):
            weight = _weight(reader, "signatures", path, head)
            if weight is not None and (most is None or weight > most):
                best, most = reader, weight
        elif sniffs(reader, path, head):
            return reader, None
    return best, most


def _weight(reader: Collector, which: str, path: Path, head: bytes) -> int | None:
    signatures = getattr(reader, which, ())
    try:
        return strength(signatures, path, head)
    except Exception as error:  # noqa: BLE001 - another package's code may fail in any way
        _logger.warning("%s of collector %r failed on %s: %r", which, reader.name, path, error)
        return None


def _check_folder(path: Path) -> None:
    try:
        os.scandir(path).close()
    except OSError as error:
        raise UnreadableFile(f"the folder {str(path)!r} cannot be read: {error}") from error

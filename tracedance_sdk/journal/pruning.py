"""Remove what is old from a journal, and nothing that is still needed.

A file goes when its last record and its last change are both older than asked and no process has
it open. A blob goes when no remaining file mentions it and it was not used lately either. Where a
file goes from a chain of which others stay, a note in the journal says so, in a file of its own, so
that `verify` can tell pruning from tampering. Links are neither removed nor followed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final, NamedTuple

from tracedance_sdk.errors import InvalidOption, JournalError
from tracedance_sdk.journal.blob_pruning import OldBlob, old_blobs, remove_blob
from tracedance_sdk.journal.chain import HASHES, key_mark
from tracedance_sdk.journal.encoding import PRUNED_EVENT
from tracedance_sdk.journal.files import journal_files, reason
from tracedance_sdk.journal.locking import is_being_written
from tracedance_sdk.journal.records import Attributes, EventRecord
from tracedance_sdk.journal.surveying import Survey, survey
from tracedance_sdk.journal.writer import JournalWriter

_KEYED: Final = HASHES[True]


class Pruning(NamedTuple):
    """What pruning removed, or would remove.

    Attributes:
        files: Journal files removed.
        blobs: Large values removed, leftovers of interrupted writes included.
        bytes: Of both.
        kept: Files old enough that stay all the same, each with the reason.
        problems: What could not be removed, one line each.
        is_dry_run: Nothing was removed.
    """

    files: tuple[Path, ...]
    blobs: tuple[Path, ...]
    bytes: int
    kept: tuple[tuple[Path, str], ...]
    problems: tuple[str, ...]
    is_dry_run: bool


def prune(
    folder: str | os.PathLike[str],
    *,
    older_than: timedelta,
    dry_run: bool = False,
    key: bytes | None = None,
) -> Pruning:
    """Remove journal files whose last record is older than an age, and blobs left without any.

    Args:
        folder: The journal.
        older_than: Age from which a file may go.
        dry_run: Only say what would go.
        key: The key of the chains, see `journal_key`; needed when files of a chain under a key go
            and others of it stay.

    Returns:
        What was removed.

    Raises:
        InvalidOption: `folder` is no folder, or the age is not positive.
        JournalError: No journal there, not readable, or the key is missing or another; nothing
            was removed then.
        UnsupportedVersion: A file of another version; nothing was removed then.

    Example:
        >>> prune("traces/", older_than=timedelta(days=30)).bytes  # doctest: +SKIP
        73400320
    """
    place = Path(folder)
    if not place.is_dir():
        raise InvalidOption(f"{str(folder)!r} is no folder; name the folder of a journal")
    if older_than <= timedelta(0):
        raise InvalidOption(f"an age of {older_than} is not positive; give one such as 30 days")
    before_ns = time.time_ns() - int(older_than.total_seconds() * 1e9)
    files = _surveyed(place)
    gone, kept = _chosen(files, before_ns)
    staying = [file for file in files if file not in gone]
    to_note = _to_note(gone, staying)
    _require_key(to_note, key)
    mentions = frozenset[str]().union(*(file.mentions for file in staying), _other_mentions(place))
    blobs = old_blobs(place, before_ns, mentions)
    removed = _Removal(dry_run)
    if to_note and not dry_run:
        _write_notes(place, to_note, key)
    for file in gone:
        removed.file(file)
    for blob in blobs:
        removed.blob(blob, before_ns)
    return Pruning(
        files=tuple(removed.files),
        blobs=tuple(removed.blobs),
        bytes=removed.bytes,
        kept=tuple(kept),
        problems=tuple(removed.problems),
        is_dry_run=dry_run,
    )


class _Removal:
    """Removes, or only counts."""

    def __init__(self, dry_run: bool) -> None:
        self._dry_run = dry_run
        self.files: list[Path] = []
        self.blobs: list[Path] = []
        self.bytes = 0
        self.problems: list[str] = []

    def file(self, file: Survey) -> None:
        try:
            if not self._dry_run:
                file.path.unlink()
        except OSError as error:
            self.problems.append(f"{str(file.path)!r} cannot be removed: {reason(error)}")
            return
        self.files.append(file.path)
        self.bytes += file.bytes

    def blob(self, blob: OldBlob, before_ns: int) -> None:
        try:
            if not self._dry_run and not remove_blob(blob, before_ns):
                return
        except OSError as error:
            self.problems.append(f"{str(blob.path)!r} cannot be removed: {reason(error)}")
            return
        self.blobs.append(blob.path)
        self.bytes += blob.bytes


def _surveyed(folder: Path) -> list[Survey]:
    found = journal_files(folder)
    try:
        return [survey(path) for path in found.files]
    except OSError as error:
        raise JournalError(
            f"the journal {str(folder)!r} cannot be read: {reason(error)}"
        ) from error


def _other_mentions(folder: Path) -> frozenset[str]:
    """Return what files mention that have a journal's suffix and are none."""
    others = [path for path, _ in journal_files(folder).others]
    try:
        return frozenset[str]().union(*(survey(path).mentions for path in others))
    except OSError as error:
        raise JournalError(
            f"the journal {str(folder)!r} cannot be read: {reason(error)}"
        ) from error


def _chosen(files: Sequence[Survey], before_ns: int) -> tuple[list[Survey], list[tuple[Path, str]]]:
    """Return the files to remove, and the old ones that stay, with the reason."""
    gone: list[Survey] = []
    kept: list[tuple[Path, str]] = []
    for file in files:
        if file.changed_ns < before_ns:
            reason = _reason_to_keep(file.path)
            if reason is None:
                gone.append(file)
            else:
                kept.append((file.path, reason))
    needed = {file.header.previous for file in files if file.header and file not in gone}
    for file in [file for file in gone if file.noted & needed]:
        gone.remove(file)
        kept.append((file.path, "notes of pruned files that later ones still refer to"))
    return gone, kept


def _reason_to_keep(path: Path) -> str | None:
    if path.is_symlink():
        return "a link"
    try:
        return "being written" if is_being_written(path) else None
    except OSError as error:
        return f"it cannot be told whether it is being written: {reason(error)}"


def _to_note(gone: Sequence[Survey], staying: Sequence[Survey]) -> list[Survey]:
    """Return the files that others, which stay, refer to."""
    before = {file.header.previous for file in staying if file.header}
    after = {file.next for file in staying}
    return [file for file in gone if file.head in before or file.path.name in after]


def _is_keyed(file: Survey) -> bool:
    return file.header is not None and file.header.hash == _KEYED


def _require_key(files: Sequence[Survey], key: bytes | None) -> None:
    for file in files:
        if not _is_keyed(file) or file.header is None:
            continue
        if key is None:
            raise JournalError(
                f"{str(file.path)!r} is under a key; set TRACEDANCE_JOURNAL_KEY to it to prune"
            )
        if file.header.key != key_mark(key):
            raise JournalError(
                f"the key given is not the one that {str(file.path)!r} was written under"
            )


def _write_notes(folder: Path, files: Sequence[Survey], key: bytes | None) -> None:
    for keyed in (False, True):
        chosen = [file for file in files if _is_keyed(file) is keyed]
        writer = JournalWriter(folder, key=key if keyed else None, durability="fsync")
        for file in chosen:
            about: Attributes = {
                "file": file.path.name,
                "head": file.head,
                "bytes": file.bytes,
            }
            writer.append(EventRecord(PRUNED_EVENT, "", "", time.time_ns(), about))
        writer.close()

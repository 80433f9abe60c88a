"""Journals that the recorder wrote: a folder of them is one source, as a run may span files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tracedance_sdk.errors import TraceDanceError
from tracedance_sdk.formats import ImportProblem, read_head
from tracedance_sdk.journal import FORMAT, JournalContents, blob_path, journal_key, read_journal
from tracedance_sdk.otel import assemble
from tracedance_sdk.trace import Trace

_DIGEST = re.compile("[0-9a-f]{64}")
_FIRST_LINE_BYTES = 4096


class JournalCollector:
    """Reads journal files, and folders that hold some; large values are put back in place."""

    name = "journal"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether a path is part of a journal: its folder, a file of it, or a large value."""
        if path.is_dir():
            return _holds_journal(path)
        return _starts_journal(head) or _is_blob(path)

    def collect(self, path: Path) -> Iterator[Trace | ImportProblem]:
        """Yield the traces of a journal in the order their runs began.

        A damaged, altered or missing line is a problem; what the rest of the file says is read all
        the same, and the runs that the line may have told of say so in their fidelity.

        Raises:
            TraceDanceError: The journal as a whole cannot be read, or its key.
        """
        contents = read_journal(path, key=journal_key())
        yield from assemble(contents, blobs=contents.get_blob)
        yield from _problems(contents)


def _problems(contents: JournalContents) -> Iterator[ImportProblem]:
    """Yield the damage inside journal files; other files of the folder are other collectors'."""
    own = set(contents.files) | {path.parent for path in contents.files}
    for problem in contents.problems:
        if problem.path in own:
            yield ImportProblem(str(problem.path), problem.what, problem.line or None)


def _holds_journal(folder: Path) -> bool:
    return any(_is_journal(path) for path in sorted(folder.glob("*.jsonl")))


def _is_journal(path: Path) -> bool:
    try:
        return _starts_journal(read_head(path, _FIRST_LINE_BYTES))
    except TraceDanceError:
        return False


def _starts_journal(head: bytes) -> bool:
    return FORMAT.encode() in head[:_FIRST_LINE_BYTES].partition(b"\n")[0]


def _is_blob(path: Path) -> bool:
    """Whether a file is a large value that a journal keeps beside its records."""
    if not _DIGEST.fullmatch(path.stem) or len(path.parents) < 3:
        return False
    folder = path.parents[2]
    return path == blob_path(folder, path.stem) and _holds_journal(folder)


collector = JournalCollector()

"""Journals that the recorder wrote: a folder of them is one source, as a run may span files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tracedance_sdk.errors import TraceDanceError
from tracedance_sdk.formats import ImportProblem, read_head
from tracedance_sdk.journal import FORMAT, JournalContents, read_journal
from tracedance_sdk.otel import assemble
from tracedance_sdk.trace import Trace

_BLOBS = "blobs"
_FIRST_LINE_BYTES = 4096


class JournalCollector:
    """Reads journal files, and folders that hold some; large values are put back in place."""

    name = "journal"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether a file starts with a journal's header, or a folder belongs to a journal."""
        if head or not path.is_dir():
            return FORMAT.encode() in head[:_FIRST_LINE_BYTES].partition(b"\n")[0]
        # The folder of large values is part of the journal; what lies in it is no source.
        return _holds_journal(path) or (path.name == _BLOBS and _holds_journal(path.parent))

    def collect(self, path: Path) -> Iterator[Trace | ImportProblem]:
        """Yield the traces of a journal in the order their runs began.

        A damaged line is a problem; what the rest of the file says is read all the same.

        Raises:
            TraceDanceError: The journal as a whole cannot be read.
        """
        if path.is_dir() and not _holds_journal(path):
            return
        contents = read_journal(path)
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
        head = read_head(path, _FIRST_LINE_BYTES)
    except TraceDanceError:
        return False
    return FORMAT.encode() in head.partition(b"\n")[0]


collector = JournalCollector()

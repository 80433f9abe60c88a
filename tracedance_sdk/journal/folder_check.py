"""Check what lies between the files of a journal: their chains, their names, their blobs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tracedance_sdk.errors import JournalError
from tracedance_sdk.journal.blobs import blob_path, read_blob
from tracedance_sdk.journal.breaks import Break, BreakKind
from tracedance_sdk.journal.file_check import CheckedFile
from tracedance_sdk.journal.files import Header


class FolderCheck:
    """Checks how the files of one folder hang together.

    Args:
        files: All of them, checked one by one.
    """

    def __init__(self, files: Sequence[CheckedFile]) -> None:
        self._files = files
        self._sound = [(file, file.header) for file in files if file.header and file.lines]
        self._names = {file.path.name: file for file in files}
        self._places = {(header.chain, header.file): file for file, header in self._sound}
        self._heads = {file.head for file in files if file.head}
        self._named_by_headers = {header.previous for _, header in self._sound}
        self._pruned = {name: head for file in files for name, head in file.pruned.items()}

    def breaks(self) -> Iterator[Break]:
        """Yield what is wrong: files renamed, swapped or gone, or cut before the next one."""
        for file, header in self._sound:
            yield from self._name_break(file, header)
            yield from self._break_before(file, header)
            yield from self._break_after(file)

    def is_open(self, file: CheckedFile) -> bool:
        """Whether nothing vouches for the end of a file."""
        if file.first_break is not None or file.is_closed:
            return False
        if file.head and file.head in self._named_by_headers:
            return False
        return file.is_torn or file.head not in file.found_heads

    def unvouched(self) -> list[CheckedFile]:
        """Return the files for which no expected HEAD that was found vouches.

        One vouches for its own file, for those before it in the chain, and for those that the
        closing records from there on name. A file of nothing but notes of pruning needs none.
        """
        vouched = {file.path.name for file in self._files if file.found_heads}
        waiting = [(file, header) for file, header in self._sound if file.found_heads]
        while waiting:
            file, header = waiting.pop()
            for other, its_header in self._sound:
                is_before = bool(header.previous) and other.head == header.previous
                is_after = file.next == other.path.name and its_header.previous == file.head
                if (is_before or is_after) and other.path.name not in vouched:
                    vouched.add(other.path.name)
                    waiting.append((other, its_header))
        return [
            file
            for file in self._files
            if file.path.name not in vouched and not (0 < file.records == len(file.pruned))
        ]

    def last_heads(self) -> Iterator[str]:
        """Yield the last hash of each chain, in order of the files' names."""
        for file in self._files:
            if file.head and file.head not in self._named_by_headers:
                yield file.head

    def _name_break(self, file: CheckedFile, header: Header) -> Iterator[Break]:
        if header.name == file.path.name:
            return
        other = self._names.get(header.name)
        if other is None:
            kind, what = BreakKind.RENAMED, f"this file was written as {header.name!r}"
        elif other.header is not None and other.header.name == header.name:
            kind, what = BreakKind.INSERTED, f"a copy of {header.name!r}"
        else:
            kind, what = BreakKind.REORDERED, f"{header.name!r} stands under another file's name"
        yield Break(file.path, 1, kind, what)

    def _break_before(self, file: CheckedFile, header: Header) -> Iterator[Break]:
        if not header.previous or header.previous in self._heads:
            return
        if header.previous in self._pruned.values():
            return
        before = self._places.get((header.chain, header.file - 1))
        if before is None:
            what = f"file {header.file - 1} of this chain, which goes before, is not here"
            yield Break(file.path, 1, BreakKind.MISSING, what)
        elif before.first_break is None:
            what = f"the last lines are gone; {file.path.name!r} goes on after them"
            yield Break(before.path, before.lines + 1, BreakKind.TRUNCATED, what)

    def _break_after(self, file: CheckedFile) -> Iterator[Break]:
        if file.next is None or file.head in self._named_by_headers or file.next in self._pruned:
            return
        following = self._names.get(file.next)
        # Killed in between, or damaged at its beginning, which is a break of its own.
        if following is not None and (not following.lines or following.header is None):
            return
        what = f"the next file {file.next!r} is not here"
        yield Break(file.path, file.lines, BreakKind.MISSING, what)


def check_blobs(folder: Path, files: Sequence[CheckedFile]) -> tuple[int, list[Break]]:
    """Check the large values that records refer to.

    Returns:
        How many there are, and the broken ones, each at the first line that refers to it.
    """
    places: dict[str, tuple[Path, int]] = {}
    for file in files:
        for digest, line in file.blobs.items():
            places.setdefault(digest, (file.path, line))
    breaks = [
        Break(path, line, *problem)
        for digest, (path, line) in places.items()
        if (problem := _blob_problem(folder, digest)) is not None
    ]
    return len(places), breaks


def _blob_problem(folder: Path, digest: str) -> tuple[BreakKind, str] | None:
    try:
        data = read_blob(folder, digest)
    except JournalError:
        path = blob_path(folder, digest).relative_to(folder)
        return BreakKind.BLOB_CHANGED, f"{str(path)!r} is not what was written"
    if data is None:
        path = blob_path(folder, digest).relative_to(folder)
        return BreakKind.BLOB_MISSING, f"{str(path)!r} is not there"
    return None

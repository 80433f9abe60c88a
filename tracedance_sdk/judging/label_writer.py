"""Appends labels to a file, so that a session that is killed loses none."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator
from io import FileIO
from pathlib import Path
from types import TracebackType
from typing import Self

from tracedance_sdk.errors import TraceDanceError, UnreadableFile
from tracedance_sdk.judging.labels import (
    Label,
    LabelHeader,
    LabelSet,
    check_label_rubric,
    is_whole,
    label_line,
    parse_labels,
)
from tracedance_sdk.trace import check_file

if sys.platform != "win32":
    import fcntl


class LabelWriter:
    """Appends labels to a file, each on the disk before `add` returns.

    A file that is there already is gone on with; what a killed process left of its last line is
    cut off, as it is no label. Several writers may have one file open.

    Args:
        path: The file; made with its header when it is missing or empty.
        header: What the file says of itself. A file that is there keeps its own.

    Raises:
        InvalidOption: The file holds labels by another rubric; nothing is written then.
        UnreadableFile: The file cannot be opened or written.
        UnknownFormat: The file holds other things; it is left as it is.
        UnsupportedVersion: A newer release wrote it.

    Example:
        >>> header = LabelHeader(rubric="honest-claims")
        >>> with LabelWriter("labels.jsonl", header) as writer:  # doctest: +SKIP
        ...     writer.add(Label(subject=Subject(trace_id="ab"), labeller="ann", score=4))
    """

    def __init__(self, path: str | os.PathLike[str], header: LabelHeader) -> None:
        self.path = Path(path)
        if self.path.exists():
            check_file(self.path)
        try:
            self._file: FileIO = self.path.open("a+b", buffering=0)
        except OSError as error:
            raise UnreadableFile(f"{str(path)!r} cannot be written: {error}") from error
        try:
            with self._alone():
                self._found = self._begin(header)
        except BaseException:
            self._file.close()
            raise

    @property
    def found(self) -> LabelSet:
        """What the file held when it was opened."""
        return self._found

    def add(self, labels: Label | Iterable[Label]) -> None:
        """Append a label, or several.

        Raises:
            UnreadableFile: The disk is full, or the writer was closed.
        """
        added = [labels] if isinstance(labels, Label) else labels
        with self._alone():
            self._append(b"".join(map(label_line, added)))

    def close(self) -> None:
        """Close the file; nothing is left to write."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _begin(self, header: LabelHeader) -> LabelSet:
        self._file.seek(0)
        data = self._file.readall()
        first = label_line(header)
        if not data.strip() or (b"\n" not in data and first.startswith(data)):
            self._file.truncate(0)
            self._append(first)
            return LabelSet(header, ())
        where = str(self.path)
        found = parse_labels(data, where)
        check_label_rubric(
            found.header, rubric=header.rubric, sha256=header.rubric_sha256, where=where
        )
        self._mend()
        return found

    def _append(self, line: bytes) -> None:
        self._mend()
        left = memoryview(line)
        while left:
            left = left[self._file.write(left) :]
        os.fsync(self._file.fileno())

    def _mend(self) -> None:
        """End the last line, or cut it off where a killed process left a piece of one."""
        size = self._file.seek(0, os.SEEK_END)
        if not size:
            return
        self._file.seek(size - 1)
        if self._file.read(1) == b"\n":
            return
        self._file.seek(0)
        data = self._file.readall()
        start = data.rfind(b"\n") + 1
        if is_whole(data[start:]):
            self._file.write(b"\n")
        else:
            self._file.truncate(start)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other processes from writing; a file system without locks goes without."""
        try:
            with _lock(self._file):
                yield
        except (OSError, ValueError) as error:
            if isinstance(error, TraceDanceError):
                raise
            raise UnreadableFile(f"{str(self.path)!r} cannot be written: {error}") from error


@contextlib.contextmanager
def _lock(file: FileIO) -> Iterator[None]:
    if sys.platform == "win32":
        yield
        return
    with contextlib.suppress(OSError):
        fcntl.flock(file.fileno(), fcntl.LOCK_EX)
    try:
        yield
    finally:
        with contextlib.suppress(OSError, ValueError):
            fcntl.flock(file.fileno(), fcntl.LOCK_UN)

"""What a collector is, and what it gives: traces, or a line that says why there is none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

from tracedance_sdk.trace import Trace


class StoredDocument(NamedTuple):
    """A trace together with the JSON document it was read from, which is then kept as it is.

    Attributes:
        trace: The trace.
        data: Its document: bytes that `load_trace` reads as this very trace.
        protection: What was done to it: ``plain`` (nothing), ``masked`` (secrets were),
            ``pseudonymised`` (people were replaced, too), ``pseudonymised_only`` (secrets stand).
        supersedes: More was taken out than of an equally protected version, which it replaces
            then whatever its length.
    """

    trace: Trace
    data: bytes
    protection: str = "plain"
    supersedes: bool = False


class ImportProblem(NamedTuple):
    """Something in a source that could not be read as a trace.

    Attributes:
        path: The file or folder.
        reason: One line: what is wrong, and where inside the file.
        line: Line of a line-based file, from 1; None where the file is one document.
    """

    path: str
    reason: str
    line: int | None = None

    def __str__(self) -> str:
        place = self.path if self.line is None else f"{self.path}:{self.line}"
        named = self.reason.startswith((place, repr(place)))
        return self.reason if named else f"{place}: {self.reason}"


class Collector(Protocol):
    """Turns one kind of source into traces; found by the entry point group of its name.

    A plug-in exposes an object with these members under ``tracedance.collectors``::

        [project.entry-points."tracedance.collectors"]
        my_logs = "my_package.my_logs:collector"

    A collector of documents of ours may have ``collect_documents`` besides, which yields what
    `collect` does, a `StoredDocument` in place of each trace whose document it has at hand.
    """

    @property
    def name(self) -> str:
        """The collector's name, which stands in ``trace.source.collector``."""
        ...

    def sniff(self, path: Path, head: bytes, /) -> bool:
        """Whether this collector reads the source; cheap, and false when in doubt.

        Args:
            path: A file, or a folder that may be a source as a whole.
            head: The first bytes of the file, unpacked where it is compressed; empty for a folder.
        """
        ...

    def collect(self, path: Path, /) -> Iterator[Trace | ImportProblem]:
        """Yield the traces of one source in its order; what cannot be read as a problem.

        Raises:
            TraceDanceError: The source as a whole cannot be read.
        """
        ...


class Collected(NamedTuple):
    """One finding of `collect_paths`: a trace or a problem, and where it was found.

    Attributes:
        path: The file, or the folder where a folder is one source.
        collector: Name of the collector; None when none recognised the source.
        found: The trace, or why there is none.
        data: The document the trace was read from, where that is one of ours as written.
    """

    path: Path
    collector: str | None
    found: Trace | ImportProblem
    data: bytes | None = None

    @property
    def trace(self) -> Trace | None:
        """The trace, or None for a problem."""
        return self.found if isinstance(self.found, Trace) else None

    @property
    def problem(self) -> ImportProblem | None:
        """The problem, or None for a trace."""
        return self.found if isinstance(self.found, ImportProblem) else None

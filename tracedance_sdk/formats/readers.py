"""Two kinds of collectors that most formats need, so that a format is a signature and a mapping."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from tracedance_sdk.formats.detection import Signature, strength
from tracedance_sdk.formats.guarding import guarded
from tracedance_sdk.formats.importing import ImportProblem
from tracedance_sdk.formats.opening import Document, documents
from tracedance_sdk.formats.places import Place
from tracedance_sdk.trace import MAX_DEPTH, MAX_NODES, Json, Trace, assess, imported_trace_id, note

ReadRecord = Callable[[Json, Place, str], "Trace | Iterable[Trace | ImportProblem]"]
"""Maps one record: the parsed value, where it stands (for errors), and the file's path."""

ReadSession = Callable[[list[Document], Path], Iterable["Trace | ImportProblem"]]
"""Maps all records of a file, in order."""


class _Signed:
    def __init__(
        self,
        name: str,
        signatures: Iterable[Signature],
        companions: Iterable[Signature],
    ) -> None:
        self._name = name
        self._signatures = tuple(signatures)
        self._companions = tuple(companions)

    @property
    def name(self) -> str:
        """The collector's name, which stands in ``trace.source.collector``."""
        return self._name

    @property
    def signatures(self) -> tuple[Signature, ...]:
        """How its sources show themselves."""
        return self._signatures

    @property
    def companions(self) -> tuple[Signature, ...]:
        """How files show themselves that belong to runs and hold none, such as reports."""
        return self._companions

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether a file looks like one of these sources."""
        return not path.is_dir() and strength(self._signatures, path, head) is not None


class RecordCollector(_Signed):
    """Reads files whose every record is a run of its own.

    A record is a document, an item of a document that is a list, or a line. Records of one file
    that give the same id are told apart by their order. One that makes its reader fail, in whatever
    way, is a problem, and the others are read.

    Args:
        name: Of the format.
        signatures: How its files show themselves.
        read: Maps one record; it raises `TraceDanceError` or `Misfit` for one that cannot be read.
        is_list: Whether a document that is a list holds records; else it is one record.
        unique_keys: Refuse an object that names a key twice.
        max_depth: Deepest nesting that is read.
        companions: How files show themselves that belong to such runs and hold none.
    """

    def __init__(
        self,
        name: str,
        signatures: Iterable[Signature],
        read: ReadRecord,
        *,
        is_list: bool = True,
        unique_keys: bool = False,
        max_depth: int = MAX_DEPTH,
        companions: Iterable[Signature] = (),
    ) -> None:
        super().__init__(name, signatures, companions)
        self._read = read
        self._is_list = is_list
        self._unique_keys = unique_keys
        self._max_depth = max_depth

    def collect(self, path: Path) -> Iterator[Trace | ImportProblem]:
        """Yield the traces of a file in its order.

        Raises:
            TraceDanceError: The file as a whole cannot be read.
        """
        seen: Counter[str] = Counter()
        for found in self._findings(path):
            yield found if isinstance(found, ImportProblem) else _distinct(found, seen)

    def _findings(self, path: Path) -> Iterator[Trace | ImportProblem]:
        for document in documents(path, unique_keys=self._unique_keys, max_depth=self._max_depth):
            if isinstance(document, ImportProblem):
                yield document
                continue
            where = str(path) if document.line is None else f"{path}:{document.line}"
            value = document.value
            if self._is_list and isinstance(value, list):
                for index, item in enumerate(value):
                    yield from self._record(item, Place(where, f"$[{index}]"), path, document.line)
            else:
                lost = int(document.is_cut)
                for found in self._record(value, Place(where), path, document.line):
                    yield with_loss(found, lost) if isinstance(found, Trace) else found

    def _record(
        self, value: Json, place: Place, path: Path, line: int | None
    ) -> Iterator[Trace | ImportProblem]:
        return guarded(
            lambda: self._read(value, place, str(path)), place, path=str(path), line=line
        )


class SessionCollector(_Signed):
    """Reads files whose records together are one session or several.

    Lines that are not JSON become problems; what remains is read as if they were not there, and
    the fidelity of every trace of the file says that records are lost. So it does where the reader
    names a line whose record it cannot read, before the traces.

    Args:
        name: Of the format.
        signatures: How its files show themselves.
        read: Maps all records of a file.
        companions: How files show themselves that belong to such runs and hold none.
    """

    def __init__(
        self,
        name: str,
        signatures: Iterable[Signature],
        read: ReadSession,
        *,
        companions: Iterable[Signature] = (),
    ) -> None:
        super().__init__(name, signatures, companions)
        self._read = read

    def collect(self, path: Path) -> Iterator[Trace | ImportProblem]:
        """Yield the traces of a file.

        Raises:
            TraceDanceError: The file as a whole cannot be read.
        """
        records: list[Document] = []
        lost = 0
        for document in documents(path, most_values=MAX_NODES):
            if isinstance(document, ImportProblem):
                lost += 1
                yield document
            else:
                records.append(document)
        seen: Counter[str] = Counter()
        place = Place(str(path))
        for found in guarded(lambda: self._read(records, path), place, path=str(path)):
            if isinstance(found, ImportProblem):
                lost += found.line is not None
                yield found
            else:
                yield _distinct(with_loss(found, lost), seen)


def with_loss(trace: Trace, lost: int) -> Trace:
    """Return the trace with a note of so many of its records that could not be read."""
    if not lost:
        return trace
    return assess(trace, notes=[*trace.fidelity.notes, note("record_lost", count=lost)])


def _distinct(trace: Trace, seen: Counter[str]) -> Trace:
    """Return the trace under an id that no trace before it in the same file has."""
    before = seen[trace.id]
    seen[trace.id] += 1
    if not before:
        return trace
    collector = trace.source.collector if trace.source else "unknown"
    return trace.model_copy(
        update={"id": imported_trace_id(collector, "repeated", trace.id, str(before))}
    )

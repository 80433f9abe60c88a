"""TraceEval's trace files: one trace a file, one a line, or a list of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tracedance_sdk.errors import TraceDanceError
from tracedance_sdk.formats import ImportProblem, documents, peek, trace_from_traceeval
from tracedance_sdk.trace import Json, Trace


class TraceEvalCollector:
    """Reads documents with a task id, actions, and an initial and a final state."""

    name = "traceeval"

    def sniff(self, _path: Path, head: bytes) -> bool:
        """Whether the first object looks like a TraceEval trace."""
        keys = peek(head).keys
        return "taskId" in keys and bool(keys & {"actions", "initialState", "startedAt"})

    def collect(self, path: Path) -> Iterator[Trace | ImportProblem]:
        """Yield the file's traces.

        Raises:
            TraceDanceError: The file as a whole cannot be read.
        """
        for document in documents(path):
            if isinstance(document, ImportProblem):
                yield document
                continue
            where = str(path) if document.line is None else f"{path}:{document.line}"
            if isinstance(document.value, list):
                for index, item in enumerate(document.value):
                    yield _trace(item, path, f"{where}: item {index}", document.line)
            else:
                yield _trace(document.value, path, where, document.line)


def _trace(value: Json, path: Path, where: str, line: int | None) -> Trace | ImportProblem:
    try:
        return trace_from_traceeval(value, where=where)
    except TraceDanceError as error:
        return ImportProblem(str(path), str(error), line)


collector = TraceEvalCollector()

"""Trace files of our own: one trace a file, or one a line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tracedance_sdk.errors import TraceDanceError
from tracedance_sdk.formats import (
    Document,
    ImportProblem,
    documents,
    load_trace,
    peek,
    trace_from_document,
)
from tracedance_sdk.trace import FORMAT, MAX_TRACE_DEPTH, Trace


class TraceFileCollector:
    """Reads what `save_trace` wrote, and files with one such document a line."""

    name = "trace_json"

    def sniff(self, _path: Path, head: bytes) -> bool:
        """Whether the document says that it is a trace of ours."""
        return "format" in peek(head).keys and FORMAT.encode() in head

    def collect(self, path: Path) -> Iterator[Trace | ImportProblem]:
        """Yield the file's traces.

        Raises:
            TraceDanceError: The file as a whole cannot be read.
        """
        for document in documents(path, max_depth=MAX_TRACE_DEPTH):
            if isinstance(document, ImportProblem):
                yield document
            elif document.line is None:
                yield load_trace(path)
            else:
                yield _from_line(path, document)


def _from_line(path: Path, document: Document) -> Trace | ImportProblem:
    try:
        return trace_from_document(document.value, where=f"{path}:{document.line}")
    except TraceDanceError as error:
        return ImportProblem(str(path), str(error), document.line)


collector = TraceFileCollector()

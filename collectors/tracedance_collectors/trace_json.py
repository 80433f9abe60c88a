"""Trace files of our own: one trace a file, or one a line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tracedance_sdk.errors import TraceDanceError
from tracedance_sdk.formats import (
    ImportProblem,
    StoredDocument,
    documents,
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
        for item in self.collect_documents(path):
            yield item.trace if isinstance(item, StoredDocument) else item

    def collect_documents(self, path: Path) -> Iterator[Trace | StoredDocument | ImportProblem]:
        """Yield the file's traces, with their documents where those can be kept as they are.

        Raises:
            TraceDanceError: The file as a whole cannot be read.
        """
        found = documents(path, unique_keys=True, max_depth=MAX_TRACE_DEPTH, keep_text=True)
        for document in found:
            if isinstance(document, ImportProblem):
                yield document
                continue
            where = str(path) if document.line is None else f"{path}:{document.line}"
            try:
                trace = trace_from_document(document.value, where=where)
            except TraceDanceError as error:
                yield ImportProblem(str(path), str(error), document.line)
                continue
            if document.text is not None and "format" in document.value:
                yield StoredDocument(trace, document.text)
            else:
                yield trace


collector = TraceFileCollector()

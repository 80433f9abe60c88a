"""Stores of traces: a folder with manifests is one source, read trace by trace."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tracedance_sdk.formats import ImportProblem
from tracedance_sdk.store import (
    FORMAT,
    TraceStore,
    holds_store,
    is_data_name,
    manifest_number,
)
from tracedance_sdk.trace import Trace

_PARTS = "parts"


class StoreCollector:
    """Reads what `TraceStore` keeps; a manifest or a data file stands for its whole store."""

    name = "store"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether a path is a store's folder or a file of one."""
        if not head and path.is_dir():
            return holds_store(path)
        if manifest_number(path.name) is not None:
            return FORMAT.encode() in head
        return path.parent.name == _PARTS and is_data_name(path.name)

    def collect(self, path: Path) -> Iterator[Trace | ImportProblem]:
        """Yield the store's traces, with tool definitions that their sources lack.

        What is damaged is a problem, and does not keep others from being read.

        Raises:
            StoreError: The store cannot be read.
        """
        folder = _folder_of(path)
        for item in TraceStore.open(folder).readable():
            yield item if isinstance(item, Trace) else ImportProblem(str(folder), str(item))


def _folder_of(path: Path) -> Path:
    if path.is_dir():
        return path
    return path.parent.parent if path.parent.name == _PARTS else path.parent


collector = StoreCollector()

"""Sessions of OpenCode: a storage folder with a file for each session, message and part.

It lies in ``~/.local/share/opencode/storage/``. The folder is one source; a session's file that is
named by itself gives that session.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tracedance_sdk.formats import ImportProblem
from tracedance_sdk.formats.coding import is_storage, read_opencode, storage_of
from tracedance_sdk.trace import Trace


class OpenCodeCollector:
    """Reads storage folders."""

    name = "opencode"

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether a folder is a storage, or a JSON file is part of one."""
        if path.is_dir():
            return is_storage(path)
        return path.suffix == ".json" and bool(head) and storage_of(path) is not None

    def collect(self, path: Path) -> Iterator[Trace | ImportProblem]:
        """Yield the sessions of a storage in the order of their files; or that of one file.

        Raises:
            TraceDanceError: A file cannot be read at all.
        """
        if path.is_dir():
            yield from read_opencode(path)
            return
        folder = storage_of(path)
        if folder is not None and path.relative_to(folder).parts[0] == "session":
            yield from read_opencode(folder, only=path)
        elif folder is not None:
            reason = f"part of OpenCode's storage: import the folder {str(folder)!r}"
            yield ImportProblem(str(path), reason)


collector = OpenCodeCollector()

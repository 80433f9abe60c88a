"""Say of what was found in an unpacked archive where it really lies: ``logs.zip!run.json``."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import orjson

from tracedance_sdk.errors import TraceDanceError
from tracedance_sdk.formats.importing import Collected, ImportProblem
from tracedance_sdk.trace import MAX_TRACE_DEPTH, Trace, decode, encode_json, parse_json

MARK: Final = "!"
"""Stands between an archive and its member."""


class ArchiveNames:
    """Names below a folder, as names of an archive's members.

    Args:
        archive: The archive.
        root: Where it was unpacked.
    """

    def __init__(self, archive: Path, root: Path) -> None:
        self._archive = archive
        self._root = str(root)
        self._marker = orjson.dumps(str(root))[1:-1]
        self._written = orjson.dumps(str(archive))[1:-1]

    def path(self, path: Path) -> Path:
        """Return the name of something below the folder."""
        return Path(self.text(str(path)))

    def text(self, text: str) -> str:
        """Return a text that names such things."""
        if self._root not in text:
            return text
        inside = text.replace(f"{self._root}/", f"{self._archive}{MARK}")
        return inside.replace(self._root, str(self._archive))

    def collected(self, item: Collected) -> Collected:
        """Return a finding as one of the archive's."""
        found = item.found
        named = self._problem(found) if isinstance(found, ImportProblem) else self._trace(found)
        data = item.data if named is found else None
        return Collected(self.path(item.path), item.collector, named, data)

    def _problem(self, problem: ImportProblem) -> ImportProblem:
        return ImportProblem(self.text(problem.path), self.text(problem.reason), problem.line)

    def _trace(self, trace: Trace) -> Trace | ImportProblem:
        uri = trace.source.uri if trace.source is not None else None
        try:
            data = encode_json(trace)
            number = data.count(self._marker)
            if number == 0:
                return trace
            if number == 1 and trace.source is not None and uri is not None and self._root in uri:
                source = trace.source.model_copy(update={"uri": self.text(uri)})
                return trace.model_copy(update={"source": source})
            data = data.replace(self._marker + b"/", self._written + MARK.encode())
            data = data.replace(self._marker, self._written)
            document = parse_json(data, where=trace.id, max_depth=MAX_TRACE_DEPTH)
            return decode(document, where=trace.id)
        except TraceDanceError as error:
            return ImportProblem(str(self._archive), self.text(str(error)))

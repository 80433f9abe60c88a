"""Logs of Inspect, the evaluation framework: ``.eval`` archives and ``.json`` documents.

Every sample of a log is a trace. Members of an archive may be packed by deflate or, by newer
releases, by zstd (which needs the extra ``store``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tracedance_sdk.formats import (
    ImportProblem,
    Signature,
    guarded,
    open_inspect_log,
    trace_from_inspect,
)
from tracedance_sdk.trace import Trace, imported_trace_id


class InspectLogCollector:
    """Reads a log's samples one at a time."""

    name = "inspect_log"
    signatures = (
        Signature.of("status", "eval.task", "eval.model"),
        Signature.of("eval.run_id", "eval.task", "plan"),
        Signature.of(names=["*.eval"], contains=[b"PK\x03\x04", b"_journal/start.json"]),
        Signature.of(names=["*.eval"], contains=[b"PK\x03\x04", b"header.json"]),
        Signature.of(names=["*.eval"], contains=[b"PK\x03\x04", b"samples/"]),
    )

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether a file looks like a log."""
        return any(signature.matches(path, head) for signature in self.signatures)

    def collect(self, path: Path) -> Iterator[Trace | ImportProblem]:
        """Yield a trace for every sample, in the order of the file.

        Raises:
            TraceDanceError: The file as a whole cannot be read.
        """
        log = open_inspect_log(path)
        seen: Counter[str] = Counter()
        is_empty = True
        for sample in log.samples:
            is_empty = False
            if isinstance(sample, ImportProblem):
                yield sample
                continue
            value, place = sample
            read = partial(trace_from_inspect, value, log.header, place, uri=str(path))
            for found in guarded(read, place, path=str(path)):
                yield self._distinct(found, seen) if isinstance(found, Trace) else found
        if is_empty:
            status = log.header.get("status", "unknown")
            yield ImportProblem(str(path), f"{path}: the log holds no samples (status {status!r})")

    def _distinct(self, trace: Trace, seen: Counter[str]) -> Trace:
        """Return the trace under an id that no trace before it has."""
        repeated = seen[trace.id]
        seen[trace.id] += 1
        if not repeated:
            return trace
        other = imported_trace_id(self.name, "repeated", trace.id, str(repeated))
        return trace.model_copy(update={"id": other})


collector = InspectLogCollector()

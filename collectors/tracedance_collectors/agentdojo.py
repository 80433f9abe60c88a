"""AgentDojo's runs: JSON lines, the first of which tells of the file; plain or gzipped.

`outcome.success` is the user's task. ``outcome.details["injection_succeeded"]`` is there in runs
with an attack alone, and true where the attacker's goal was reached.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tracedance_sdk.formats import ImportProblem, Place, Signature, documents, guarded
from tracedance_sdk.formats.benchmarks import is_file_header, trace_from_agentdojo
from tracedance_sdk.trace import Json, Trace, imported_trace_id


class AgentDojoCollector:
    """Reads one run a line, and tells each what the file's first line says."""

    name = "agentdojo"
    signatures = (
        Signature.of("messages", "metadata.user_task_id", "metadata.suite_name"),
        Signature.of("metadata.benchmark", values={"metadata.benchmark": "agent-dojo"}),
    )

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether a file looks like AgentDojo's runs."""
        return any(signature.matches(path, head) for signature in self.signatures)

    def collect(self, path: Path) -> Iterator[Trace | ImportProblem]:
        """Yield the runs of a file in its order.

        Raises:
            TraceDanceError: The file as a whole cannot be read.
        """
        header: Json = None
        seen: Counter[str] = Counter()
        for document in documents(path):
            if isinstance(document, ImportProblem):
                yield document
                continue
            if is_file_header(document.value):
                header = document.value["metadata"]
                continue
            place = Place(str(path) if document.line is None else f"{path}:{document.line}")
            read = partial(
                trace_from_agentdojo, document.value, place, header=header, uri=str(path)
            )
            for found in guarded(read, place, str(path), document.line):
                yield _distinct(found, seen) if isinstance(found, Trace) else found


def _distinct(trace: Trace, seen: Counter[str]) -> Trace:
    """Return a run under an id that none before it in the file has."""
    seen[trace.id] += 1
    if seen[trace.id] == 1:
        return trace
    again = imported_trace_id("agentdojo", "repeated", trace.id, str(seen[trace.id] - 1))
    return trace.model_copy(update={"id": again})


collector = AgentDojoCollector()

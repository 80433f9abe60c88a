"""AgentDojo's runs: JSON lines, the first of which tells of the file; plain or gzipped.

`outcome.success` is the user's task. ``outcome.details["injection_succeeded"]`` is there in runs
with an attack alone, and true where the attacker's goal was reached.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tracedance_sdk.errors import TraceDanceError
from tracedance_sdk.formats import (
    Document,
    ImportProblem,
    Misfit,
    Place,
    SessionCollector,
    Signature,
)
from tracedance_sdk.formats.benchmarks import is_file_header, trace_from_agentdojo
from tracedance_sdk.trace import Json, Trace


def read(documents: list[Document], path: Path) -> Iterator[Trace | ImportProblem]:
    """Build the traces of a file, each told what the file's header says."""
    header: Json = None
    for document in documents:
        if is_file_header(document.value):
            header = document.value["metadata"]
            continue
        place = Place(f"{path}:{document.line}" if document.line else str(path))
        try:
            yield trace_from_agentdojo(document.value, place, header=header, uri=str(path))
        except Misfit as misfit:
            yield ImportProblem(str(path), str(place.located(misfit)), document.line)
        except TraceDanceError as error:
            yield ImportProblem(str(path), str(error), document.line)


collector = SessionCollector(
    "agentdojo",
    (
        Signature.of("messages", "metadata.user_task_id", "metadata.suite_name"),
        Signature.of("metadata.benchmark", values={"metadata.benchmark": "agent-dojo"}),
    ),
    read,
)

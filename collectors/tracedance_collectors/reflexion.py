"""Reflexion's logs: ALFWorld results of trials, and the text of ReAct agents on HotpotQA.

The name of the folder tells the runs of the results apart, as nothing in the files does.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from tracedance_sdk.errors import InvalidJSON, TraceDanceError
from tracedance_sdk.formats import (
    Document,
    ImportProblem,
    Place,
    Signature,
    documents,
    read_document,
)
from tracedance_sdk.formats.benchmarks import (
    ReactRun,
    split_react_log,
    trace_from_alfworld,
    trace_from_react,
)
from tracedance_sdk.trace import Json, Trace, imported_trace_id

NAME = "reflexion"

_TRIAL = re.compile(r"trial_(\d{1,6})")


class ReflexionCollector:
    """Reads both kinds of logs, plain or gzipped."""

    name = NAME
    signatures = (
        Signature.of("name", "memory", "is_success", least_depth=1),
        Signature.of(contains=(b"\nThought 1:", b"\nAction 1:", b" AGENTS --")),
        Signature.of(contains=(b"\nThought 1:", b"\nAction 1:", b"BEGIN TRIAL 1")),
    )

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether a file looks like one of these logs."""
        return any(signature.matches(path, head) for signature in self.signatures)

    def collect(self, path: Path) -> Iterator[Trace | ImportProblem]:
        """Yield the traces of a file in its order.

        Raises:
            TraceDanceError: The file as a whole cannot be read.
        """
        if path.name.removesuffix(".gz").endswith(".json"):
            yield from _results(path)
        else:
            yield from _agents(path)


def _results(path: Path) -> Iterator[Trace | ImportProblem]:
    named = _TRIAL.search(path.name)
    trial = int(named[1]) if named else None
    for document in documents(path):
        if not isinstance(document, Document):
            yield document
            continue
        value: Json = document.value
        for index, record in enumerate(value if isinstance(value, list) else [value]):
            place = Place(str(path), f"$[{index}]")
            try:
                yield trace_from_alfworld(
                    record, place, run=path.parent.name, trial=trial, uri=str(path)
                )
            except TraceDanceError as error:
                yield ImportProblem(str(path), str(error), document.line)


def _agents(path: Path) -> Iterator[Trace | ImportProblem]:
    text = _text(path)
    name = path.name.removesuffix(".gz").removesuffix(".txt")
    log = f"{path.parent.name}/{name}"
    seen: Counter[str] = Counter()
    trials: dict[tuple[str, ...], int] = {}
    lines = (line.rstrip("\r\n") for line in io.StringIO(text, newline="\n"))
    runs = list(split_react_log(lines))
    sections = _sections(runs)
    for run in runs:
        listed = sections.pop((run.trial, run.lines), None)
        if listed is None:
            # Printed once more, as an agent of another section.
            continue
        first = trials.setdefault(run.lines, run.trial) if run.trial is not None else None
        try:
            trace = trace_from_react(
                run,
                log=log,
                where=f"{path}:{run.line}",
                first_trial=first if first != run.trial else None,
                sections=listed,
                uri=str(path),
            )
        except TraceDanceError as error:
            yield ImportProblem(str(path), str(error), run.line)
            continue
        seen[trace.id] += 1
        if seen[trace.id] > 1:
            again = imported_trace_id(NAME, "repeated", trace.id, str(seen[trace.id] - 1))
            trace = trace.model_copy(update={"id": again})
        yield trace


def _sections(runs: Iterable[ReactRun]) -> dict[tuple[int | None, tuple[str, ...]], list[str]]:
    """Return under which headings each run of a trial is printed: some stand under two."""
    found: dict[tuple[int | None, tuple[str, ...]], list[str]] = {}
    for run in runs:
        listed = found.setdefault((run.trial, run.lines), [])
        if run.section is not None:
            listed.append(run.section)
    return found


def _text(path: Path) -> str:
    try:
        return read_document(path).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidJSON(f"{str(path)!r} is not UTF-8 text: {error}") from error


collector = ReflexionCollector()

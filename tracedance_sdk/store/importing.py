"""Bring foreign traces into a store, one at a time: read, mask, keep, and count on the way."""

from __future__ import annotations

import re
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import orjson

from tracedance_sdk.errors import TraceDanceError
from tracedance_sdk.formats import (
    Collected,
    Collector,
    ImportProblem,
    ToolTable,
    TraceSource,
    collect_source,
    complete_tools,
    load_collectors,
    tool_table,
)
from tracedance_sdk.store.adding import BATCH_ROWS
from tracedance_sdk.store.facts import StoredDocument
from tracedance_sdk.store.import_report import (
    MOST_LISTED,
    ImportReport,
    NotableTrace,
    SourceProblem,
)
from tracedance_sdk.store.protection import protection_of
from tracedance_sdk.trace import MAX_TRACE_DEPTH, Trace, assess, decode, encode_json, parse_json

if TYPE_CHECKING:
    from tracedance_sdk.store.trace_store import TraceStore

MOST_PROBLEMS: Final = 10_000
"""Most problems that are listed of one source; further ones are counted."""

_MOST_PATHS: Final = 3 * BATCH_ROWS
_MOST_AGENTS: Final = 1_000
_MOST_TOOLS: Final = 5_000
_MASK: Final = re.compile(rb"\[MASKED:([A-Za-z0-9_.-]{1,40}):[0-9a-f]{0,16}\]")


class JSONRedactor(Protocol):
    """Masks what must not be kept, as `tracedance_sdk.recording.Redactor` does."""

    def redact(self, data: bytes) -> bytes:
        """Return JSON text without what is masked, made from JSON text; never raises."""
        ...


class ImportPlan(NamedTuple):
    """How sources are to be imported.

    Attributes:
        collectors: Who may read; by default all that are installed.
        is_forced: The first of them reads every file that the user named.
        redactor: Masks each trace's document before it is kept, and what the report says of
            sources; None keeps them as they are. What it takes out it says in an attribute
            ``protects``: ``secrets``, ``people`` or both; without one it is taken to mask secrets.
        table: Table of tools by which definitions that a source did not record are kept with the
            trace; None leaves them to the store, which completes traces when they are read.
        roots: What the user named; in the report, folders are told apart one step below these.
    """

    collectors: tuple[Collector, ...] | None = None
    is_forced: bool = False
    redactor: JSONRedactor | None = None
    table: ToolTable | None = None
    roots: tuple[Path, ...] = ()


def import_sources(
    sources: Iterable[TraceSource],
    store: TraceStore | Callable[[], TraceStore],
    *,
    plan: ImportPlan | None = None,
    on_done: Callable[[TraceSource], None] | None = None,
) -> ImportReport:
    """Read sources into a store.

    Traces go through one at a time, so that memory is bounded by the largest of them and by what
    the store writes at once. What cannot be read is in the report and stops nothing else.

    Args:
        sources: As `find_sources` gives them.
        store: Where to, or what opens it once the first trace comes.
        plan: How.
        on_done: Is told of each source that was read.

    Returns:
        What was read, kept, masked and lost.

    Raises:
        StoreError: The store cannot be written to. What came before may have been added.

    Example:
        >>> import tempfile
        >>> from tracedance_sdk.formats import find_sources, save_trace
        >>> from tracedance_sdk.store import TraceStore
        >>> folder = Path(tempfile.mkdtemp())
        >>> save_trace(Trace(id="run-1"), folder / "logs" / "run.json")
        >>> store = TraceStore.create(folder / "traces.store")
        >>> report = import_sources(find_sources([folder / "logs"]), store)
        >>> report.total.traces, report.stored.added, report.problems
        (1, 1, [])
    """
    pipeline = _Pipeline(ImportPlan() if plan is None else plan, store)
    documents = pipeline.documents(sources, on_done)
    for first in documents:
        both = chain([first], documents)
        pipeline.report.stored = pipeline.store.add(both, on_notable=pipeline.on_notable)
    return pipeline.finished()


class _Pipeline:
    def __init__(self, plan: ImportPlan, store: TraceStore | Callable[[], TraceStore]) -> None:
        self._store = store
        self._protection = protection_of(plan.redactor)
        self.report = ImportReport()
        self._plan = plan
        self._collectors = load_collectors() if plan.collectors is None else plan.collectors
        self._origins = _Origins(tool_table() if plan.table is None else plan.table)
        self._replaced = self._counts()
        self._paths: OrderedDict[str, str] = OrderedDict()
        """Of the latest traces; what became of them is told two batches later at most."""

    @property
    def store(self) -> TraceStore:
        """Where traces go; it is opened when first asked for."""
        if callable(self._store):
            self._store = self._store()
        return self._store

    def documents(
        self, sources: Iterable[TraceSource], on_done: Callable[[TraceSource], None] | None
    ) -> Iterator[StoredDocument]:
        for source in sources:
            yield from self._of_source(source)
            if on_done is not None:
                on_done(source)

    def finished(self) -> ImportReport:
        self.report.pseudonyms = self._counts() - self._replaced
        redactor = self._plan.redactor
        if redactor is not None:
            self.report.clean(lambda text: cleaned_text(text, redactor))
        return self.report

    def _counts(self) -> Counter[str]:
        """Return what the redactor says of its own work, where it does."""
        return Counter(getattr(self._plan.redactor, "counts", {}))

    def _of_source(self, source: TraceSource) -> Iterator[StoredDocument]:
        folder = _folder(source.path, self._plan.roots)
        problems = _SourceProblems(self.report, folder)
        readers: set[str] = set()
        found = collect_source(
            source,
            collectors=self._collectors,
            is_forced=self._plan.is_forced,
            on_companion=self._passed_over,
        )
        for item in found:
            if item.collector is not None and item.collector not in readers:
                readers.add(item.collector)
                self.report.tally(folder, item.collector).sources += 1
            document = self._kept(item)
            if isinstance(document, ImportProblem):
                problems.add(document, item)
                continue
            trace = document.trace
            tally = self.report.tally(folder, item.collector)
            tally.count(trace, tools=self._origins.of(trace))
            self.report.note(trace)
            self._paths[trace.id] = str(item.path)
            if len(self._paths) > _MOST_PATHS:
                self._paths.popitem(last=False)
            yield document
        problems.close()

    def _passed_over(self, path: Path, collector: str) -> None:
        self.report.pass_over(str(path), collector)

    def on_notable(self, what: str, trace_id: str) -> None:
        """Keep which traces replaced others or were left out."""
        if len(self.report.notable) < MOST_LISTED:
            path = self._paths.get(trace_id)
            self.report.notable.append(NotableTrace(what, trace_id, path))

    def _kept(self, item: Collected) -> StoredDocument | ImportProblem:
        if isinstance(item.found, ImportProblem):
            return item.found
        try:
            trace = self._completed(item.found)
            return self._masked(trace, item.data if trace is item.found else None)
        except TraceDanceError as error:
            return ImportProblem(str(item.path), f"trace {item.found.id:.64} left out: {error}")

    def _completed(self, trace: Trace) -> Trace:
        table = self._plan.table
        return trace if table is None else complete_tools(trace, table=table, limit="known")

    def _masked(self, trace: Trace, written: bytes | None) -> StoredDocument:
        data = encode_json(trace) if written is None else written
        redactor, protection = self._plan.redactor, self._protection
        # Before anything is masked: the key of the masks lies in the store.
        _ = self.store
        clean = data if redactor is None else redactor.redact(data)
        if clean is data:
            return StoredDocument(trace, data, protection)
        document = parse_json(clean, where="masked", max_depth=MAX_TRACE_DEPTH)
        masked = decode(document, where="masked")
        self.report.masks.update(_masks(clean) - _masks(data))
        assessed = assess(masked, notes=masked.fidelity.notes)
        return StoredDocument(assessed, encode_json(assessed), protection)


def cleaned_text(text: str, redactor: JSONRedactor) -> str:
    """Return a text without what a redactor takes out of JSON."""
    plain = text.encode("utf-8", "backslashreplace").decode()
    found = parse_json(redactor.redact(orjson.dumps(plain)), where="masked")
    return found if isinstance(found, str) else ""


def _masks(data: bytes) -> Counter[str]:
    return Counter(kind.decode() for kind in _MASK.findall(data))


class _SourceProblems:
    """The problems of one source; their number is bounded, as a source is of any size."""

    def __init__(self, report: ImportReport, folder: str) -> None:
        self._report = report
        self._folder = folder
        self._number = 0
        self._last: SourceProblem | None = None

    def add(self, problem: ImportProblem, item: Collected) -> None:
        self._report.tally(self._folder, item.collector).problems += 1
        self._number += 1
        self._last = SourceProblem.of(problem, item.collector)
        if self._number <= MOST_PROBLEMS:
            self._report.problems.append(self._last)

    def close(self) -> None:
        rest = self._number - MOST_PROBLEMS
        if rest > 0 and self._last is not None:
            reason = f"{rest:,} further problems, the last of them: {self._last.reason}"
            self._report.problems.append(self._last._replace(reason=reason))


class _Origins:
    """Tells where the definitions of a trace's tools come from; remembers what it looked up."""

    def __init__(self, table: ToolTable) -> None:
        self._table = table
        self._known: dict[tuple[str, str], dict[str, bool]] = {}

    def of(self, trace: Trace) -> str:
        if any(tool.origin == "recorded" for tool in trace.tools):
            return "recorded"
        defined = {tool.name for tool in trace.tools if tool.origin == "known"}
        called = {call.name for call in trace.actions} - defined
        if not called:
            return "known" if defined else "none"
        agent = trace.agent.name
        collector = trace.source.collector if trace.source is not None else agent
        known = self._known.setdefault((agent, collector), {})
        if len(self._known) > _MOST_AGENTS or len(known) > _MOST_TOOLS:
            self._known.clear()
            known = {}
        for tool in called:
            if tool not in known:
                known[tool] = self._is_known(agent, tool) or self._is_known(collector, tool)
            if not known[tool]:
                return "inferred"
        return "known"

    def _is_known(self, name: str, tool: str) -> bool:
        found = self._table.lookup(name, tool)
        return found is not None and found.parameters is not None


def _folder(path: Path, roots: Sequence[Path]) -> str:
    """Return what a source is counted under: a named folder, or the step below it."""
    for root in roots:
        if root in path.parents:
            steps = path.relative_to(root).parts
            return str(root / steps[0]) if len(steps) > 1 else str(root)
    return str(path.parent)

"""Make traces of the records of a run."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from tracedance_sdk.errors import JournalError
from tracedance_sdk.journal import SpanRecord
from tracedance_sdk.otel import assemble
from tracedance_sdk.recording.runs import Run
from tracedance_sdk.trace import APART, Trace, note


def trace_of(run: Run, root: SpanRecord | None = None) -> Trace:
    """Return the trace of a run, without those of its sub-agents.

    Args:
        run: The run.
        root: Its root span as of now, while it is open.

    Raises:
        JournalError: The journal no longer holds the run's records.
    """
    records = chain(run.evidence.records(), () if root is None else (root,))
    traces = assemble(records, blobs=run.evidence.get_blob)
    trace_id = run.identity.trace_id
    trace = next((trace for trace in traces if trace.id == trace_id), None)
    if trace is None:
        raise JournalError(
            f"the records of the trace {trace_id!r} are no longer in its journal: the folder or "
            "its files were moved or removed; 'tracedance recover' reads them where they are now"
        )
    return _with_apart(trace, len(run.children))


def _with_apart(trace: Trace, n_children: int) -> Trace:
    """Return a trace that notes all the sub-agents that its run started."""
    before = trace.fidelity
    if before.count(APART) >= n_children:
        return trace
    kept = [item for item in before.notes if item.kind != APART]
    notes = sorted([*kept, note(APART, count=n_children)], key=lambda item: item.kind)
    fidelity = before.model_copy(update={"notes": tuple(notes)})
    return trace.model_copy(update={"fidelity": fidelity})


def traces_of(run: Run) -> Iterator[Trace]:
    """Yield the traces of a run and of its sub-agents, in order of start."""
    yield trace_of(run)
    for child in run.children:
        yield from traces_of(child)

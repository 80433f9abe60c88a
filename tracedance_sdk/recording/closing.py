"""The end of a run: its root span, and the summary of what became of its records."""

from __future__ import annotations

from collections.abc import Mapping
from time import time_ns
from typing import Any, NamedTuple

from tracedance_sdk.journal import INTERNAL, SpanRecord
from tracedance_sdk.otel import run_attributes, run_end_attributes
from tracedance_sdk.recording.guard import GUARD, LASTING_FAULTS
from tracedance_sdk.recording.opening import tools_text
from tracedance_sdk.recording.runs import Run
from tracedance_sdk.recording.values import freeze


class CloseSummary(NamedTuple):
    """What became of a recorder's records.

    Attributes:
        written: Records kept, in memory or in the journal.
        exported: Spans that the exporter took.
        dropped: Spans handed to the exporter that it did not take, by reason.
        unattributed: Calls that may have been this run's and joined none, by reason.
        faults: Faults of the recorder itself, by place and error type, and those of installing
            integrations whose hooks are in place only in part, or not at all.
        journal: Folder of the journal; None without one.
        head: Hash of the journal's last line so far, for ``verify --expect``; None without one.
        lost: Records that this process wrote to the journal, for any of its runs, and that somebody
            took away, by removing or cutting a file while it was being written.
    """

    written: int
    exported: int = 0
    dropped: Mapping[str, int] = {}
    unattributed: Mapping[str, int] = {}
    faults: Mapping[str, int] = {}
    journal: str | None = None
    head: str | None = None
    lost: int = 0


def root_span(
    run: Run, *, state: bytes | None, outcome: Mapping[str, Any], waiting: str | None
) -> SpanRecord:
    """Return the run's own span as it would be if the run ended now.

    Args:
        run: The run.
        state: The environment now, frozen; None when it was not seen.
        outcome: Document of what is known of the run as a whole; empty when nothing is.
        waiting: JSON of the messages that no chat span has brought along.
    """
    identity = run.identity
    error = outcome.get("error")
    attributes = run.stubbed(
        run_end_attributes(
            final_state=None if state is None else run.text(state),
            outcome=freeze(outcome).decode() if outcome else None,
            waiting=waiting,
        )
    )
    if run.tools:
        # Decorated functions are known as tools once they have been called.
        known = run_attributes(
            trace_id=identity.trace_id,
            agent_name=run.description.agent,
            tools=GUARD.attempt("tools", run.faults, tools_text, run),
        )
        attributes.update(known)
    return SpanRecord(
        f"invoke_agent {run.description.agent}",
        run.otel_trace_id,
        identity.span_id,
        identity.parent_span_id,
        INTERNAL,
        run.start_ns,
        max(time_ns(), run.start_ns),
        {**run.attributes, **attributes},
        None if error is None else str(error.get("message", "")),
        identity.links,
    )


def summary_of(run: Run) -> CloseSummary:
    """Return what became of a run's records so far."""
    journal = run.pipeline.journal
    kept = None if journal is None else journal.summary()
    return CloseSummary(
        written=run.written,
        exported=run.tally.exported,
        dropped=run.tally.dropped,
        unattributed=dict(run.unattributed),
        faults=dict(run.faults + LASTING_FAULTS),
        journal=None if journal is None else str(journal.folder),
        head=None if kept is None else kept.head,
        lost=0 if kept is None else kept.lost,
    )

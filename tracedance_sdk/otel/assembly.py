"""Traces from records of evidence, in whatever order and from whichever source they come."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tracedance_sdk.journal import EvidenceRecord
from tracedance_sdk.otel.own import Reading, own_run
from tracedance_sdk.otel.tree import runs
from tracedance_sdk.otel.values import Values
from tracedance_sdk.trace import Fidelity, Trace, assess, build


def assemble(
    records: Iterable[EvidenceRecord], *, blobs: Callable[[str], bytes | None] | None = None
) -> list[Trace]:
    """Return the traces that the records tell of, by start.

    The order of the records does not matter, and a record given twice counts once. A run whose
    end is not among them gives a trace with ``outcome.ended`` False, a call without its end an
    interrupted one.

    Args:
        records: Of any number of runs.
        blobs: Returns a large value by its digest, such as `JournalContents.get_blob`. A stub
            that is a whole value is resolved where its blob is at hand.

    Raises:
        InvalidTrace: Records of ours that hold what no trace may.
    """
    values = Values(blobs)
    return [_trace(own_run(run, values)) for run in runs(records)]


def _trace(reading: Reading) -> Trace:
    document = reading.document
    trace = build(document, f"run {document['id']}")
    if reading.fidelity is None:
        return assess(trace, notes=reading.notes)
    recorded = Fidelity.model_validate(reading.fidelity)
    if reading.notes:
        return assess(trace, notes=[*reading.notes, *recorded.notes])
    return trace.model_copy(update={"fidelity": recorded})

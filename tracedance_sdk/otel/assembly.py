"""Traces from records of evidence, in whatever order and from whichever source they come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from tracedance_sdk.errors import TraceDanceError
from tracedance_sdk.formats import attribute_turns
from tracedance_sdk.journal import EvidenceRecord, JournalContents
from tracedance_sdk.otel import names
from tracedance_sdk.otel.asked import Asked
from tracedance_sdk.otel.callers import with_callers
from tracedance_sdk.otel.conventional import RunReader, name_counts
from tracedance_sdk.otel.damage import Damage
from tracedance_sdk.otel.foreign import ForeignLog, ForeignSpan
from tracedance_sdk.otel.own import Reading, own_run
from tracedance_sdk.otel.tree import Key, Run, runs
from tracedance_sdk.otel.values import Values, text_of
from tracedance_sdk.otel.wrappers import without_wrappers
from tracedance_sdk.trace import (
    APART,
    ELSEWHERE,
    Fidelity,
    Note,
    Source,
    Trace,
    assess,
    build,
    imported_trace_id,
    note,
    plain,
    without_calls,
)

_OWN: Final = frozenset({names.CALL_INDEX, names.TURN_INDEX})


def assemble(
    records: Iterable[EvidenceRecord | ForeignSpan | ForeignLog],
    *,
    blobs: Callable[[str], bytes | None] | None = None,
    source: Source | None = None,
    problems: list[TraceDanceError] | None = None,
) -> list[Trace]:
    """Return the traces that the records tell of, by start.

    The order of the records does not matter, and a record given twice counts once. A run whose
    end is not among them gives a trace with ``outcome.ended`` False, a call without its end an
    interrupted one.

    Args:
        records: Of any number of runs. Given a journal's contents, the runs whose records may be
            among those that it has lost, or that were altered, get a note of it.
        blobs: Returns a large value by its digest, such as `JournalContents.get_blob`. A stub
            that is a whole value is resolved where its blob is at hand.

        source: Where traces of other programs' spans say that they come from, but for the ids.
        problems: Takes the errors of runs that cannot be read, which then stop no other; without
            it the first is raised.

    Raises:
        InvalidTrace: Records of ours that hold what no trace may.
    """
    found = runs(records)
    damage = Damage(records) if isinstance(records, JournalContents) else None
    return traces_of(found, blobs=blobs, damage=damage, source=source, problems=problems)


def traces_of(
    found: list[Run],
    *,
    blobs: Callable[[str], bytes | None] | None,
    damage: Damage | None,
    source: Source | None = None,
    problems: list[TraceDanceError] | None = None,
) -> list[Trace]:
    """Return the traces of runs; see `assemble`."""
    values = Values(blobs)
    found, workflows, wrappers = without_wrappers(found)
    found, handed_over = with_callers(found)
    ids = {run.key: _trace_id(run) for run in found}
    readings, calls, unexecuted = _read_all(found, values, ids)
    outside = _outside(
        [*wrappers, *(r for r, read in zip(found, readings, strict=True) if not read)]
    )
    for run, reading in zip(found, readings, strict=True):
        if reading is not None and not _is_own(run):
            if around := outside.pop(run.key[0], None):
                reading.document["metadata"].setdefault("otel", {})["around"] = name_counts(around)
            if source is not None:
                native_id = "/".join(text for text in run.key if text)
                reading.document["source"] = {**plain(source), "native_id": native_id}
            _link(reading.document, run, ids=ids, calls=calls, workflow=workflows.get(run.key))
            _link_by_name(reading.document, run, unexecuted)
            attribute_turns(
                reading.document["turns"],
                agent=reading.document["agent"].get("name"),
                is_subagent="parent" in reading.document and run.key not in handed_over,
            )
    traces: list[Trace] = []
    started = Counter(filter(None, map(_started_by, readings)))
    for run, reading in zip(found, readings, strict=True):
        if reading is None:
            continue
        notes = [] if damage is None else list(damage.notes(run))
        if n_apart := started[reading.document["id"]]:
            notes.append(note(APART, count=n_apart))
        try:
            traces.append(_trace(reading, notes))
        except TraceDanceError as error:
            if problems is None:
                raise
            problems.append(error)
    return traces


def _started_by(reading: Reading | None) -> str | None:
    """Return the id of the trace that started a sub-agent's."""
    if reading is None or "parent" not in reading.document:
        return None
    found: str = reading.document["parent"]["trace_id"]
    return None if found == reading.document["id"] else found


def _read_all(
    found: list[Run], values: Values, ids: Mapping[Key, str]
) -> tuple[list[Reading | None], dict[Key, Asked], dict[Key, list[Asked]]]:
    """Return what each run says, the calls executed by their spans, and each run's other calls."""
    readings: list[Reading | None] = []
    calls: dict[Key, Asked] = {}
    unexecuted: dict[Key, list[Asked]] = {}
    for run in found:
        if _is_own(run):
            readings.append(own_run(run, values))
        else:
            reader = RunReader(run, values, ids)
            readings.append(reader.read())
            calls.update(reader.calls)
            unexecuted[run.key] = reader.unexecuted()
    return readings, calls, unexecuted


def _outside(unread: Iterable[Run]) -> dict[str, Counter[str]]:
    """Count the spans of each OpenTelemetry trace that are part of no run, by name."""
    found: dict[str, Counter[str]] = {}
    for run in unread:
        nodes = [*([run.root] if run.root else []), *run.nodes]
        found.setdefault(run.key[0], Counter()).update(node.name for node in nodes)
    return found


def _link(
    document: dict[str, Any],
    run: Run,
    *,
    ids: Mapping[Key, str],
    calls: Mapping[Key, Asked],
    workflow: str | None,
) -> None:
    """Say of which run and call a run is part."""
    if workflow is not None:
        document["metadata"] = {**document.get("metadata", {}), "workflow": workflow}
    if run.caller is None or run.caller not in ids:
        return
    enclosing = run.enclosing
    asked = None if enclosing is None else calls.get(enclosing.key)
    call_id = None if asked is None else asked.call["id"]
    if call_id is None and enclosing is not None:
        call_id = text_of(enclosing.attributes.get(names.TOOL_CALL_ID))
    document["parent"] = {"trace_id": ids[run.caller], "call_id": call_id}


def _link_by_name(
    document: dict[str, Any], run: Run, unexecuted: Mapping[Key, list[Asked]]
) -> None:
    """Say which call a run answers that was asked for by its agent's name, with no tool's span."""
    if run.caller is None or run.enclosing is not None or "parent" not in document:
        return
    waiting = unexecuted.get(run.caller, [])
    name = document["agent"].get("name")
    asked = next((asked for asked in waiting if asked.call["name"] == name), None)
    if asked is not None:
        waiting.remove(asked)
        document["parent"]["call_id"] = asked.call["id"]


def _is_own(run: Run) -> bool:
    if run.root is not None:
        return names.TRACE_ID in run.root.attributes
    return bool(run.turns) or any(_OWN & node.attributes.keys() for node in run.nodes)


def _trace_id(run: Run) -> str:
    own = None if run.root is None else run.root.attributes.get(names.TRACE_ID)
    return own if isinstance(own, str) else imported_trace_id("otel", *run.key)


def _trace(reading: Reading, damage: Iterable[Note]) -> Trace:
    document = reading.document
    trace = build(document, f"run {document['id']}")
    notes = [*reading.notes, *damage]
    if reading.fidelity is None:
        return assess(trace, notes=notes)
    recorded = Fidelity.model_validate(reading.fidelity)
    notes = [item for item in notes if item.kind != APART]  # it was counted when it was written
    known = recorded.notes
    if reading.has_fetched:
        elsewhere = [without_calls(item) for item in known if item.kind == ELSEWHERE]
        others = [item for item in known if item.kind != ELSEWHERE]
        known = (*others, *(item for item in elsewhere if item.count))
    if notes or reading.has_fetched:
        return assess(trace, notes=[*notes, *known])
    return trace.model_copy(update={"fidelity": recorded})

"""Langfuse's exports: traces with their observations, in each shape that its API and UI give."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from tracedance_sdk.errors import shown
from tracedance_sdk.formats.importing import ImportProblem
from tracedance_sdk.formats.opening import Document
from tracedance_sdk.formats.places import Misfit, expect
from tracedance_sdk.formats.provider_logs import problem_of, records_of
from tracedance_sdk.formats.transcript import read_arguments
from tracedance_sdk.trace import UNKNOWN, Json

_TRACE: Final = ("traceId", "trace_id")
_PARENTS: Final = ("parentObservationId", "parent_observation_id")
_ENCODED: Final = ("input", "output", "metadata")


class Observation(NamedTuple):
    """A step of a trace.

    Attributes:
        id: Of the observation.
        kind: ``GENERATION``, ``TOOL``, ``AGENT``, ``SPAN``, ``EVENT``, ...
        parent: Id of the observation around it.
        started: As ISO-8601 text.
        ended: As ISO-8601 text.
        fields: The record itself, its input, output and metadata parsed.
    """

    id: str
    kind: str
    parent: str | None
    started: str | None
    ended: str | None
    fields: dict[str, Any]

    @property
    def name(self) -> str:
        """Its name; empty when it has none."""
        value = self.fields.get("name")
        return value if isinstance(value, str) else ""

    @property
    def attributes(self) -> dict[str, Any]:
        """OpenTelemetry's attributes, where the observation came in as a span."""
        metadata = self.fields.get("metadata")
        found = metadata.get("attributes") if isinstance(metadata, dict) else None
        return found if isinstance(found, dict) else {}

    @property
    def duration_ms(self) -> float | None:
        """How long it took."""
        if self.started is None or self.ended is None:
            return None
        return (_when(self.ended) - _when(self.started)).total_seconds() * 1000

    @property
    def error(self) -> dict[str, str] | None:
        """What went wrong, when its level is ``ERROR``."""
        if self.fields.get("level") != "ERROR":
            return None
        message = self.fields.get("statusMessage", self.fields.get("status_message"))
        return {"type": "error", "message": message if isinstance(message, str) else ""}


class Export(NamedTuple):
    """A trace of Langfuse's.

    Attributes:
        id: Of the trace.
        trace: The trace's own record, as far as it was exported.
        observations: By time, then as they stand.
    """

    id: str
    trace: dict[str, Any]
    observations: tuple[Observation, ...]


def exports_of(documents: Iterable[Document], path: Path) -> Iterator[Export | ImportProblem]:
    """Yield the traces in the documents of a file; what is none as a problem.

    Args:
        documents: ``{"trace", "observations"}``, a trace with its observations inside, a page of
            the observations API, a list of observations, or one observation.
        path: The file.
    """
    loose: dict[str, list[dict[str, Any]]] = {}
    for entry, place, line in records_of(map(_opened, documents), path, lambda _: False):
        try:
            record = expect(entry, dict)
            if isinstance(record.get("observations"), list):
                inner = record.get("trace")
                trace = inner if isinstance(inner, dict) else record
                yield _export(trace, record["observations"])
                continue
            loose.setdefault(_trace_id(record), []).append(record)
        except Misfit as misfit:
            yield problem_of(place.located(misfit), path, line)
    for trace_id, records in loose.items():
        yield _export({"id": trace_id}, records)


def _trace_id(record: dict[str, Any]) -> str:
    """Return the trace that an observation belongs to."""
    trace_id = _text(record, _TRACE)
    if trace_id is None:
        raise Misfit("neither a trace with observations nor an observation")
    _observation(record)
    return trace_id


def _opened(document: Document) -> Document:
    """Return a page of the API as the list that it holds."""
    value = document.value
    held = value.get("data") if isinstance(value, dict) else None
    return Document(held, document.line) if isinstance(held, list) else document


def _export(trace: dict[str, Any], observations: list[Json]) -> Export:
    found: list[Observation] = []
    try:
        for item in observations:
            found.append(_observation(expect(item, dict)))
    except Misfit as misfit:
        raise misfit.below("observations", len(found)) from None
    order = sorted(range(len(found)), key=lambda place: (_when(found[place].started), place))
    rest = {k: v for k, v in trace.items() if k != "observations"}
    for key in _ENCODED:
        if key in rest:
            rest[key] = decoded(rest[key], always=True)
    own_id = trace.get("id")
    if not isinstance(own_id, str):
        named = next((t for item in found if (t := _text(item.fields, _TRACE))), None)
        if named is None:
            raise Misfit("field required", "id")
        own_id = named
    return Export(own_id, rest, tuple(found[place] for place in order))


def _observation(record: dict[str, Any]) -> Observation:
    own_id, kind = record.get("id"), record.get("type")
    if not isinstance(own_id, str):
        raise Misfit(f"expected text, got {shown(own_id)}", "id")
    fields = dict(record)
    for key in _ENCODED:
        if key in fields:
            fields[key] = decoded(fields[key])
    return Observation(
        own_id,
        kind.upper() if isinstance(kind, str) else "SPAN",
        _text(record, _PARENTS),
        _time(record, ("startTime", "start_time")),
        _time(record, ("endTime", "end_time")),
        fields,
    )


def decoded(value: Json, *, always: bool = False) -> Json:
    """Return what a text of JSON says: an object or a list, or text that was encoded twice.

    Args:
        value: Any value.
        always: The field is always encoded, so that a text in it stands in quotation marks.
    """
    for _ in range(2):
        if not isinstance(value, str) or value[:1] not in ("{", "[", *('"' if always else "")):
            return value
        parsed, _ = read_arguments(value)
        if parsed is UNKNOWN:
            return value
        value = parsed
    return value


def _time(record: dict[str, Any], keys: tuple[str, ...]) -> str | None:
    value = next((record[key] for key in keys if record.get(key) is not None), None)
    if value is None:
        return None
    try:
        return _when(value).isoformat()
    except (TypeError, ValueError):
        raise Misfit(f"expected a time, got {shown(value)}", keys[0]) from None


def _when(text: str | None) -> datetime:
    """Return a time that can be compared with others; the earliest when there is none."""
    moment = datetime.fromisoformat(text or "0001-01-02T00:00:00+00:00")
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def _text(record: dict[str, Any], keys: tuple[str, ...]) -> str | None:
    return next((record[k] for k in keys if isinstance(record.get(k), str) and record[k]), None)

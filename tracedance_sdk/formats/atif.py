"""ATIF, the trajectory format of Harbor and Terminal-Bench, as traces.

A trajectory is a trace; those of sub-agents that are embedded in it are traces of their own,
linked to the call that started them. Versions 1.0 to 1.8 differ in optional fields only; unknown
fields are kept.

Source: ATIF, RFC 0001 of the Harbor framework, version 1.8.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from tracedance_sdk.errors import UnsupportedVersion, shown
from tracedance_sdk.formats.atif_steps import OURS, Steps
from tracedance_sdk.formats.places import Misfit, Place
from tracedance_sdk.formats.tool_shapes import read_tools
from tracedance_sdk.formats.transcript import Transcript
from tracedance_sdk.trace import KINDS, Json, Trace, assess, imported_trace_id, source_digest

COLLECTOR: Final = "atif"
MAJOR: Final = "ATIF-v1."

_TOLD: Final = frozenset(
    {"steps", "agent", "session_id", "trajectory_id", "subagent_trajectories", "extra"}
)
_WRITTEN: Final = _TOLD | {"schema_version", "final_metrics"}
"""Fields that a written trajectory has and that say nothing more than its trace."""

_NEVER_NULL: Final = frozenset(Trace.model_fields) - {"initial_state", "final_state"}
_RESERVED: Final = frozenset({"turns", "trace_id", "where", "self"})
_NOTHING: Final[tuple[Json, ...]] = (None, [], {}, "")


class _Waiting(NamedTuple):
    """A trajectory that is still to be read, and where it hangs."""

    document: Json
    place: Place
    session_id: str | None
    parent: dict[str, Any] | None
    lineage: str


def traces_from_atif(document: Json, place: Place, *, uri: str | None = None) -> Iterator[Trace]:
    """Yield the trace of a trajectory, and those of the sub-agents embedded in it.

    Args:
        document: The parsed trajectory.
        place: Where it stands, for errors.
        uri: The file.

    Raises:
        InvalidTrace: The trajectory breaks the format.
        UnsupportedVersion: It is of another major version.
    """
    waiting = [_Waiting(document, place, None, None, "")]
    while waiting:
        item = waiting.pop()
        fields = item.place.expect(item.document, dict)
        trace, references = _trace(fields, item, uri)
        yield trace
        embedded = item.place.optional(fields, "subagent_trajectories", list) or []
        for index in range(len(embedded) - 1, -1, -1):
            child = embedded[index]
            own = child.get("trajectory_id") if isinstance(child, dict) else None
            call_id = references.get(own) if isinstance(own, str) else None
            parent = {"trace_id": trace.id, **({"call_id": call_id} if call_id else {})}
            at = item.place.at("subagent_trajectories", index)
            waiting.append(_Waiting(child, at, trace.session_id, parent, trace.id))


def _trace(
    fields: dict[str, Any], item: _Waiting, uri: str | None
) -> tuple[Trace, dict[str, str | None]]:
    place = item.place
    version = place.field(fields, "schema_version", str)
    if not version.startswith(MAJOR):
        raise UnsupportedVersion(f"{place.where}: ATIF of version {shown(version)} is unknown")
    agent = place.field(fields, "agent", dict)
    steps = place.field(fields, "steps", list)
    log = Transcript()
    model = place.at("agent").optional(agent, "model_name", str)
    own = _own(fields)
    log.knows_origins = bool(own)
    reader = Steps(log, model=None if own else model)
    for index, step in enumerate(steps):
        at = place.at("steps", index)
        try:
            reader.tell(index, at.expect(step, dict))
        except Misfit as misfit:
            raise at.located(misfit) from None
    session_id = place.optional(fields, "session_id", str) or item.session_id
    found: dict[str, Any] = {
        "session_id": session_id,
        "parent": item.parent,
        "agent": {
            "name": agent.get("name") if isinstance(agent.get("name"), str) else "agent",
            **({"version": agent["version"]} if isinstance(agent.get("version"), str) else {}),
        },
        "system_prompt": reader.system_prompt,
        "tools": read_tools(agent.get("tool_definitions")),
        "metadata": _metadata(fields, agent),
        "source": {
            "collector": COLLECTOR,
            "uri": uri,
            "native_id": fields.get("trajectory_id") or session_id,
        },
        **own,
    }
    _note(log, found.pop("fidelity", None))
    own_id = found.pop("id", None)
    trace_id = own_id if isinstance(own_id, str) and own_id else _trace_id(fields, item)
    trace = log.trace(trace_id, where=place.where, **found)
    nulls = {k: None for k, v in own.items() if v is None and k not in _NEVER_NULL}
    if nulls:
        # A state that is null was seen; None among a transcript's fields means nothing was said.
        trace = assess(trace.model_copy(update=nulls), notes=log.notes())
    return trace, reader.references


def _note(log: Transcript, fidelity: Json) -> None:
    """Note the defects that were known when the trajectory was written."""
    notes = fidelity.get("notes") if isinstance(fidelity, dict) else None
    for item in notes if isinstance(notes, list) else ():
        kind, count = (item.get("kind"), item.get("count")) if isinstance(item, dict) else (0, 0)
        if not isinstance(kind, str) or kind not in KINDS:
            continue
        given = item.get("places")
        places = [p for p in given if isinstance(p, str)][:5] if isinstance(given, list) else []
        for place in places:
            log.note(kind, place)
        left = (count if type(count) is int else 1) - len(places)
        if left > 0:
            log.note(kind, count=left)


def _trace_id(fields: dict[str, Any], item: _Waiting) -> str:
    """Return an id that stays the same while the trajectory grows.

    A session's id may be shared by the segments of a run and by sub-agents, so that how the
    trajectory begins, and which segment it is, count as well.
    """
    agent = fields["agent"]
    extra = agent.get("extra")
    segment = extra.get("continuation_index") if isinstance(extra, dict) else None
    start = [
        [step.get("source"), step.get("message")]
        for step in fields["steps"][:2]
        if isinstance(step, dict)
    ]
    begun = source_digest([item.lineage, agent.get("name"), agent.get("version"), segment, start])
    native_id = f"{fields.get('session_id')}/{fields.get('trajectory_id')}"
    return imported_trace_id(COLLECTOR, begun, native_id)


def _own(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a trace that `write_atif` put beside the format's own."""
    extra = fields.get("extra")
    ours = extra.get(OURS) if isinstance(extra, dict) else None
    if not isinstance(ours, dict):
        return {}
    kept = {k: v for k, v in ours.items() if k not in _RESERVED}
    added = {k: v for k, v in fields.items() if k not in _WRITTEN and v not in _NOTHING}
    metadata = kept.get("metadata")
    return {**kept, "metadata": {**added, **(metadata if isinstance(metadata, dict) else {})}}


def _metadata(fields: dict[str, Any], agent: dict[str, Any]) -> dict[str, Json]:
    extra = fields.get("extra")
    rest = {k: v for k, v in extra.items() if k != OURS} if isinstance(extra, dict) else extra
    known = ("name", "version", "tool_definitions")
    found: dict[str, Json] = {
        **{k: v for k, v in fields.items() if k not in _TOLD},
        "trajectory_id": fields.get("trajectory_id"),
        "extra": rest,
        "agent": {k: v for k, v in agent.items() if k not in known and v not in _NOTHING},
    }
    return {key: item for key, item in found.items() if item not in _NOTHING}

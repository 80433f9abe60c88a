"""Samples of Inspect's evaluation logs as traces.

A sample is one run of the evaluated agent. Its messages become turns; its events add models,
tokens, times and errors to them; its scores are the outcome. What the agent never saw (target,
choices) stands under ``metadata["reference"]``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tracedance_sdk.formats.inspect_log_attachments import Attachments
from tracedance_sdk.formats.inspect_log_events import Events, slim
from tracedance_sdk.formats.inspect_log_messages import tell_messages
from tracedance_sdk.formats.inspect_log_scores import outcome_of
from tracedance_sdk.formats.places import Misfit, Place
from tracedance_sdk.formats.tool_shapes import read_tools
from tracedance_sdk.formats.transcript import Transcript
from tracedance_sdk.trace import Agent, Json, Source, Trace, imported_trace_id

COLLECTOR: Final = "inspect_log"

_TOLD: Final = frozenset(
    {
        "id", "epoch", "messages", "events", "attachments", "scores", "score", "target", "choices",
        "message_pool", "events_data", "error", "limit", "uuid", "started_at", "completed_at",
        "metadata", "transcript", "input", "pooled_messages",
    }
)  # fmt: skip
_RESOLVED: Final = ("messages", "events", "attachments")
_NOTHING: Final[tuple[Json, ...]] = (None, [], {}, "")


def trace_from_inspect(
    sample: Json, header: Mapping[str, Any], place: Place, *, uri: str | None = None
) -> Trace:
    """Build the trace of one sample.

    Args:
        sample: The parsed sample.
        header: The log without its samples.
        place: Where the sample stands, for errors.
        uri: The file.

    Returns:
        A trace whose group is the task and sample, so that its epochs lie together.

    Raises:
        InvalidTrace: The sample breaks the format.
    """
    fields = place.expect(sample, dict)
    attachments = Attachments(fields.get("attachments"))
    events = _events(fields, attachments)
    log = Transcript()
    messages = place.optional(fields, "messages", list) or []
    try:
        system_prompt = tell_messages(log, attachments.resolve(messages), events)
    except Misfit as misfit:
        raise place.at("messages").located(misfit) from None
    run = header.get("eval")
    run = run if isinstance(run, dict) else {}
    name = f"{fields.get('id')}/{fields.get('epoch', 1)}"
    known = attachments.resolve({k: v for k, v in fields.items() if k not in _RESOLVED})
    known["pooled_messages"] = _pooled(known, messages)
    task = str(run.get("task", "task"))
    if attachments.missing:
        log.note("value_elsewhere", count=attachments.missing)
    return log.trace(
        _trace_id(fields, run, name),
        where=place.where,
        group=f"{task}/{fields.get('id')}",
        task_id=f"{task}/{fields.get('id')}",
        agent=_agent(run),
        system_prompt=system_prompt,
        tools=read_tools(list(events.tools.values())),
        outcome=outcome_of(known, header),
        source=Source(collector=COLLECTOR, uri=uri, native_id=_uuid(fields) or name),
        started_at=fields.get("started_at") or events.first,
        ended_at=fields.get("completed_at") or events.last,
        metadata=_metadata(known, header, events),
    )


def _events(fields: dict[str, Any], attachments: Attachments) -> Events:
    """Return a sample's events; old logs have them, and the attachments, in a transcript."""
    older = fields.get("transcript")
    holder = older if isinstance(older, dict) else fields
    if holder is older and "attachments" not in fields:
        attachments.add(older.get("content"))
    found = holder.get("events")
    events = [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []
    return Events([attachments.resolve(slim(item)) for item in events])


def _trace_id(fields: dict[str, Any], run: dict[str, Any], name: str) -> str:
    own = _uuid(fields)
    if own is not None:
        return imported_trace_id(COLLECTOR, "", own)
    run_of = f"{run.get('run_id')}/{run.get('task_id')}"
    return imported_trace_id(COLLECTOR, run_of, name)


def _uuid(fields: dict[str, Any]) -> str | None:
    own = fields.get("uuid")
    return own if isinstance(own, str) and own else None


def _agent(run: dict[str, Any]) -> Agent:
    packages = run.get("packages")
    version = packages.get("inspect_ai") if isinstance(packages, dict) else None
    return Agent(name="inspect", version=version if isinstance(version, str) else None)


def _metadata(fields: dict[str, Any], header: Mapping[str, Any], events: Events) -> dict[str, Json]:
    """Return what a log says beside the messages of one of its samples."""
    told = _TOLD if _uuid(fields) is not None else _TOLD - {"uuid"}
    reference = {k: fields[k] for k in ("target", "choices") if fields.get(k) not in _NOTHING}
    found: dict[str, Json] = {
        "epoch": fields.get("epoch"),
        "sample_id": fields.get("id"),
        "input": fields.get("input"),
        "sample_metadata": fields.get("metadata"),
        "reference": reference,
        "sample": {k: v for k, v in fields.items() if k not in told and v not in _NOTHING},
        "eval": _without_sample_ids(header.get("eval")),
        "events": events.others,
        "event_counts": dict(events.counts),
        "other_model_calls": events.unclaimed(),
        "pooled_messages": fields["pooled_messages"],
        **{k: v for k, v in header.items() if k not in ("eval", "samples", "reductions")},
    }
    return {key: item for key, item in found.items() if item not in _NOTHING}


def _without_sample_ids(run: Json) -> Json:
    """Return the evaluation without the list of all samples, which every trace would repeat."""
    if not isinstance(run, dict) or not isinstance(run.get("dataset"), dict):
        return run
    kept = {k: v for k, v in run["dataset"].items() if k != "sample_ids"}
    return {**run, "dataset": kept}


def _pooled(fields: dict[str, Any], messages: list[Json]) -> list[Json]:
    """Return messages that only model calls saw, which newer logs keep apart."""
    data = fields.get("events_data")
    pool = data.get("messages") if isinstance(data, dict) else fields.get("message_pool")
    entries = pool if isinstance(pool, list) else ()
    said = {str(m.get("id")) for m in messages if isinstance(m, dict)}
    return [m for m in entries if isinstance(m, dict) and str(m.get("id")) not in said]

"""Open a run: find its place, take the state before it, put its start on record."""

from __future__ import annotations

import sys
from collections import Counter
from time import time_ns
from typing import TYPE_CHECKING, Any

from tracedance_sdk.journal import INTERNAL, Attributes, EventRecord, Link
from tracedance_sdk.otel import RUN_START, run_attributes
from tracedance_sdk.recording.guard import GUARD
from tracedance_sdk.recording.identifiers import new_span_id, new_trace_id
from tracedance_sdk.recording.masked_descriptions import masked_description
from tracedance_sdk.recording.pipeline import Pipeline
from tracedance_sdk.recording.plans import Description
from tracedance_sdk.recording.runs import Identity, Run
from tracedance_sdk.recording.scopes import CURRENT, Scope, enclosing_open_scope
from tracedance_sdk.recording.values import freeze

if TYPE_CHECKING:
    from tracedance_sdk.recording.providers import ProviderSpans
    from tracedance_sdk.recording.remote_parents import RemoteParent


def outer_scope() -> Scope | None:
    """Return the open scope around this code, by its context alone."""
    return enclosing_open_scope(CURRENT.get())


def open_run(
    description: Description,
    pipeline: Pipeline,
    *,
    outer: Scope | None,
    spans: ProviderSpans | None,
    state: bytes | None,
    remote: RemoteParent | None = None,
) -> Run:
    """Return an open run whose start is on record.

    Args:
        description: What it is.
        pipeline: Where its records go.
        outer: The scope it is opened in; makes it a sub-agent's run.
        spans: Makes real spans in the user's own provider; None keeps the run isolated.
        state: The environment before, frozen; None when it was not seen.
        remote: The call in another process that it works for, in place of `outer`.
    """
    start_ns = time_ns()
    trace_id = new_trace_id()
    faults: Counter[str] = Counter()
    description = masked_description(description, pipeline.redact, faults=faults)
    about = run_attributes(trace_id=trace_id, agent_name=description.agent)
    span: Any = None
    if spans is not None:
        span = GUARD.attempt(
            "span",
            faults,
            spans.start,
            f"invoke_agent {description.agent}",
            about,
            parent=outer,
            start_ns=start_ns,
            kind=INTERNAL,
            remote=remote,
        )
    if spans is None or span is None:
        identity, spans = _isolated(trace_id, outer, remote), None
    else:
        identity = _nested(trace_id, outer, spans, span=span, remote=remote)
    run = Run(
        identity,
        description=description,
        start_ns=start_ns,
        pipeline=pipeline,
        outer=outer,
        spans=spans,
        span=span,
    )
    run.faults.update(faults)
    run.attributes = (
        GUARD.attempt("open", run.faults, _attributes, run, description, state=state) or about
    )
    run.write(
        EventRecord(
            RUN_START,
            run.otel_trace_id,
            identity.span_id,
            start_ns,
            run.attributes,
            identity.parent_span_id,
        )
    )
    run.open()
    return run


def _isolated(trace_id: str, outer: Scope | None, remote: RemoteParent | None) -> Identity:
    if remote is not None:
        return Identity(
            trace_id,
            remote.otel_trace_id,
            new_span_id(),
            parent_span_id=remote.span_id,
            parent_trace_id=remote.trace_id,
            parent_call_id=remote.call_id,
        )
    if outer is None:
        return Identity(trace_id, new_trace_id(), new_span_id(), links=_ambient())
    return Identity(
        trace_id,
        outer.run.otel_trace_id,
        new_span_id(),
        parent_span_id=outer.span_id,
        parent_trace_id=outer.run.identity.trace_id,
        parent_call_id=outer.call_id,
    )


def _nested(
    trace_id: str,
    outer: Scope | None,
    spans: ProviderSpans,
    *,
    span: Any,
    remote: RemoteParent | None,
) -> Identity:
    otel_trace_id = spans.trace_id(span)
    if remote is not None:
        return Identity(
            trace_id,
            otel_trace_id,
            spans.span_id(span),
            parent_span_id=remote.span_id if remote.otel_trace_id == otel_trace_id else None,
            parent_trace_id=remote.trace_id,
            parent_call_id=remote.call_id,
        )
    same = outer is not None and outer.run.otel_trace_id == otel_trace_id
    return Identity(
        trace_id,
        otel_trace_id,
        spans.span_id(span),
        parent_span_id=outer.span_id if outer is not None and same else None,
        parent_trace_id=None if outer is None else outer.run.identity.trace_id,
        parent_call_id=None if outer is None else outer.call_id,
    )


def _ambient() -> tuple[Link, ...]:
    """Return a link to the span around, if the program uses OpenTelemetry and is in one."""
    api = sys.modules.get("opentelemetry.trace")
    if api is None:
        return ()
    context = api.get_current_span().get_span_context()
    if not context.is_valid:
        return ()
    return (Link(f"{context.trace_id:032x}", f"{context.span_id:016x}"),)


def tools_text(run: Run) -> str | None:
    """Return the definitions of a run's tools so far, as JSON ready to be written."""
    if not run.description.tools and not run.tools:
        return None
    from tracedance_sdk.recording.definitions import definitions_of

    listed = definitions_of(run.description.tools, dict(run.tools), run.faults)
    return run.text(freeze(listed))


def _attributes(run: Run, description: Description, *, state: bytes | None) -> Attributes:
    identity = run.identity
    prompt = description.system_prompt
    metadata = run.masked_object(description.metadata)
    return run.stubbed(
        run_attributes(
            trace_id=identity.trace_id,
            agent_name=description.agent,
            agent_version=description.version,
            task_id=description.task_id,
            group=description.group,
            session_id=description.session_id,
            parent_trace_id=identity.parent_trace_id,
            parent_call_id=identity.parent_call_id,
            system_prompt=None if prompt is None else run.words(prompt),
            tools=tools_text(run),
            metadata=freeze(metadata).decode() if metadata else None,
            initial_state=None if state is None else run.text(state),
        )
    )

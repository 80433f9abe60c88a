"""Open a run: find its place, take the state before it, put its start on record."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from time import time_ns
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import ValidationError

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.journal import INTERNAL, Attributes, EventRecord, Link
from tracedance_sdk.otel import RUN_START, run_attributes, tool_definitions
from tracedance_sdk.recording.identifiers import new_span_id, new_trace_id
from tracedance_sdk.recording.pipeline import Pipeline
from tracedance_sdk.recording.runs import Identity, Run
from tracedance_sdk.recording.scopes import CURRENT, Scope, enclosing_open_scope
from tracedance_sdk.recording.values import freeze
from tracedance_sdk.trace import Agent, ToolDefinition

if TYPE_CHECKING:
    from tracedance_sdk.recording.providers import ProviderSpans


class Description(NamedTuple):
    """What a run is, as its recorder was told.

    Attributes:
        agent: Name of the agent.
        version: Of the agent.
        tools: Definitions, as the model is shown them.
    """

    agent: str
    version: str | None
    task_id: str | None
    group: str | None
    session_id: str | None
    system_prompt: str | None
    tools: tuple[ToolDefinition, ...]
    metadata: Mapping[str, Any]


def describe_run(
    *,
    agent: str | Agent,
    tools: Iterable[ToolDefinition | Mapping[str, Any]],
    metadata: Mapping[str, Any] | None,
    **texts: str | None,
) -> Description:
    """Check what a recorder is told of its run.

    Raises:
        InvalidOption: An argument of a wrong type.
    """
    for name, text in texts.items():
        if text is not None and not isinstance(text, str):
            raise InvalidOption(f"{name}={text!r} is no text")
    if not isinstance(agent, (str, Agent)):
        raise InvalidOption(f"agent={agent!r} is neither a name nor an Agent")
    who = Agent(name=agent) if isinstance(agent, str) else agent
    return Description(
        agent=who.name,
        version=who.version,
        tools=tuple(_definition(tool, place) for place, tool in enumerate(tools)),
        metadata=dict(metadata or {}),
        task_id=texts.get("task_id"),
        group=texts.get("group"),
        session_id=texts.get("session_id"),
        system_prompt=texts.get("system_prompt"),
    )


def _definition(tool: ToolDefinition | Mapping[str, Any], place: int) -> ToolDefinition:
    if isinstance(tool, ToolDefinition):
        return tool
    try:
        inner = tool["function"] if isinstance(tool.get("function"), Mapping) else tool
        schema = inner.get("parameters") or inner.get("input_schema")
        known = {key: value for key, value in inner.items() if key in ToolDefinition.model_fields}
        return ToolDefinition.model_validate({**known, "parameters": schema})
    except (AttributeError, TypeError, ValidationError) as error:
        raise InvalidOption(
            f"tools[{place}]={tool!r} is no tool definition: give name, description and parameters"
        ) from error


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
) -> Run:
    """Return an open run whose start is on record.

    Args:
        description: What it is.
        pipeline: Where its records go.
        outer: The scope it is opened in; makes it a sub-agent's run.
        spans: Makes real spans in the user's own provider; None keeps the run isolated.
        state: The environment before, frozen; None when it was not seen.
    """
    start_ns = time_ns()
    trace_id = new_trace_id()
    span: object = None
    if spans is None:
        identity = _isolated(trace_id, outer)
    else:
        about = run_attributes(trace_id=trace_id, agent_name=description.agent)
        span = spans.start(f"invoke_agent {description.agent}", about, outer, start_ns, INTERNAL)
        identity = _nested(trace_id, outer, spans, span)
    run = Run(
        identity,
        name=description.agent,
        start_ns=start_ns,
        pipeline=pipeline,
        outer=outer,
        spans=spans,
        span=span,
    )
    run.attributes = _attributes(run, description, state)
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


def _isolated(trace_id: str, outer: Scope | None) -> Identity:
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


def _nested(trace_id: str, outer: Scope | None, spans: ProviderSpans, span: object) -> Identity:
    return Identity(
        trace_id,
        spans.trace_id(span),
        spans.span_id(span),
        parent_span_id=None if outer is None else outer.span_id,
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


def _attributes(run: Run, description: Description, state: bytes | None) -> Attributes:
    identity = run.identity
    prompt = description.system_prompt
    tools = tool_definitions(description.tools)
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
            tools=run.text(freeze(tools)) if tools else None,
            metadata=run.text(freeze(description.metadata)) if description.metadata else None,
            initial_state=None if state is None else run.text(state),
        )
    )

"""What a recorder is told, checked when it is made: what the run is, and what becomes of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.recording.options import Durability, check_options, check_text
from tracedance_sdk.recording.snapshots import StateReader, state_reader

if TYPE_CHECKING:
    import os

    from tracedance_sdk.recording.redaction import Redactor
    from tracedance_sdk.recording.remote_parents import RemoteParent
    from tracedance_sdk.trace import Agent, ToolDefinition


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

    def within(self, around: Description | None, defaults: Mapping[str, Any]) -> Description:
        """Return the description with what the run around it, else `configure`, says besides."""
        group = defaults.get("group") if around is None else around.group
        session_id = defaults.get("session_id") if around is None else around.session_id
        return self._replace(
            task_id=self.task_id or (None if around is None else around.task_id),
            group=self.group or group,
            session_id=self.session_id or session_id,
            metadata={**defaults.get("metadata", {}), **self.metadata},
        )


class AgentName(NamedTuple):
    """Who runs, without the trace model, which need not be loaded to record."""

    name: str
    version: str | None = None


def describe_run(
    *,
    agent: str | Agent | AgentName,
    tools: Iterable[ToolDefinition | Mapping[str, Any]],
    metadata: Mapping[str, Any] | None,
    **texts: str | None,
) -> Description:
    """Check what a recorder is told of its run.

    Raises:
        InvalidOption: An argument of a wrong type.
    """
    for option, text in texts.items():
        if option == "system_prompt" and text == "":
            continue
        check_text(option, text)
    name = agent if isinstance(agent, str) else getattr(agent, "name", None)
    if not isinstance(name, str):
        raise InvalidOption(f"agent={agent!r} is neither a name nor an Agent")
    check_text("agent", name)
    version = getattr(agent, "version", None)
    if version is not None and not isinstance(version, str):
        raise InvalidOption(f"version={version!r} of the agent is no text")
    return Description(
        agent=name,
        version=version,
        tools=_definitions(tools),
        metadata=dict(metadata or {}),
        task_id=texts.get("task_id"),
        group=texts.get("group"),
        session_id=texts.get("session_id"),
        system_prompt=texts.get("system_prompt"),
    )


def _definitions(
    tools: Iterable[ToolDefinition | Mapping[str, Any]],
) -> tuple[ToolDefinition, ...]:
    if isinstance(tools, (str, Mapping)) or not isinstance(tools, Iterable):
        raise InvalidOption(f"tools={tools!r} is no list of tool definitions")
    listed = tuple(tools)
    if not listed:
        return ()
    from tracedance_sdk.recording.definitions import checked_definitions

    return checked_definitions(listed)


class Plan(NamedTuple):
    """The arguments of a recorder, checked.

    Attributes:
        description: What the run is.
        pipeline: Arguments of `pipeline_options`.
        tracer_provider: The user's own provider; None for that of `configure`, False for none.
        reader: Takes the state; None when there is no source.
        state_changes: ``per_call`` reads the state after each call.
        remote: The call in another process that the run works for; the scope around it does not
            count then.
    """

    description: Description
    pipeline: Mapping[str, Any]
    tracer_provider: Any
    reader: StateReader | None
    state_changes: Literal["per_call"] | None
    remote: RemoteParent | None = None


def plan_run(
    *,
    task_id: str | None = None,
    agent: str | Agent | AgentName = "agent",
    state: object = None,
    environment: Any = None,
    journal: str | os.PathLike[str] | Literal[False] | None = None,
    exporter: Any = None,
    tracer_provider: Any = None,
    redaction: bool | Redactor | None = None,
    state_changes: Literal["per_call"] | None = None,
    content: Literal["on", "off"] | None = None,
    system_prompt: str | None = None,
    tools: Iterable[ToolDefinition | Mapping[str, Any]] = (),
    group: str | None = None,
    session_id: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    durability: Durability | None = None,
) -> Plan:
    """Check the arguments of `TraceRecorder`, which explains them.

    Raises:
        InvalidOption: One that cannot be used.
        StateSourceError: No state can be taken from `state`.
    """
    pipeline = {
        "journal": journal,
        "exporter": exporter,
        "redaction": redaction,
        "content": content,
        "durability": durability,
    }
    check_options(
        {
            **pipeline,
            "tracer_provider": tracer_provider,
            "state_changes": state_changes,
            "metadata": metadata,
        }
    )
    return Plan(
        description=describe_run(
            agent=agent,
            task_id=task_id,
            group=group,
            session_id=session_id,
            system_prompt=system_prompt,
            tools=tools,
            metadata=metadata,
        ),
        pipeline=pipeline,
        tracer_provider=tracer_provider,
        reader=state_reader(state, environment),
        state_changes=state_changes,
    )

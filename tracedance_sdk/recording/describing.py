"""What becomes known of a run after its start: a fuller start record follows the first one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from time import time_ns
from typing import TYPE_CHECKING, Any, Final

from tracedance_sdk.journal import Attributes, EventRecord
from tracedance_sdk.otel import RUN_START, run_attributes
from tracedance_sdk.recording.opening import tools_text

if TYPE_CHECKING:
    from tracedance_sdk.recording.runs import Run

UNNAMED: Final = "agent"
"""What a recorder calls its agent when it was told no name."""


def describe_further(
    run: Run,
    *,
    agent: str | None = None,
    version: str | None = None,
    system_prompt: str | None = None,
    tools: Iterable[Mapping[str, Any]] = (),
    initial_state: bytes | None = None,
) -> None:
    """Put on record what the recorder was not told of its run; what it was told stays.

    Args:
        run: The run.
        agent: Its agent's name; counts where the recorder was given none.
        version: Of that agent.
        system_prompt: Its instructions.
        tools: Fields of `ToolDefinition`; those of names already known change nothing.
        initial_state: The environment before, frozen.
    """
    told = run.description
    changed: dict[str, Any] = {}
    added: dict[str, Any] = {}
    if agent and told.agent == UNNAMED and agent != UNNAMED:
        changed["agent"] = run.name(agent)
        if version and told.version is None:
            changed["version"] = added["agent_version"] = run.name(version)
    if system_prompt is not None and told.system_prompt is None:
        changed["system_prompt"] = system_prompt
        added["system_prompt"] = run.words(system_prompt)
    known = {tool.name for tool in told.tools}
    new = [tool for tool in tools if tool["name"] not in known]
    if new:
        from tracedance_sdk.recording.definitions import checked_definitions

        changed["tools"] = (*told.tools, *checked_definitions(new))
    if initial_state is not None:
        added["initial_state"] = run.text(initial_state)
    if changed or added:
        run.description = told._replace(**changed)
        if new:
            added["tools"] = tools_text(run)
        _write(run, added)


def _write(run: Run, added: Mapping[str, Any]) -> None:
    known = run_attributes(
        trace_id=run.identity.trace_id, agent_name=run.description.agent, **added
    )
    attributes: Attributes = {**run.attributes, **run.stubbed(known)}
    run.attributes = attributes
    identity = run.identity
    run.write(
        EventRecord(
            RUN_START,
            run.otel_trace_id,
            identity.span_id,
            time_ns(),
            attributes,
            identity.parent_span_id,
        )
    )

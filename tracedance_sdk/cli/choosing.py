"""How `--trace ID` chooses a trace, and what a verb calls the traces to choose from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tracedance_sdk.trace import Trace

_UNNAMED: Final = "agent"
"""The name of an agent that was given none."""


def is_chosen(trace: Trace, wanted: str | None) -> bool:
    """Whether a trace is wanted: its id starts so, or it has this id at its source.

    Args:
        trace: The trace.
        wanted: What the user gave; None chooses every trace.
    """
    if wanted is None:
        return True
    native_id = trace.source.native_id if trace.source is not None else None
    return trace.id.startswith(wanted) or native_id == wanted


def described(trace: Trace) -> str:
    """Return the start of a trace's id with its agent and task, as far as they are known."""
    known = [] if trace.agent.name == _UNNAMED else [f"agent {trace.agent.name}"]
    known += [] if trace.task_id is None else [f"task {trace.task_id}"]
    return f"{trace.id[:8]} ({', '.join(known)})" if known else trace.id[:8]


def part_names(traces: Sequence[Trace]) -> list[str]:
    """Name the traces of one source, each differently.

    By the source's own ids where it has them, else by agent and task, with the start of our id
    where several traces share these, else by number.
    """
    own = [trace.source.native_id if trace.source is not None else None for trace in traces]
    spoken = [_agent_and_task(trace) for trace in traces]
    shared = Counter(spoken)
    ours = [
        name if name and shared[name] == 1 else f"{name}#{trace.id[:8]}".removeprefix("#")
        for name, trace in zip(spoken, traces, strict=True)
    ]
    for names in (own, ours):
        known = [name for name in names if name]
        if len(known) == len(set(known)) == len(traces):
            return known
    return [str(number) for number in range(1, len(traces) + 1)]


def _agent_and_task(trace: Trace) -> str:
    agent = "" if trace.agent.name == _UNNAMED else trace.agent.name
    return "/".join(name for name in (agent, trace.task_id) if name)

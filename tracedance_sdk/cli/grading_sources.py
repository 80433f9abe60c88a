"""The traces of a source that `tracedance evaluate` grades, and what of it is left out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tracedance_sdk.cli.choosing import agent_and_task, part_names
from tracedance_sdk.cli.stores import is_store, stored_traces
from tracedance_sdk.errors import TraceDanceError
from tracedance_sdk.formats import Collector, TraceSource, collect_source
from tracedance_sdk.trace import Trace


class Choice(NamedTuple):
    """Which traces are wanted.

    Attributes:
        where: Of stores, only traces for which this SQL holds.
        has_sub_agents: The traces of sub-agents too.
        collectors: Who read files.
    """

    where: str | None
    has_sub_agents: bool
    collectors: tuple[Collector, ...]


class Run(NamedTuple):
    """A trace to grade.

    Attributes:
        path: The source.
        trace: The trace.
        part: Which trace of the source; None when it holds only one.
        stored_as: What a trace of a store is about, by agent and task; None for those of files.
    """

    path: Path
    trace: Trace
    part: str | None = None
    stored_as: str | None = None


class Unread(NamedTuple):
    """Something of a source that cannot be read, and why."""

    path: Path
    problem: str


def found_runs(source: TraceSource, choice: Choice) -> Iterator[Run | Unread | None]:
    """Yield what a source holds; None for each trace of a sub-agent that is left out.

    A sub-agent's trace is left out unless it is asked for, or it is all that a file holds which
    the user named: the task is its parent's.
    """
    if is_store(source.path):
        yield from _stored(source, choice)
        return
    found = list(collect_source(source, collectors=choice.collectors))
    traces = [item.trace for item in found if item.trace is not None]
    wanted = traces
    if not choice.has_sub_agents and not (source.is_named and len(traces) == 1):
        wanted = [trace for trace in traces if trace.parent is None]
    names = dict(zip(map(id, wanted), part_names(wanted), strict=True))
    for item in found:
        if item.trace is None:
            yield Unread(item.path, str(item.problem))
        elif id(item.trace) in names:
            yield Run(item.path, item.trace, names[id(item.trace)] if len(wanted) > 1 else None)
        else:
            yield None


def _stored(source: TraceSource, choice: Choice) -> Iterator[Run | Unread | None]:
    """Yield the traces of a store one at a time: it may hold more than the memory does."""
    try:
        for trace in stored_traces(source.path, where=choice.where):
            if isinstance(trace, TraceDanceError):
                yield Unread(source.path, str(trace))
            elif trace.parent is not None and not choice.has_sub_agents:
                yield None
            else:
                yield Run(source.path, trace, trace.id, agent_and_task(trace))
    except TraceDanceError as error:
        yield Unread(source.path, str(error))

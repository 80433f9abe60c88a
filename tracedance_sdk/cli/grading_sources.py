"""The traces of a source that `tracedance evaluate` grades, and what of it is left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tracedance_sdk.cli.choosing import agent_and_task, part_names
from tracedance_sdk.cli.stores import is_store, stored_traces
from tracedance_sdk.errors import TraceDanceError
from tracedance_sdk.formats import Collector, TraceSource, collect_source
from tracedance_sdk.trace import Trace, as_one_run


class Families(NamedTuple):
    """Which trace started which.

    Attributes:
        known: The ids of all traces.
        started: The sub-agents' traces, by the id of the one that started them.
    """

    known: frozenset[str]
    started: Mapping[str, Sequence[Trace]]

    def members(self, trace: Trace) -> list[Trace]:
        """Return a trace, then those of its sub-agents and theirs, each once."""
        found = {trace.id: trace}
        waiting = [trace]
        while waiting:
            for child in self.started.get(waiting.pop().id, ()):
                if child.id not in found:
                    found[child.id] = child
                    waiting.append(child)
        return list(found.values())


class Choice(NamedTuple):
    """Which traces are wanted.

    Attributes:
        where: Of stores, only traces for which this SQL holds.
        has_sub_agents: The traces of sub-agents too.
        collectors: Who read files.
        families: Which trace started which, to grade runs with their sub-agents' as one; None to
            grade each trace by itself.
    """

    where: str | None
    has_sub_agents: bool
    collectors: tuple[Collector, ...]
    families: Families | None = None


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
    if choice.families is not None:
        yield from _whole_runs(source, choice, choice.families)
        return
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


def read_families(sources: Sequence[TraceSource], choice: Choice) -> Families:
    """Return which trace started which of all those in the sources."""
    known = set[str]()
    started: dict[str, list[Trace]] = {}
    for source in sources:
        for item in found_runs(source, choice._replace(has_sub_agents=True)):
            if isinstance(item, Run):
                known.add(item.trace.id)
                if item.trace.parent is not None:
                    started.setdefault(item.trace.parent.trace_id, []).append(item.trace)
    return Families(frozenset(known), started)


def _whole_runs(
    source: TraceSource, choice: Choice, families: Families
) -> Iterator[Run | Unread | None]:
    """Yield each run with what its sub-agents did, and what cannot be read.

    A sub-agent whose run is in none of the sources is left out, unless the user named its file.
    """
    for item in found_runs(source, choice._replace(families=None, has_sub_agents=True)):
        if not isinstance(item, Run):
            yield item
            continue
        parent = item.trace.parent
        if parent is None or (parent.trace_id not in families.known and source.is_named):
            yield item._replace(trace=as_one_run(families.members(item.trace)))
        elif parent.trace_id not in families.known:
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

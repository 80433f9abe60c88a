"""How `--trace ID` chooses a trace, and what a verb calls the traces to choose from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, Generic, TypeVar

if TYPE_CHECKING:
    from tracedance_sdk.store import Meant
    from tracedance_sdk.trace import Trace

T = TypeVar("T")

_MOST_KEPT: Final = 4
_UNNAMED: Final = "agent"
"""The name of an agent that was given none."""


class Choice(Generic[T]):
    """Finds the one trace that a user means among many, without keeping the others.

    A whole id means its trace; else an id at the source, else the beginning of an id, if only one
    trace has it.

    Args:
        wanted: What the user gave.
    """

    def __init__(self, wanted: str) -> None:
        self._wanted = wanted
        self._found: dict[int, dict[str, T]] = {}

    def offer(self, trace: Trace, item: T) -> None:
        """Look at a trace; `item` is what `found` returns when it is the one."""
        from tracedance_sdk.store import Meant, rank_of

        rank = rank_of(trace, self._wanted)
        if rank is not None:
            self.add(Meant(rank, trace.id), item)

    def add(self, meant: Meant, item: T) -> None:
        """Take a trace that is known to be meant in some way."""
        same = self._found.setdefault(meant.rank, {})
        if len(same) < _MOST_KEPT:
            same.setdefault(meant.trace_id, item)

    def found(self) -> T | None:
        """Return what was offered for the trace that is meant; None when there is none.

        Raises:
            InvalidOption: Several are; the message names the first of them.
        """
        from tracedance_sdk.errors import InvalidOption
        from tracedance_sdk.store import PREFIX, ambiguous

        if not self._found:
            return None
        rank = min(self._found)
        items = self._found[rank]
        if len(items) > 1:
            raise InvalidOption(ambiguous(self._wanted, list(items), is_prefix=rank == PREFIX))
        return next(iter(items.values()))


def short_ids(ids: Iterable[str], *, least: int = 8) -> dict[str, str]:
    """Return the beginning of each id that no other of them has, and at least so much of it."""
    wanted = sorted(set(ids))
    found: dict[str, str] = {}
    for place, name in enumerate(wanted):
        beside = wanted[max(0, place - 1) : place] + wanted[place + 1 : place + 2]
        length = least
        while any(other.startswith(name[:length]) for other in beside) and length < len(name):
            length += 1
        found[name] = name[:length]
    return found


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
    spoken = [agent_and_task(trace) for trace in traces]
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


def agent_and_task(trace: Trace) -> str:
    """Return who a trace is of and what it is about, as far as that is known."""
    agent = "" if trace.agent.name == _UNNAMED else trace.agent.name
    return "/".join(name for name in (agent, trace.task_id) if name)

"""A run and its sub-agents' runs, each with a trace of its own, looked at as one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.trace.fidelity import APART, assess
from tracedance_sdk.trace.given import require_trace
from tracedance_sdk.trace.model import Call, Note, Trace, Turn


def as_one_run(traces: Iterable[Trace]) -> Trace:
    """Return a run's trace with what its sub-agents did in it.

    A sub-agent's turns and calls stand behind the turn whose call started it, else by time. What
    it was told, and turns that it was only shown, are left out: they are others' words. Everything
    else, such as the states and the outcome, is that of the run itself. Changes of state that were
    recorded in sub-agents' runs are not known to be the run's, and are left out.

    Args:
        traces: Of one run, in any order, such as ``recorder.traces``.

    Returns:
        A trace with the id of the one that no other one of them started. Its fidelity still notes
        as ``sub_agents_apart`` how many sub-agents' traces are lacking.

    Raises:
        InvalidOption: None, something that is no trace, or traces of several runs.

    Example:
        >>> def step(name):
        ...     call = {"index": 0, "id": name, "name": name}
        ...     return {"index": 0, "role": "assistant", "origin": "agent", "calls": [call]}
        >>> clerk = Trace.model_validate({"id": "a", "turns": [step("hand_over")]})
        >>> told = {"id": "b", "parent": {"trace_id": "a", "call_id": "hand_over"}}
        >>> bookkeeper = Trace.model_validate({**told, "turns": [step("refund")]})
        >>> [call.name for call in as_one_run([clerk, bookkeeper]).actions]
        ['hand_over', 'refund']
    """
    listed = [require_trace(trace) for trace in traces]
    top = _top(listed)
    children: dict[str, list[Trace]] = {}
    for trace in listed:
        if trace.parent is not None and trace is not top:
            children.setdefault(trace.parent.trace_id, []).append(trace)
    turns: list[Turn] = []
    n_calls = 0
    for turn in _turns(top, children):
        calls = tuple(
            call.model_copy(update={"index": n_calls + position})
            for position, call in enumerate(turn.calls)
        )
        n_calls += len(calls)
        turns.append(turn.model_copy(update={"index": len(turns), "calls": calls}))
    tools = {tool.name: tool for trace in reversed(listed) for tool in trace.tools}
    whole = top.model_copy(update={"turns": tuple(turns), "tools": tuple(tools.values())})
    return assess(whole, notes=_notes(listed, n_known=len(listed) - 1))


def _top(traces: Sequence[Trace]) -> Trace:
    ids = {trace.id for trace in traces}
    tops = [trace for trace in traces if trace.parent is None or trace.parent.trace_id not in ids]
    if len(tops) == 1 and len(ids) == len(traces):
        return tops[0]
    if not traces:
        raise InvalidOption("no traces; give those of one run, such as recorder.traces")
    names = ", ".join(repr(trace.id) for trace in (tops or traces)[:3])
    raise InvalidOption(
        f"{len(traces)} traces are not those of one run with its sub-agents ({names} ...); "
        "grade each run by itself"
    )


def _turns(trace: Trace, children: dict[str, list[Trace]]) -> Iterator[Turn]:
    """Yield the turns of a trace with those of its sub-agents in their places."""
    places: dict[int, list[Trace]] = {}
    for child in children.get(trace.id, ()):
        places.setdefault(_place(trace, child), []).append(child)
    for position, turn in enumerate([None, *trace.turns]):
        if turn is not None:
            yield turn
        for child in places.get(position, ()):
            yield from (_without_state(turn) for turn in _turns(child, children) if _is_own(turn))


def _place(trace: Trace, child: Trace) -> int:
    """Return how many turns of a trace stand before what its sub-agent did."""
    call_id = None if child.parent is None else child.parent.call_id
    for position, turn in enumerate(trace.turns, start=1):
        if call_id is not None and any(call.id == call_id for call in turn.calls):
            return position
    if child.started_at is None:
        return len(trace.turns)
    times = [turn.started_at for turn in trace.turns]
    return sum(time is None or time <= child.started_at for time in times)


def _is_own(turn: Turn) -> bool:
    return turn.role == "assistant" and not turn.copied_context


def _without_state(turn: Turn) -> Turn:
    if all(call.state_change is None for call in turn.calls):
        return turn
    calls: tuple[Call, ...] = tuple(
        call.model_copy(update={"state_change": None}) for call in turn.calls
    )
    return turn.model_copy(update={"calls": calls})


def _notes(traces: Sequence[Trace], *, n_known: int) -> Iterator[Note]:
    """Yield what only the sources could tell; places in the single traces are none in the whole."""
    n_apart = 0
    for trace in traces:
        for item in trace.fidelity.notes:
            if item.kind == APART:
                n_apart += item.count
            else:
                yield Note(kind=item.kind, count=item.count)
    if n_apart > n_known:
        yield Note(kind=APART, count=n_apart - n_known)

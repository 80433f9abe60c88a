"""Where in a trace a model takes the next turn, and whether what it would be shown is whole."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Literal, NamedTuple

from tracedance_sdk.errors import InvalidOption, shown
from tracedance_sdk.formats import complete_tools, tool_table
from tracedance_sdk.llm import Context, Settings
from tracedance_sdk.replay.instances import Instance
from tracedance_sdk.trace import Note, Trace, Turn, assess, with_tools

ToolLimit = Literal["recorded", "known", "inferred"]

_ORIGINS: Final[tuple[ToolLimit, ...]] = ("recorded", "known", "inferred")
_LACKING: Final = ("content_off", "result_missing", "result_truncated", "value_elsewhere")
_MOST_TOLD: Final = 12


class DecisionPoint(NamedTuple):
    """A place in a trace where a model takes the turn that was another's.

    Attributes:
        trace: The trace, its tools no weaker than was asked for.
        turn: Index of the turn that is taken anew.
        instance_id: Of the instance that it is of; None for a trace alone.
        group: The leave-out unit; None for that of the trace.
    """

    trace: Trace
    turn: int
    instance_id: str | None = None
    group: str | None = None

    @property
    def context(self) -> Context:
        """What the model is shown."""
        return Context.of(self.trace, self.turn)

    @property
    def tools_origin(self) -> ToolLimit | None:
        """The weakest origin of its tools; None when it has none."""
        origins = {tool.origin for tool in self.trace.tools}
        return max(origins, key=_ORIGINS.index, default=None)


class Exclusion(NamedTuple):
    """A trace, or a place in one, that is not used.

    Attributes:
        trace_id: Of the trace.
        turn: Index of the turn; None for the trace as a whole.
        reason: In a few words that are the same for all of its kind.
        detail: What exactly, in one line.
        instance_id: Of the instance that it is of; None for a trace alone.
    """

    trace_id: str
    turn: int | None
    reason: str
    detail: str = ""
    instance_id: str | None = None


class Cut(NamedTuple):
    """Where traces are cut. By default before the last turn that the model wrote.

    Attributes:
        turn: Before the turn with this index.
        before_call: Before each turn that calls this tool.

    Raises:
        InvalidOption: Both are given; raised by `decision_points`.
    """

    turn: int | None = None
    before_call: str | None = None


def decision_points(
    trace: Trace, cut: Cut | None = None, *, tools: ToolLimit = "inferred"
) -> Iterator[DecisionPoint | Exclusion]:
    """Yield the places of a trace where a model can take the turn, and why others cannot be used.

    Args:
        trace: The trace.
        cut: Where.
        tools: The weakest origin that the definitions of tools may have.

    Raises:
        InvalidOption: The cut says two things at once.
    """
    where = cut or Cut()
    if where.turn is not None and where.before_call is not None:
        raise InvalidOption("say where to cut once: at a turn, or before a call")
    turns = _turns(trace, where)
    if isinstance(turns, Exclusion):
        yield turns
        return
    yield from _checked(trace, turns, tools)


def instance_point(
    instance: Instance, *, tools: ToolLimit = "inferred"
) -> DecisionPoint | Exclusion:
    """Return the place that an instance names, or why it cannot be used.

    Args:
        instance: The instance.
        tools: The weakest origin that the definitions of tools may have.
    """
    (found,) = _checked(instance.trace, [instance.turn], tools)
    if isinstance(found, Exclusion):
        return found._replace(instance_id=instance.id)
    return found._replace(instance_id=instance.id, group=instance.group)


def offered_tools(trace: Trace, limit: ToolLimit = "inferred") -> Trace:
    """Return a trace with the definitions of tools that a model is offered.

    Args:
        trace: The trace.
        limit: The weakest origin that they may have.
    """
    completed = complete_tools(trace, table=tool_table(), limit=limit)
    allowed = _ORIGINS[: _ORIGINS.index(limit) + 1]
    kept = [tool for tool in completed.tools if tool.origin in allowed]
    return with_tools(completed, kept) if len(kept) < len(completed.tools) else completed


def recorded_settings(turn: Turn, settings: Settings) -> Settings:
    """Return settings with the temperature and top_p that a recorded turn was sampled with."""
    given = turn.settings or {}
    found: dict[str, Any] = {
        key: float(value)
        for key in ("temperature", "top_p")
        if isinstance(value := given.get(key), (int, float)) and not isinstance(value, bool)
    }
    return settings._replace(**found)


def _checked(
    trace: Trace, turns: Sequence[int], tools: ToolLimit
) -> Iterator[DecisionPoint | Exclusion]:
    """Yield the places before some turns, or what they lack."""
    limited = offered_tools(trace, tools)
    unread = _known_to_the_reader(trace)
    for turn in turns:
        why_not = _lacks_tools(limited, tools) or _lacks_content(trace, turn, unread)
        if why_not is None:
            yield DecisionPoint(limited, turn)
        else:
            yield Exclusion(trace.id, turn, *why_not)


def _turns(trace: Trace, cut: Cut) -> list[int] | Exclusion:
    own = [turn for turn in trace.turns if turn.role == "assistant" and not turn.synthetic]
    if cut.turn is not None:
        if any(turn.index == cut.turn for turn in own):
            return [cut.turn]
        told = _whose(trace, cut.turn, [turn.index for turn in own])
        return Exclusion(trace.id, cut.turn, "no turn of the model's there", told)
    if cut.before_call is not None:
        found = [
            turn.index for turn in own if any(call.name == cut.before_call for call in turn.calls)
        ]
        return found or Exclusion(trace.id, None, "no call of that tool", _called(own, cut))
    return [own[-1].index] if own else Exclusion(trace.id, None, "no turn of the model's")


def _whose(trace: Trace, asked: int, own: Sequence[int]) -> str:
    """Say whose turn was asked for, and which turns are the model's."""
    if asked >= len(trace.turns):
        last = len(trace.turns) - 1
        told = f"turn {asked} is not there: the last is {last}" if trace.turns else "it has no turn"
    elif trace.turns[asked].role == "assistant":
        told = f"turn {asked} was made outside any model turn"
    else:
        told = f"turn {asked} is the {trace.turns[asked].role}'s"
    return f"{told}; the model's turns are {_listed(map(str, own))}" if own else told


def _called(own: Sequence[Turn], cut: Cut) -> str:
    """Say which tool is not called, and which are; those of a like name first."""
    called = dict.fromkeys(call.name for turn in own for call in turn.calls)
    wanted = cut.before_call or ""
    near = difflib.get_close_matches(wanted, called, n=3)
    names = [*near, *(name for name in called if name not in near)]
    there = f"called are {_listed(names)}" if names else "it calls none"
    return f"the model does not call {shown(wanted)}; {there}"


def _listed(names: Iterable[str]) -> str:
    told = list(names)
    more = f", ... ({len(told):,} in all)" if len(told) > _MOST_TOLD else ""
    return ", ".join(told[:_MOST_TOLD]) + more


def _lacks_tools(trace: Trace, limit: ToolLimit) -> tuple[str, str] | None:
    """Return why the tools that the model would be offered are not those of the run."""
    called = {call.name for call in trace.actions if call.bound_by != "synthetic"}
    told = [tool for tool in trace.tools if tool.parameters is not None or tool.description]
    lacking = sorted(called - {tool.name for tool in told})
    # Where definitions were recorded, a tool without one may be made up by the model.
    if not lacking or any(tool.origin == "recorded" for tool in told):
        return None
    return f"tools without {limit} definitions", ", ".join(lacking[:5])


def _lacks_content(trace: Trace, turn: int, unread: list[Note]) -> tuple[str, str] | None:
    """Return what the recorded model saw before a turn and the trace does not hold."""
    taken = trace.turns[turn : turn + 1]
    if not taken or taken[0].role != "assistant":
        taken = (Turn(index=turn, role="assistant", origin="agent"),)
    start = trace.model_copy(update={"turns": (*trace.turns[:turn], *taken)})
    fidelity = assess(start, notes=unread).fidelity
    if "next_turn" in fidelity.fit_for:
        return None
    kinds = [note for note in fidelity.notes if note.kind in _LACKING]
    reason = f"incomplete: {kinds[0].kind}" if kinds else "incomplete"
    return reason, "; ".join(f"{n.kind} x{n.count} {', '.join(n.places)}".strip() for n in kinds)


def _known_to_the_reader(trace: Trace) -> list[Note]:
    """Return the notes that a look at the trace alone would not give."""
    seen = assess(trace).fidelity
    return [note for note in trace.fidelity.notes if seen.count(note.kind) < note.count]

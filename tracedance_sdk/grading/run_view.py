"""A trace as graders look at it: what they all need is worked out once."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final

from tracedance_sdk.grading.grades import Evidence, shown
from tracedance_sdk.grading.matching import reported
from tracedance_sdk.grading.state_history import StateHistory
from tracedance_sdk.trace import (
    APART,
    UNKNOWN,
    Call,
    Json,
    Trace,
    Turn,
    call_key,
    is_masked,
    is_opaque,
)

_OTHERS: Final = {"tool": "inside another call", "user": "by the user"}


class RunView:
    """One trace, with its actions numbered and its states worked out when asked for.

    Args:
        trace: The trace.
        initial_state: Of the task, used where the trace does not hold its own.

    Attributes:
        actions: The agent's own calls, in order.
        done: Every call that was made in this run but those of a simulated user, in order.
    """

    def __init__(self, trace: Trace, *, initial_state: Json = UNKNOWN) -> None:
        self.trace = trace
        self.calls = trace.calls
        self.actions = trace.actions
        self.done = tuple(
            call
            for turn in trace.turns
            for call in turn.calls
            if call.requested_by == "tool"
            or (call.requested_by == "agent" and (call.made_here or not turn.copied_context))
        )
        known = trace.initial_state is not UNKNOWN
        self.initial_state = trace.initial_state if known else initial_state
        self.final_state = trace.final_state
        self._keys: dict[int, str | None] = {}
        self._numbers = {call.index: number for number, call in enumerate(self.actions, 1)}

    @property
    def has_apart(self) -> bool:
        """Whether sub-agents did something that is in other traces."""
        return self.trace.fidelity.count(APART) > 0

    @cached_property
    def replies(self) -> tuple[Turn, ...]:
        """The agent's turns that a model wrote, in order."""
        turns = self.trace.turns
        return tuple(turn for turn in turns if turn.role == "assistant" and not turn.synthetic)

    def number(self, call: Call) -> int | None:
        """Return the call's position among the actions, from 1; None when it is no action."""
        return self._numbers.get(call.index)

    def label(self, call: Call) -> str:
        """Return how a sentence names a call: ``action 4 (select_contact)``."""
        number = self._numbers.get(call.index)
        if number is not None:
            return f"action {number} ({call.name})"
        inside = _OTHERS.get(call.requested_by, "in an earlier run")
        return f"call {call.index + 1} ({call.name}, {inside})"

    def evidence(
        self,
        what: str,
        *,
        call: Call | None = None,
        path: str | None = None,
        expected: Json = UNKNOWN,
        found: Json = UNKNOWN,
    ) -> Evidence:
        """Return evidence about a call, or about the run as a whole."""
        place: dict[str, Any] = {}
        if call is not None:
            place = {"call_id": call.id, "action": self._numbers.get(call.index)}
        return Evidence(
            what=what,
            path=path,
            expected=shown(reported(expected)),
            found=shown(reported(found)),
            **place,
        )

    def key(self, call: Call) -> str | None:
        """Return the call's canonical key; None where parts of its arguments are not observed."""
        if call.index not in self._keys:
            self._keys[call.index] = _key(call)
        return self._keys[call.index]

    @cached_property
    def states(self) -> StateHistory:
        """The environment's state before and after each call."""
        return StateHistory(self.initial_state, self.calls)


def _key(call: Call) -> str | None:
    if call.arguments is UNKNOWN:
        return None
    key = call_key(call.name, call.arguments)
    if is_masked(key) or '"$blob"' in key:
        return None
    return None if '"$type"' in key and holds_opaque(call.arguments) else key


def holds_opaque(value: Json) -> bool:
    """Whether a value holds a stub, at any depth, that does not tell what it stands for."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            if "$type" in item and is_opaque(item):
                return True
            pending.extend(item.values())
        elif isinstance(item, (list, tuple)):
            pending.extend(item)
    return False

"""Small conversations, written as lists of calls with their answers."""

from __future__ import annotations

from typing import Any, Final

from tracedance_sdk.replay.recordings import Conversation, RecordingIndex, conversation_of
from tracedance_sdk.trace import Call, Effect, ErrorInfo, Outcome, Result, Text, Trace, Turn

EFFECTS: Final[dict[str, Effect]] = {
    "get_order": "read",
    "find_orders": "read",
    "cancel_order": "write",
    "move_order": "write",
    "hand_over": "terminal",
    "add": "pure",
}
Step = tuple[str, dict[str, Any], Any]


class Failed(str):
    """The text of an answer that is an error."""

    __slots__ = ()


def effect_of(name: str) -> Effect:
    """Return what a tool of these conversations does; others may write."""
    return EFFECTS.get(name, "unknown")


def trace_of(identity: str, group: str, *steps: Step, begins: str | None = None) -> Trace:
    """Return a trace of these calls; an answer of None is not recorded."""
    calls = tuple(
        Call(index=n, id=f"c{n}", name=name, arguments=arguments, result=_result(answer))
        for n, (name, arguments, answer) in enumerate(steps)
    )
    asked = Turn(index=0, role="user", origin="human", started_at=begins)  # type: ignore[arg-type]
    answered = Turn(index=1, role="assistant", origin="agent", calls=calls)
    return Trace(id=identity, group=group, turns=(asked, answered))


def conversation(
    identity: str, group: str, *steps: Step, begins: str | None = None
) -> Conversation:
    """Return the recordings of such a trace."""
    return conversation_of(trace_of(identity, group, *steps, begins=begins), effect_of)


def index_of(*conversations: Conversation) -> RecordingIndex:
    """Return an index of them."""
    return RecordingIndex(conversations)


CANCEL: Final[Step] = ("cancel_order", {"order": "W-1001", "refund": 20}, "cancelled")
LOOK: Final[Step] = ("get_order", {"order": "W-1001"}, "open")


def recording(
    identity: str, *, success: bool | None = True, steps: tuple[Step, ...] = (LOOK, CANCEL)
) -> Trace:
    """Return such a trace that somebody opens, with production's verdict."""
    trace = trace_of(identity, f"g-{identity}", *steps)
    asked = trace.turns[0].model_copy(update={"content": (Text(text="Please cancel W-1001."),)})
    turns = (asked, *trace.turns[1:])
    return trace.model_copy(update={"turns": turns, "outcome": Outcome(success=success)})


def _result(answer: Any) -> Result | None:
    if answer is None:
        return None
    if isinstance(answer, Failed):
        return Result(ok=False, error=ErrorInfo(type="Error", message=str(answer)))
    return Result(ok=True, content=answer)

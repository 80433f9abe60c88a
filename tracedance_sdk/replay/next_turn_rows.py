"""Next turns as rows of a result set: what was answered, what is missing, what the checks say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from tracedance_sdk.grading import ResultRow, Subject, TaskSpec, evaluate, rows_of
from tracedance_sdk.replay.argument_checks import bad_arguments
from tracedance_sdk.replay.next_turn import TakenTurn
from tracedance_sdk.trace import Json, Result, Trace, Turn, assess, plain

GRADER: Final = "next_turn"
"""Who writes the row that holds the reply: it has neither verdict nor score."""


def rows_of_turn(
    taken: TakenTurn, *, model: str, spec: TaskSpec | None = None
) -> Iterator[ResultRow]:
    """Yield a row with the reply, and one with what a specification says of it.

    The row of the reply has fields of its own: ``reply``, the turn as in a trace, also where it is
    no answer; ``missing``, the kind, where it is none; ``unknown_tools``, the names that it calls
    and that were not offered; ``bad_arguments``, its calls against their tools' schemas (see
    `bad_arguments`); ``tools_origin``. A missing reply is never graded.

    Args:
        taken: The turn.
        model: Name of the model that took it.
        spec: Criteria for the turn alone: what it says and which calls it asks for.
    """
    point, reply = taken.point, taken.reply
    trace, missing = point.trace, reply.missing
    common: dict[str, Any] = {
        "subject": Subject(trace_id=trace.id, turn=point.turn, instance_id=point.instance_id),
        "sample": taken.sample,
        "group": point.group or trace.group or trace.task_id,
        "task_id": trace.task_id,
        "model": model,
    }
    why = None if missing is None else str(missing)
    own: dict[str, Any] = {"tools_origin": point.tools_origin}
    if missing is not None:
        own["missing"] = missing.kind
    if reply.turn is not None:
        own |= {
            "reply": plain(reply.turn),
            "unknown_tools": unknown_tools(trace, reply.turn),
            "bad_arguments": bad_arguments(trace, reply.turn),
        }
    usage: dict[str, Json] | None = None
    if reply.usage is not None:
        usage = plain(reply.usage)
    yield ResultRow(**common, grader=GRADER, missing_reason=why, usage=usage, **_given(own))
    if spec is None:
        return
    if missing is not None or reply.turn is None:
        yield ResultRow(
            **common,
            grader=f"spec:{spec.id}",
            missing_reason=f"no answer: {why}",
            spec_sha256=spec.digest,
            **_given({"missing": own.get("missing")}),
        )
        return
    for row in rows_of(evaluate(turn_alone(trace, reply.turn), spec), sample=taken.sample):
        yield row.model_copy(update=common)


def turn_alone(trace: Trace, turn: Turn) -> Trace:
    """Return a trace that holds one turn alone, so that what others did before is not graded.

    Nothing in it was carried out. Criteria ask what the turn does, so its calls count as made;
    what came of them is unknown, and criteria on that are inconclusive.
    """
    calls = tuple(call.model_copy(update={"result": Result()}) for call in turn.calls)
    alone = Trace(
        id=trace.id,
        session_id=trace.session_id,
        group=trace.group,
        task_id=trace.task_id,
        agent=trace.agent,
        system_prompt=trace.system_prompt,
        tools=trace.tools,
        turns=(turn.model_copy(update={"calls": calls}),),
    )
    return assess(alone)


def unknown_tools(trace: Trace, turn: Turn) -> list[str]:
    """Return the names that a turn calls and that were not offered, each once."""
    offered = {tool.name for tool in trace.tools}
    return sorted({call.name for call in turn.calls} - offered)


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if value not in (None, [])}

"""Small traces for grading tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracedance_sdk.grading import Report, Verdict, evaluate
from tracedance_sdk.trace import UNKNOWN, Call, ErrorInfo, Json, Result, Text, Trace, Turn

OK = Result(ok=True)
FAILED = Result(ok=False, error=ErrorInfo(type="ValueError", message="refused"))
TIMED_OUT = Result(ok=False, error=ErrorInfo(type="TimeoutError", message="no answer"))
UNCLEAR = Result(ok=None)
CUT_OFF = Result(interrupted=True)


def action(name: str, arguments: Json = UNKNOWN, *, result: Result = OK, **fields: Any) -> Call:
    """Return a call whose place is set by `run`."""
    given = {} if arguments is UNKNOWN and "unknown" not in fields else arguments
    fields.pop("unknown", None)
    fields = {"id": "", **fields}
    return Call(index=0, name=name, arguments=given, result=result, **fields)


def run(
    *actions: Call | str,
    initial: Json = UNKNOWN,
    final: Json = UNKNOWN,
    replies: Sequence[str] = (),
    **fields: Any,
) -> Trace:
    """Return a trace of actions in one turn, with ids "1", "2", ..., and then the replies."""
    calls = []
    for index, item in enumerate(actions):
        call = action(item) if isinstance(item, str) else item
        calls.append(call.model_copy(update={"index": index, "id": call.id or str(index + 1)}))
    acting = Turn(index=0, role="assistant", origin="agent", calls=tuple(calls), synthetic=True)
    turns = [
        Turn(index=i, role="assistant", origin="agent", content=(Text(text=text),))
        for i, text in enumerate(replies, 1)
    ]
    return Trace(
        id="trace",
        turns=(acting, *turns),
        initial_state=initial,
        final_state=final,
        **fields,
    )


def verdict(trace: Trace, *criteria: Any) -> Verdict:
    """Return the verdict on a trace by a list of criteria."""
    return evaluate(trace, criteria).verdict


def graded(trace: Trace, **criterion: Any) -> Report:
    """Return the report on a trace by one criterion."""
    return evaluate(trace, [criterion])


def texts(report: Report) -> list[str]:
    """Return what the evidence of a report says."""
    return [item.what for grade in report.grades for item in grade.evidence]

"""What `tracedance evaluate` says beside its report: what was left out, what did not apply."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tracedance_sdk.cli.complaints import complain
from tracedance_sdk.cli.evaluation_judge import notes_on_judge
from tracedance_sdk.cli.evaluation_output import answers_of
from tracedance_sdk.cli.grading_jobs import Graded, GradingTools

_MOST_PROBLEMS: Final = 20
_MANY: Final = 2
"""Traces of a task from which on a rule that is about none of them is worth a note."""


def say_notes(tools: GradingTools, graded: Sequence[Graded], *, n_left_out: int) -> None:
    """Say what a reader of the report should know.

    Args:
        tools: By what was graded.
        graded: What was.
        n_left_out: Traces of sub-agents that were not.
    """
    if n_left_out:
        complain(_left_out(n_left_out))
    _mention_foreign_tasks(graded, tools.plan.spec)
    _mention_unmatched(graded)
    _mention_judge(tools, graded)


def say_nothing_graded(
    graded: Sequence[Graded], paths: Sequence[str], *, trace_id: str | None, n_left_out: int
) -> None:
    """Say why nothing could be graded."""
    if n_left_out:
        complain(_left_out(n_left_out))
    elif not graded:
        wanted = "" if trace_id is None else f" with the id {trace_id!r}"
        complain(f"no traces{wanted} in {', '.join(map(repr, paths))}")
    for item in graded[:_MOST_PROBLEMS]:
        complain(item.problem or "not graded")
    if len(graded) > _MOST_PROBLEMS:
        complain(f"and {len(graded) - _MOST_PROBLEMS} more that could not be graded")


def _left_out(number: int) -> str:
    many, them = ("trace", "it") if number == 1 else ("traces", "them")
    return (
        f"note: {number} sub-agent {many} not graded; --sub-agents grades {them} too, "
        "--together as part of the runs that started them"
    )


def _mention_foreign_tasks(graded: Sequence[Graded], spec: Path | None) -> None:
    foreign = [item.foreign_task for item in graded if item.foreign_task is not None]
    if foreign:
        many = "1 trace is" if len(foreign) == 1 else f"{len(foreign)} traces are"
        such_as = "" if len(set(foreign)) == 1 else "such as "
        complain(
            f"note: {many} of another task ({such_as}{foreign[0]!r}) than the one in "
            f"{str(spec)!r}; graded by it all the same"
        )


def _mention_unmatched(graded: Sequence[Graded]) -> None:
    """Say which rules are about tools that none of several traces has or calls."""
    by_task: dict[str, list[Graded]] = {}
    for item in graded:
        if item.spec_id is not None:
            by_task.setdefault(item.spec_id, []).append(item)
    for task, items in by_task.items():
        rest = set(items[0].unmatched).intersection(*(item.unmatched for item in items))
        for rule in [rule for rule in dict.fromkeys(items[0].unmatched) if rule in rest]:
            if len(items) >= _MANY:
                complain(
                    f"note: task {task!r}, {rule}: no tool or call of this name in any of "
                    f"{len(items)} traces, so the rule applied to nothing"
                )


def _mention_judge(tools: GradingTools, graded: Sequence[Graded]) -> None:
    for note in notes_on_judge(tools.judge, answers_of(graded)):
        complain(note)
    if tools.judge.calibration is not None and not any(item.lets_judge_count for item in graded):
        complain("note: no task here has 'judge: {gate: true}', so --calibration changes nothing")

"""Why a trace does not pass, in as few lines as say it.

The text has up to five blocks: the verdict; one line for each criterion that does not pass, the
worst first; the calls with a finding, expected above done; the places of the state that differ,
expected above found; the file of the kept trace.
"""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from tracedance_sdk.grading import Criterion, Evidence, Grade, Report
from tracedance_sdk.pytest_plugin.call_differences import call_lines, call_of, is_sequence
from tracedance_sdk.pytest_plugin.short_values import CUT, WIDTH, short_json, short_pair
from tracedance_sdk.report import in_one_line
from tracedance_sdk.trace import UNKNOWN, Json, Trace

_MOST_PLACES: Final = 12
_MOST_FURTHER: Final = 5


def failure_text(
    report: Report,
    trace: Trace,
    *,
    failing: Sequence[Grade],
    criteria: Mapping[str, Criterion],
    kept: str | None,
) -> str:
    """Return the text of the assertion error.

    Args:
        report: Of the trace.
        trace: What was graded.
        failing: The grades that are not tolerated.
        criteria: The criteria by id, as far as the specification is data.
        kept: The kept trace's file; None when there is none.
    """
    ranked = sorted(failing, key=lambda grade: grade.verdict.rank)
    blocks = [
        [_verdict_line(report, ranked)],
        [line for grade in ranked for line in _grade_lines(grade, criteria, trace)],
        list(call_lines(ranked, criteria, trace)),
        list(_state_lines(ranked, trace)),
        [] if kept is None else [f"trace kept: {kept}", f"look at it: tracedance show {kept}"],
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def _verdict_line(report: Report, failing: Collection[Grade]) -> str:
    task = "" if report.task_id is None else f" of task {report.task_id!r}"
    if not failing:
        return f"verdict {report.verdict.value}{task}: {in_one_line('; '.join(report.notes))}"
    verb = "does" if len(failing) == 1 else "do"
    total = len(report.grades)
    return (
        f"verdict {report.verdict.value}: {len(failing)} of {total} criteria{task} {verb} not pass"
    )


def _grade_lines(grade: Grade, criteria: Mapping[str, Criterion], trace: Trace) -> Iterator[str]:
    label = f"{grade.verdict.value:<8} "
    name = f"{grade.criterion} ({grade.name})" if grade.name else grade.criterion
    yield from _wrapped(label, f"{name}: {grade.reason}")
    if is_sequence(criteria.get(grade.criterion)):
        return
    further = [item for item in grade.evidence[1:] if not _is_shown_below(item, trace)]
    for evidence in further[:_MOST_FURTHER]:
        yield from _wrapped(" " * len(label), evidence.what)
    if len(further) > _MOST_FURTHER:
        yield f"{' ' * len(label)}{CUT} {len(further) - _MOST_FURTHER} more"


def _wrapped(label: str, text: str) -> list[str]:
    return textwrap.wrap(
        in_one_line(text[: 8 * WIDTH]),
        WIDTH,
        initial_indent=label,
        subsequent_indent=" " * len(label),
        max_lines=3,
        placeholder=f" {CUT}",
    )


def _is_shown_below(evidence: Evidence, trace: Trace) -> bool:
    return evidence.path is not None or call_of(evidence, trace) is not None


def _state_lines(failing: Sequence[Grade], trace: Trace) -> Iterator[str]:
    places: dict[str, tuple[Json, Json]] = {}
    for grade in failing:
        for evidence in grade.evidence:
            if evidence.path is not None and call_of(evidence, trace) is None:
                places.setdefault(evidence.path, (evidence.expected, evidence.found))
    if places:
        yield "state (- expected, + found)"
    for path, (expected, actual) in list(places.items())[:_MOST_PLACES]:
        left, right = short_pair(expected, actual)
        yield f"  {in_one_line(path) or '(the whole state)'}"
        yield f"  - {'(nothing)' if left is UNKNOWN else short_json(left)}"
        yield f"  + {'(nothing)' if right is UNKNOWN else short_json(right)}"
    if len(places) > _MOST_PLACES:
        yield f"  {CUT} {len(places) - _MOST_PLACES} more places"

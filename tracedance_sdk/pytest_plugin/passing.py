"""What `assert_passes` decides: which grades a test does not tolerate, and what it says of them."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from os import PathLike
from typing import Final

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.grading import (
    Criteria,
    Criterion,
    Grade,
    Judge,
    Report,
    TaskRegistry,
    TaskSpec,
    Verdict,
    evaluate,
    load_spec,
    read_spec,
)
from tracedance_sdk.pytest_plugin.attempts import RUNNING
from tracedance_sdk.pytest_plugin.failure_text import failure_text
from tracedance_sdk.pytest_plugin.undecided import Undecided
from tracedance_sdk.trace import Trace, as_one_run, require_trace

_TOLERABLE: Final = frozenset(Verdict) - {Verdict.PASS}


def passed_or_error(
    given: Trace | Sequence[Trace],
    spec: Criteria,
    *,
    allow: Collection[str],
    judge: Judge | None,
) -> tuple[Report, AssertionError | None]:
    """Grade a trace, or a run's with those of its sub-agents, for the test that runs now.

    Returns:
        The report, and the error by which the test fails; None when it does not.

    Raises:
        InvalidSpec: The specification cannot be used.
        InvalidOption: An entry of `allow` is no verdict and no criterion of the specification.
    """
    family = list(given) if isinstance(given, (list, tuple)) else [require_trace(given)]
    trace = family[0] if len(family) == 1 else as_one_run(family)
    task = _read(spec, require_trace(trace))
    report = evaluate(trace, task, judge=judge)
    attempt = RUNNING[-1] if RUNNING else None
    own = next(item for item in family if item.id == trace.id)
    if attempt is not None:
        attempt.note_graded(own, report, sub_agents=[item for item in family if item is not own])
    failing = intolerable(report, [allow] if isinstance(allow, str) else allow)
    if not failing and (report.verdict is report.raw_verdict or report.verdict in allow):
        return report, None
    path = None if attempt is None else attempt.keep(own)
    kept = None if attempt is None or path is None else attempt.tell(path)
    criteria = _criteria_of(task)
    text = failure_text(report, trace, failing=failing, criteria=criteria, kept=kept)
    verdicts = {grade.verdict for grade in failing} or {report.verdict}
    failed = not verdicts.isdisjoint((Verdict.FAIL, Verdict.CRITICAL))
    return report, AssertionError(text) if failed else Undecided(text)


def _read(spec: Criteria, trace: Trace) -> Criteria:
    """Return a specification that is read once, where it has a form that must be read."""
    if isinstance(spec, (str, PathLike)):
        return load_spec(spec)
    if isinstance(spec, TaskRegistry) and trace.task_id is not None:
        return spec[trace.task_id]
    if isinstance(spec, Mapping):
        return read_spec(dict(spec), where="spec", versioned=False)
    return spec


def _criteria_of(spec: Criteria) -> dict[str, Criterion]:
    if not isinstance(spec, TaskSpec):
        return {}
    return {name: criterion for name, _, criterion in spec.listed()}


def intolerable(report: Report, allow: Collection[str]) -> list[Grade]:
    """Return the grades that are no pass and that `allow` does not cover; see `assert_passes`.

    Raises:
        InvalidOption: An entry of `allow` names nothing.
    """
    criteria = [grade.criterion for grade in report.grades]
    for entry in allow:
        if entry not in _TOLERABLE and not _names_criterion(entry, criteria):
            known = [*(verdict.value for verdict in sorted(_TOLERABLE)), *criteria]
            near = difflib.get_close_matches(entry, known, n=1)
            meant = f"; did you mean {near[0]!r}?" if near else ""
            raise InvalidOption(
                f"allow={entry!r} is no verdict ({', '.join(sorted(_TOLERABLE))}) and no criterion"
                f" of the specification ({', '.join(map(repr, criteria)) or 'it has none'}){meant}"
            )
    return [
        grade
        for grade in report.grades
        if grade.decides and grade.verdict is not Verdict.PASS and not _tolerates(allow, grade)
    ]


def _names_criterion(entry: str, criteria: Collection[str]) -> bool:
    name, _, verdict = entry.rpartition(":")
    return entry in criteria or (name in criteria and verdict in _TOLERABLE)


def _tolerates(allow: Collection[str], grade: Grade) -> bool:
    if grade.verdict in allow or f"{grade.criterion}:{grade.verdict}" in allow:
        return True
    return grade.verdict is not Verdict.CRITICAL and grade.criterion in allow

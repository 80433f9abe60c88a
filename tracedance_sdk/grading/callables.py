"""Plain functions as graders: what they return becomes grades, what they raise an error grade."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from typing import Any, Final, get_args

from tracedance_sdk.grading.grades import Grade, Identity, brief, error_grade
from tracedance_sdk.grading.plugin_graders import Grader
from tracedance_sdk.grading.verdicts import Severity, Verdict, worst
from tracedance_sdk.trace import Trace

TYPE: Final = "callable"
_THRESHOLD: Final = 0.5


def identity_of(grader: Grader, taken: set[str]) -> Identity:
    """Return how reports name a callable: by its attributes, else by its name in the code."""
    name = getattr(grader, "id", None) or getattr(grader, "__name__", type(grader).__name__)
    title = getattr(grader, "name", "")
    named: Severity | None = getattr(grader, "severity", None)
    return Identity(
        criterion=_free(str(name), taken),
        type=TYPE,
        name=title if isinstance(title, str) else "",
        severity=named if named in get_args(Severity) and named is not None else "major",
    )


async def ask_grader(grader: Grader, trace: Trace, identity: Identity) -> list[Grade]:
    """Call a grader with a trace and return its grades; one ``error`` grade when it fails.

    The grader gets a copy of its own, so that what it changes stays with it.
    """
    try:
        result: Any = grader(trace.model_copy(deep=True))
        if inspect.isawaitable(result):
            result = await result
        return _grades(result, identity, getattr(grader, "threshold", _THRESHOLD))
    except Exception as error:  # noqa: BLE001 - foreign code; its failure is a value
        return [error_grade(identity, failure_text(error))]


def contrary_grades(grades: list[Grade]) -> list[Grade]:
    """Return the grades of a grader whose requirement is not to hold.

    It holds when all its grades pass; what is unclear, or an error, stays so.
    """
    verdict = worst(grade.verdict for grade in grades)
    if verdict in (Verdict.INCONCLUSIVE, Verdict.ERROR):
        return grades
    holds = verdict is Verdict.PASS
    found = []
    for grade in grades:
        failing = Verdict.CRITICAL if grade.severity == "critical" else Verdict.FAIL
        what = "should not hold" if holds else "does not hold, as required"
        changed = {
            "verdict": failing if holds else Verdict.PASS,
            "score": float(not holds),
            "reason": f"{what}: {grade.reason}",
        }
        found.append(grade.model_copy(update=changed))
    return found


def failure_text(error: BaseException) -> str:
    """Return one line that says what a grader raised."""
    text = " ".join(str(error).split())
    return f"the grader raised {type(error).__name__}" + (f": {text[:500]}" if text else "")


def _grades(result: Any, identity: Identity, threshold: float) -> list[Grade]:
    if isinstance(result, Grade):
        return [_own(result, identity)]
    listed = isinstance(result, Sequence) and len(result) > 0
    if listed and all(isinstance(item, Grade) for item in result):
        taken: set[str] = set()
        grades = [_own(item, identity) for item in result]
        return [
            grade.model_copy(update={"criterion": _free(grade.criterion, taken)})
            for grade in grades
        ]
    return [_scored(result, identity, threshold)]


def _own(grade: Grade, identity: Identity) -> Grade:
    """Return a grade under the grader's name, so that ids stay unique in a report."""
    own = grade.criterion
    name = own if own.startswith(identity.criterion) else f"{identity.criterion}.{own}"
    return grade.model_copy(update={"criterion": name, "dimension": identity.dimension})


def _scored(result: Any, identity: Identity, threshold: float) -> Grade:
    if isinstance(result, bool):
        passed, score = result, float(result)
        reason = "holds" if passed else "does not hold"
    elif isinstance(result, (int, float)) and 0 <= result <= 1 and not math.isnan(result):
        passed, score = result >= threshold, float(result)
        reason = f"score {score:g}; at least {threshold:g} required"
    else:
        raise ValueError(
            f"returned {brief(result)}; return a bool, a score from 0 to 1, a Grade or a list"
        )
    failing = Verdict.CRITICAL if identity.severity == "critical" else Verdict.FAIL
    return Grade(
        criterion=identity.criterion,
        name=identity.name,
        dimension=identity.dimension,
        type=identity.type,
        verdict=Verdict.PASS if passed else failing,
        severity=identity.severity,
        score=score,
        reason=reason,
    )


def _free(name: str, taken: set[str]) -> str:
    number = 1
    while (found := name if number == 1 else f"{name}-{number}") in taken:
        number += 1
    taken.add(found)
    return found

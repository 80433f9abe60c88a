"""What the rows of two result sets measure: which lines a comparison has, and a row's value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Any, Final, Literal, NamedTuple

from tracedance_sdk.grading import ResultRow, Verdict
from tracedance_sdk.trace import Json

Measure = Literal["pass rate", "score"]

_OF_RUBRICS: Final = "rubric:"
_OF_JUDGES: Final = "judge:"
_OF_SPECS: Final = "spec:"
_ALL_SPECS: Final = "spec"
_PASSES: Final = {Verdict.PASS: 1.0, Verdict.FAIL: 0.0, Verdict.CRITICAL: 0.0}
_MOST_REASON: Final = 60


class LineName(NamedTuple):
    """What one line of a comparison is about.

    Attributes:
        grader: Who graded, as in the rows; ``spec`` for several tasks' specifications together.
        measure: ``pass rate``, or the mean ``score`` from 0 to 1.
    """

    grader: str
    measure: Measure


def is_spec(grader: str) -> bool:
    """Whether a grader is a specification, or the want of one."""
    return grader == _ALL_SPECS or grader.startswith(_OF_SPECS)


def judge_kind(row: ResultRow) -> tuple[str, str] | None:
    """Return what a judge judged by (a rubric's id, or ``trajectory``) and the judge's name.

    None for rows that are no judge's.
    """
    if not row.grader.startswith(_OF_JUDGES):
        return None
    name = row.grader.removeprefix(_OF_JUDGES)
    rubric = extra(row, "rubric")
    if isinstance(rubric, str) and name.startswith(f"{rubric}:"):
        return rubric, name.removeprefix(f"{rubric}:")
    return "trajectory", name


def panel_of(row: ResultRow) -> tuple[str, frozenset[str]] | None:
    """Return a panel's rubric and its judges' names; None for rows that are no panel's."""
    judges = extra(row, "judges")
    if not row.grader.startswith(_OF_RUBRICS) or not isinstance(judges, dict):
        return None
    return row.grader.removeprefix(_OF_RUBRICS), frozenset(judges)


def extra(row: ResultRow, name: str) -> Any:
    """Return a field that only some graders' rows have; None where there is none."""
    return (row.model_extra or {}).get(name)


def is_wanted(
    row: ResultRow,
    *,
    graders: Sequence[str] = (),
    model: str | None = None,
    rubric: str | None = None,
) -> bool:
    """Whether a row is of a grader that fits one of the patterns, of one model and one rubric.

    Args:
        row: Of a result set.
        graders: Names, with ``*`` for any characters; all where there is none.
        model: None for all.
        rubric: Of judges' rows only those by the rubric with this id. None for all.
    """
    return (
        (not graders or any(fnmatchcase(row.grader, pattern) for pattern in graders))
        and (model is None or row.model == model)
        and (rubric is None or not _is_judged(row) or rubric_of(row) == rubric)
    )


def rubric_of(row: ResultRow) -> str | None:
    """Return the id of the rubric that a judge or a panel went by; None for other rows."""
    if not _is_judged(row):
        return None
    rubric = extra(row, "rubric")
    if isinstance(rubric, str) and rubric:
        return rubric
    return row.grader.removeprefix(_OF_RUBRICS) if row.grader.startswith(_OF_RUBRICS) else None


def rubric_text_of(row: ResultRow) -> str | None:
    """Return the SHA-256 of the text that a judge or a panel was shown; None where none is told."""
    judge = extra(row, "judge")
    told = extra(row, "rubric_sha256") or (isinstance(judge, dict) and judge.get("rubric_sha256"))
    return told if isinstance(told, str) and rubric_of(row) is not None else None


def measures_of(rows: Iterable[ResultRow]) -> dict[str, tuple[Measure, ...]]:
    """Return what each grader's rows measure: passes, scores, both, or nothing.

    Graders that give verdicts measure a pass rate, rubrics the mean score beside it, and graders
    that give scores alone a mean score.
    """
    found: dict[str, set[Measure]] = {}
    for row in rows:
        measures = found.setdefault(row.grader, set())
        if row.verdict is not None or is_spec(row.grader):
            measures.add("pass rate")
        if row.grader.startswith(_OF_RUBRICS):
            measures |= {"pass rate", "score"}
        elif row.verdict is None and row.score is not None:
            measures.add("score")
    return {grader: tuple(sorted(measures)) for grader, measures in found.items()}


def value_of(row: ResultRow, measure: Measure) -> float | str:
    """Return what a row counts as, or why it cannot be counted.

    Pass is 1, fail and critical are 0. A panel's score counts only when no judge's is missing:
    the others' mean would be of another panel.
    """
    if measure == "pass rate":
        if row.verdict in _PASSES:
            return _PASSES[row.verdict]
        return _missing(row) if row.verdict is None else row.verdict.value
    judges = extra(row, "judges")
    if isinstance(judges, dict) and None in judges.values() and row.score is not None:
        return "a judge's score is missing"
    return _missing(row) if row.score is None else row.score


def reason_of(row: ResultRow) -> str:
    """Return what made a row's verdict, in one line as the grader wrote it; "" where it did not."""
    own = extra(row, "reason")
    if isinstance(own, str) and own:
        return own
    verdict = None if row.verdict is None else row.verdict.value
    grades = [item for item in row.evidence if isinstance(item, dict)]
    deciding = [item for item in grades if item.get("verdict") == verdict is not None]
    for grade in deciding or grades:
        told = _first_text(grade, "reason", "reasoning", "summary")
        if told:
            title = _first_text(grade, "name", "criterion")
            return f"{title}: {told}" if title and deciding else told
    return row.missing_reason or ""


def _is_judged(row: ResultRow) -> bool:
    return row.grader.startswith((_OF_RUBRICS, _OF_JUDGES))


def _first_text(item: dict[str, Json], *names: str) -> str:
    return next((text for name in names if isinstance(text := item.get(name), str) and text), "")


def _missing(row: ResultRow) -> str:
    """Return why a row has no value, as a kind that many rows share."""
    kind = extra(row, "missing")
    if isinstance(kind, str):
        return f"missing: {kind}"
    told = (row.missing_reason or "no reason given").split(":", 1)[0].strip()
    return f"missing: {told[:_MOST_REASON]}"

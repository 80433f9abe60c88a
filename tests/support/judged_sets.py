"""Result sets of a panel with the scores one wants, and labels beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tracedance_sdk.grading import ResultRow, ResultSet, ResultSetWriter, Subject
from tracedance_sdk.judging import (
    JudgedItem,
    JudgeIdentity,
    JudgeScores,
    Label,
    PanelFinding,
    RubricScore,
    load_rubric,
    panel_score,
    rows_of_panel,
)
from tracedance_sdk.trace import Trace

RUBRIC = load_rubric("task-completion")

Scores = Mapping[str, Sequence[int | None]]
"""Model of a judge → its score at each repetition; None is missing."""


def judge_name(model: str, *, prompt: str = "p") -> str:
    """Return the name in rows of the judge with a model."""
    return _identity(model, prompt).name


def rows_of(
    name: str,
    scores: Scores,
    *,
    group: str | None = None,
    model: str | None = None,
    prompt: str = "p",
    sample: int = 0,
) -> list[ResultRow]:
    """Return the rows of one item, the trace with that name."""
    item = JudgedItem(
        Subject(trace_id=name), Trace(id=name), sample=sample, group=group, model=model
    )
    judges = tuple(
        JudgeScores(_identity(judge, prompt), tuple(map(_score, range(len(said)), said)))
        for judge, said in scores.items()
    )
    found = panel_score(judges, pass_from=RUBRIC.pass_from)
    return list(rows_of_panel([PanelFinding(item, RUBRIC, judges, found)]))


def judged_set(rows: Iterable[Iterable[ResultRow]], **manifest: Any) -> ResultSet:
    """Return the rows of items as a result set."""
    said = {"mode": "single", "repeats": 1, **manifest}
    return ResultSet(said, tuple(row for item in rows for row in item))


def written(results: ResultSet, folder: Path) -> Path:
    """Write a result set and return its folder."""
    with ResultSetWriter(folder, manifest=results.manifest) as writer:
        writer.add(results.rows)
    return folder


def label(
    name: str, labeller: str, score: int | None = None, *, passed: bool | None = None, **more: Any
) -> Label:
    """Return a label of the trace with that name."""
    if passed is None and score is not None:
        passed = score >= RUBRIC.pass_from
    subject = Subject(trace_id=name)
    return Label(subject=subject, labeller=labeller, score=score, passed=passed, **more)


def _identity(model: str, prompt: str) -> JudgeIdentity:
    return JudgeIdentity(f"openai:{model}", prompt * 64, RUBRIC.sha256)


def _score(repeat: int, said: int | None) -> RubricScore:
    if said is None:
        return RubricScore(None, "", "cut_off: at 10 tokens", repeat=repeat, missing="cut_off")
    return RubricScore(said, f"it is worth {said}", repeat=repeat)

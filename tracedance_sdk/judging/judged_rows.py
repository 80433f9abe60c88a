"""What one judge, or a panel, says of the items of a result set.

Read are rows of a panel (``rubric:ID``), of its judges (``judge:ID:NAME``), and of judges of
trajectories (``judge:NAME``, scores from 0 to 1). All scores are put on the scale from 0 to 5.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pydantic import BaseModel, ConfigDict

from tracedance_sdk.errors import InvalidOption, NotEnoughData, shown
from tracedance_sdk.grading import ResultRow, ResultSet, Verdict
from tracedance_sdk.judging.labels import ItemKey

PANEL: Final = "panel"
"""The name under which all judges of a rubric together are meant."""

PASS_FROM: Final = 4.0
MOST: Final = 5.0
"""The highest score; a score from 0 to 1 is this share of it."""

_OF_A_JUDGE: Final = ("model", "prompt_sha256", "rubric_sha256")
_SETTINGS: Final = ("mode", "repeats")
_THERE: Final = "the result set"


class KnownJudge(BaseModel):
    """One judge, as far as its rows say who it is.

    Attributes:
        name: As in rows, such as ``openai:gpt-x#b832fa65808a``.
        model: None when the rows hold the name alone, as do the other two.
        prompt_sha256: Of its prompt.
        rubric_sha256: Of what it was shown of the rubric.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    name: str
    model: str | None = None
    prompt_sha256: str | None = None
    rubric_sha256: str | None = None


class JudgeRating(NamedTuple):
    """What a judge or a panel says of one item.

    Attributes:
        passed: Whether it is good enough.
        score: Mean over judges of each one's mean over repeats, from 0 to 5; None for a judge
            who gives none.
        scores: Name of each judge → its mean over repeats; None when missing.
        reasons: Name of each judge → its reason, the first it gave.
        group: The leave-out unit.
    """

    passed: bool
    score: float | None = None
    scores: Mapping[str, float | None] = {}
    reasons: Mapping[str, str] = {}
    group: str | None = None


class Judged(NamedTuple):
    """Whom a calibration is about, and what it says of which items.

    Attributes:
        judges: By name.
        ratings: Item → rating, in the order of the rows.
        missing: Reason → how many items have no rating.
        rubric: Its id; None for judges without one.
        rubric_sha256: Of its text; None when the rows do not say.
        pass_from: The mean score, from 0 to 5, from which an item passes.
        settings: How they judged: mode, repeats.
    """

    judges: tuple[KnownJudge, ...]
    ratings: Mapping[ItemKey, JudgeRating]
    missing: Mapping[str, int]
    rubric: str | None = None
    rubric_sha256: str | None = None
    pass_from: float = PASS_FROM
    settings: Mapping[str, Any] = {}


class _Rows(NamedTuple):
    """The rows about one rubric: of each judge by name, and of the panel."""

    rubric: str | None
    by_judge: Mapping[str, Sequence[ResultRow]]
    of_panel: Sequence[ResultRow]


def judged_items(
    results: ResultSet,
    *,
    rubric: str | None = None,
    judge: str | None = None,
    pass_from: float | None = None,
) -> Judged:
    """Return what a judge or a panel says of a result set's items.

    Args:
        results: As read.
        rubric: Id of the rubric, where the set has several.
        judge: ``panel``, or a judge by name, by the beginning of its name, or by its model; by
            default the panel where there is one.
        pass_from: Another passing score than the rows' own; items with a missing judge are then
            left out.

    Raises:
        InvalidOption: Several rubrics or judges and none chosen, or one that is not there.
        NotEnoughData: No rows by judges.
    """
    rows = _rows_of(results.rows, rubric)
    own = {float(_extra(row, "pass_from") or PASS_FROM) for row in rows.of_panel} or {PASS_FROM}
    if len(own) > 1 and pass_from is None:
        raise InvalidOption(f"rows pass from different scores: {sorted(own)}; give --pass-from")
    bound = min(own) if pass_from is None else pass_from
    told = results.manifest
    settings: dict[str, Any] = {name: told[name] for name in _SETTINGS if name in told}
    chosen = _chosen(rows, judge)
    listed = [item for item in told.get("judges") or () if isinstance(item, dict)]
    judges = tuple(_known(name, rows.by_judge[name], listed) for name in sorted(chosen))
    if judge not in (None, PANEL) or not rows.of_panel:
        ratings, missing = _of_one(rows.by_judge[judges[0].name], judges[0].name, bound)
    else:
        ratings, missing = _of_panel(rows, bound, is_own=own == {bound})
    return Judged(judges, ratings, missing, rows.rubric, _text_of(rows), bound, settings)


def rubrics_of(results: ResultSet) -> tuple[str, ...]:
    """Return the ids of the rubrics by which a result set was judged, sorted."""
    found = {_extra(row, "rubric") for row in results.rows if _is_judged(row)}
    return tuple(sorted(rubric for rubric in found if isinstance(rubric, str)))


def _is_judged(row: ResultRow) -> bool:
    return row.grader.startswith(("judge:", "rubric:"))


def _rows_of(rows: Iterable[ResultRow], rubric: str | None) -> _Rows:
    judged = [row for row in rows if _is_judged(row)]
    if not judged:
        raise NotEnoughData(f"{_THERE} has no rows by judges; judge it first")
    known = sorted({str(found) for row in judged if (found := _extra(row, "rubric")) is not None})
    if rubric is not None and rubric not in known:
        there = f"there are {', '.join(known)}" if known else "there is none"
        raise InvalidOption(f"{_THERE} has no rows by the rubric {shown(rubric)}; {there}")
    if rubric is None and len(known) > 1:
        raise InvalidOption(
            f"{_THERE} was judged by several rubrics: {', '.join(known)}; choose with --rubric ID"
        )
    chosen = rubric or (known[0] if known else None)
    by_judge: dict[str, list[ResultRow]] = defaultdict(list)
    of_panel = []
    for row in judged:
        if _extra(row, "rubric") != chosen:
            continue
        if row.grader.startswith("rubric:"):
            of_panel.append(row)
        else:
            prefix = "judge:" if chosen is None else f"judge:{chosen}:"
            by_judge[row.grader.removeprefix(prefix)].append(row)
    for row in of_panel:
        for name in _extra(row, "judges") or {}:
            by_judge.setdefault(name, [])
    return _Rows(chosen, by_judge, of_panel)


def _chosen(rows: _Rows, judge: str | None) -> list[str]:
    """Return the names of the judges that are meant: all for the panel."""
    names = sorted(rows.by_judge)
    told = ", ".join(names)
    if judge == PANEL and not rows.of_panel:
        raise InvalidOption(f"{_THERE} has no rows of a panel; choose a judge: {told}")
    if rows.of_panel and judge in (None, PANEL):
        return names
    if judge is None:
        found = names
        problem = f"{_THERE} has several judges: {told}; choose with --judge NAME"
    else:
        exact = [name for name in names if name == judge]
        found = exact or [name for name in names if name.startswith(judge)]
        problem = f"{shown(judge)} is {'several judges' if found else 'no judge'} of {_THERE}; "
        problem += f"there are {told}{f' and {PANEL}' if rows.of_panel else ''}"
    if len(found) != 1:
        raise InvalidOption(problem)
    return found


def _text_of(rows: _Rows) -> str | None:
    """Return the SHA-256 of the rubric's text, of which there has to be one."""
    every = [*rows.of_panel, *(row for found in rows.by_judge.values() for row in found)]
    texts = {str(text) for row in every if (text := _extra(row, "rubric_sha256"))}
    texts |= {
        str(text)
        for row in every
        if rows.rubric and (text := (_extra(row, "judge") or {}).get("rubric_sha256"))
    }
    if len(texts) > 1:
        raise InvalidOption(
            f"{_THERE} has rows by {len(texts)} texts of the rubric {rows.rubric!r}; "
            "calibrate each in a set of its own"
        )
    return next(iter(texts), None)


def _known(name: str, rows: Sequence[ResultRow], listed: Sequence[Mapping[str, Any]]) -> KnownJudge:
    told: list[Mapping[str, Any]] = [
        found for row in rows if isinstance(found := _extra(row, "judge"), dict)
    ]
    told += [item for item in listed if item.get("name") == name]
    fields = {key: told[0].get(key) if told else None for key in _OF_A_JUDGE}
    return KnownJudge(name=name, **fields)


def _of_one(
    rows: Sequence[ResultRow], name: str, pass_from: float
) -> tuple[dict[ItemKey, JudgeRating], Counter[str]]:
    by_item: dict[ItemKey, list[ResultRow]] = defaultdict(list)
    for row in rows:
        by_item[ItemKey.of(row)].append(row)
    ratings: dict[ItemKey, JudgeRating] = {}
    missing: Counter[str] = Counter()
    for key, found in by_item.items():
        scores = [score for row in found if (score := _score(row)) is not None]
        if not scores:
            missing[_why(found[0])] += 1
            continue
        mean = math.fsum(scores) / len(scores)
        reasons = {name: next(filter(None, map(_reason, found)), "")}
        ratings[key] = JudgeRating(mean >= pass_from, mean, {name: mean}, reasons, found[0].group)
    return ratings, missing


def _of_panel(
    rows: _Rows, pass_from: float, *, is_own: bool
) -> tuple[dict[ItemKey, JudgeRating], Counter[str]]:
    reasons: dict[ItemKey, dict[str, str]] = defaultdict(dict)
    why: dict[ItemKey, str] = {}
    for name, found in rows.by_judge.items():
        for row in found:
            if said := _reason(row):
                reasons[ItemKey.of(row)].setdefault(name, said)
            elif _score(row) is None:
                why.setdefault(ItemKey.of(row), _why(row))
    ratings: dict[ItemKey, JudgeRating] = {}
    missing: Counter[str] = Counter()
    for row in rows.of_panel:
        key, score = ItemKey.of(row), _score(row)
        scores = dict(_extra(row, "judges") or {})
        is_decided = row.verdict in (Verdict.PASS, Verdict.FAIL)
        if score is None:
            missing[why.get(key) or _why(row)] += 1
        elif not (is_decided if is_own else None not in scores.values()):
            missing["the panel is undecided: a judge is missing"] += 1
        else:
            passed = row.verdict is Verdict.PASS if is_own else score >= pass_from
            ratings[key] = JudgeRating(passed, score, scores, reasons[key], row.group)
    return ratings, missing


def _score(row: ResultRow) -> float | None:
    """Return the score of a row on the scale from 0 to 5."""
    found = _extra(row, "rubric_score")
    if isinstance(found, (int, float)) and not isinstance(found, bool):
        return float(found)
    return None if row.score is None else MOST * row.score


def _why(row: ResultRow) -> str:
    """Return why a row has no score, in words that are the same for all of that kind."""
    kind = _extra(row, "missing")
    told = kind if isinstance(kind, str) else (row.missing_reason or "not told").partition(":")[0]
    return f"no score by the judge: {told}"


def _reason(row: ResultRow) -> str:
    for item in row.evidence:
        said = item.get("reasoning") if isinstance(item, dict) else None
        if isinstance(said, str) and said.strip():
            return said
    return ""


def _extra(row: ResultRow, name: str) -> Any:
    return (row.model_extra or {}).get(name)

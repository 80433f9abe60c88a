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
from tracedance_sdk.grading import ResultRow, ResultSet, Verdict, sound_rows
from tracedance_sdk.judging.labels import ItemKey
from tracedance_sdk.judging.row_fields import (
    is_judged,
    number_field,
    object_field,
    reason_of,
    score_of,
    scores_field,
    text_field,
    why_missing,
)

PANEL: Final = "panel"
"""The name under which all judges of a rubric together are meant."""

PASS_FROM: Final = 4.0
UNDECIDED: Final = "the panel is undecided: a judge is missing"
AGAIN: Final = "a row that stands there twice, counted once"
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
        missing: Reason → how many items have no rating; and how many rows stood there twice.
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
    n_again: int


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
        InvalidOption: Several rubrics or judges and none chosen, one that is not there, rows that
            contradict each other, or a score that cannot be one.
        NotEnoughData: No rows by judges.
    """
    rows = _rows_of(results.rows, rubric)
    own = {_passing_score(row) for row in rows.of_panel} or {PASS_FROM}
    if len(own) > 1 and pass_from is None:
        raise InvalidOption(f"rows pass from different scores: {sorted(own)}; give --pass-from")
    bound = min(own) if pass_from is None else pass_from
    told = results.manifest
    settings: dict[str, Any] = {name: told[name] for name in _SETTINGS if name in told}
    chosen = _chosen(rows, judge)
    judges_told = told.get("judges")
    listed = judges_told if isinstance(judges_told, list) else []
    judges = tuple(_known(name, rows.by_judge[name], listed) for name in sorted(chosen))
    if judge not in (None, PANEL) or not rows.of_panel:
        ratings, missing = _of_one(rows.by_judge[judges[0].name], judges[0].name, bound)
    else:
        ratings, missing = _of_panel(rows, bound, is_own=own == {bound})
    if rows.n_again:
        missing[AGAIN] = rows.n_again
    return Judged(judges, ratings, missing, rows.rubric, _text_of(rows), bound, settings)


def rubrics_of(results: ResultSet) -> tuple[str, ...]:
    """Return the ids of the rubrics by which a result set was judged, sorted."""
    return tuple(_known_rubrics(row for row in results.rows if is_judged(row)))


def passing_scores_of(results: ResultSet, rubric: str | None) -> tuple[float, ...]:
    """Return the scores from which items pass as the rows themselves say, sorted."""
    own = (row for row in results.rows if is_judged(row) and text_field(row, "rubric") == rubric)
    found = {number_field(row, "pass_from") for row in own}
    return tuple(sorted(score for score in found if score is not None))


def _known_rubrics(rows: Iterable[ResultRow]) -> list[str]:
    return sorted({found for row in rows if (found := text_field(row, "rubric")) is not None})


def _passing_score(row: ResultRow) -> float:
    found = number_field(row, "pass_from")
    return PASS_FROM if found is None else found


def _rows_of(rows: Sequence[ResultRow], rubric: str | None) -> _Rows:
    judged = [row for row in rows if is_judged(row)]
    if not judged:
        raise NotEnoughData(f"{_THERE} has no rows by judges; judge it first")
    known = _known_rubrics(judged)
    if rubric is not None and rubric not in known:
        there = f"there are {', '.join(known)}" if known else "there is none"
        raise InvalidOption(f"{_THERE} has no rows by the rubric {shown(rubric)}; {there}")
    if rubric is None and len(known) > 1:
        raise InvalidOption(
            f"{_THERE} was judged by several rubrics: {', '.join(known)}; choose with --rubric ID"
        )
    chosen = rubric or (known[0] if known else None)
    sound = sound_rows(
        rows,
        where=_THERE,
        wanted=lambda row: is_judged(row) and text_field(row, "rubric") == chosen,
    )
    by_judge: dict[str, list[ResultRow]] = defaultdict(list)
    of_panel = []
    for row in sound.rows:
        if row.grader.startswith("rubric:"):
            of_panel.append(row)
        else:
            prefix = "judge:" if chosen is None else f"judge:{chosen}:"
            by_judge[row.grader.removeprefix(prefix)].append(row)
    for row in of_panel:
        for name in object_field(row, "judges"):
            by_judge.setdefault(name, [])
    if not by_judge:
        raise NotEnoughData(f"{_THERE} does not say who judged; judge it again")
    return _Rows(chosen, by_judge, of_panel, sound.n_again)


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
    texts = {text for row in every if (text := text_field(row, "rubric_sha256"))}
    if rows.rubric is not None:
        told = (object_field(row, "judge").get("rubric_sha256") for row in every)
        texts |= {text for text in told if isinstance(text, str)}
    if len(texts) > 1:
        raise InvalidOption(
            f"{_THERE} has rows by {len(texts)} texts of the rubric {rows.rubric!r}; "
            "calibrate each in a set of its own"
        )
    return next(iter(texts), None)


def _known(name: str, rows: Sequence[ResultRow], listed: Sequence[Any]) -> KnownJudge:
    told = [found for row in rows if (found := object_field(row, "judge"))]
    for field in _OF_A_JUDGE:
        said = {value for found in told if isinstance(value := found.get(field), str)}
        if len(said) > 1:
            raise InvalidOption(
                f"{_THERE} has rows of {len(said)} judges under the name {shown(name)}: their "
                f"{field} differs; put each into a set of its own"
            )
    told += [item for item in listed if isinstance(item, dict) and item.get("name") == name]
    found = told[0] if told else {}
    fields = {key: text for key in _OF_A_JUDGE if isinstance(text := found.get(key), str)}
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
        scores = [score for row in found if (score := score_of(row)) is not None]
        if not scores:
            missing[why_missing(found[0])] += 1
            continue
        mean = math.fsum(scores) / len(scores)
        reasons = {name: next(filter(None, map(reason_of, found)), "")}
        ratings[key] = JudgeRating(
            round(mean, 9) >= pass_from, mean, {name: mean}, reasons, found[0].group
        )
    return ratings, missing


def _of_panel(
    rows: _Rows, pass_from: float, *, is_own: bool
) -> tuple[dict[ItemKey, JudgeRating], Counter[str]]:
    reasons: dict[ItemKey, dict[str, str]] = defaultdict(dict)
    why: dict[ItemKey, str] = {}
    for name, found in rows.by_judge.items():
        for row in found:
            if said := reason_of(row):
                reasons[ItemKey.of(row)].setdefault(name, said)
            elif score_of(row) is None:
                why.setdefault(ItemKey.of(row), why_missing(row))
    ratings: dict[ItemKey, JudgeRating] = {}
    missing: Counter[str] = Counter()
    for row in rows.of_panel:
        key, score = ItemKey.of(row), score_of(row)
        scores = scores_field(row, "judges")
        is_decided = row.verdict in (Verdict.PASS, Verdict.FAIL)
        if score is None:
            missing[why.get(key) or why_missing(row)] += 1
        elif not (is_decided if is_own else None not in scores.values()):
            missing[UNDECIDED] += 1
        else:
            passed = row.verdict is Verdict.PASS if is_own else round(score, 9) >= pass_from
            ratings[key] = JudgeRating(passed, score, scores, reasons[key], row.group)
    return ratings, missing

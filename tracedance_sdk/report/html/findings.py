"""What graders and judges say of a subject, as a page shows it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from tracedance_sdk.grading import ResultRow
from tracedance_sdk.report.html.page import TONES, Finding, PageBounds, Remark, Tone
from tracedance_sdk.report.html.texts import cut, cut_json, name_text, short
from tracedance_sdk.trace import Json

_MOST_REMARKS: Final = 20
_MOST_FACTS: Final = 12
_SAID: Final = frozenset(
    (
        *("behavior_groups", "behaviors", "benchmark", "frames", "judge", "judges", "missing"),
        *("n_missing", "n_scores", "operator", "pass_from", "reason", "repeat", "reply"),
        *("rubric", "rubric_score", "rubric_sha256", "spread", "tools_origin"),
    )
)
"""Further fields of rows that are told elsewhere, or of no use to people."""


def outcome(row: ResultRow) -> str:
    """Return what a row says in a word: a verdict, ``missing``, or "" for a score or reply alone.

    A row with neither verdict nor score, and a reason for that, is missing.
    """
    if row.verdict is not None:
        return row.verdict.value
    return "missing" if row.missing_reason is not None else ""


def finding(row: ResultRow, bounds: PageBounds) -> Finding:
    """Return a row as a page shows it."""
    own = row.model_extra or {}
    word = outcome(row)
    if row.raw_verdict is not None and row.raw_verdict is not row.verdict:
        word += f" (raw {row.raw_verdict.value})"
    remarks = list(_remarks(row, bounds))
    repeat = own.get("repeat")
    grader = name_text(row.grader)
    if isinstance(repeat, int) and repeat > 0:
        grader += f", repetition {repeat}"
    return Finding(
        grader,
        word,
        TONES.get(outcome(row), "plain"),
        score_words(row),
        tuple(remarks[:_MOST_REMARKS]),
        tuple(_facts(own)),
        max(0, len(remarks) - _MOST_REMARKS),
    )


def score_words(row: ResultRow) -> str:
    """Return the score as its scale has it; "" where it says no more than the verdict.

    Example:
        >>> from tracedance_sdk.grading import Subject
        >>> score_words(ResultRow(subject=Subject(), grader="rule:F01", rubric_score=2))
        '2 of 5'
    """
    own = row.model_extra or {}
    score, bound = number(own.get("rubric_score")), number(own.get("pass_from"))
    if score is not None:
        of = f"{score:.4g} of 5"
        return of if bound is None else f"{of} (passing from {bound:g})"
    if row.score is None or (row.verdict is not None and row.score in (0.0, 1.0)):
        return ""
    return f"{row.score:.2f}"


def number(value: Any) -> float | None:
    """Return a value if it is a number of a size that scores have."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and abs(value) <= 1_000 else None


def _remarks(row: ResultRow, bounds: PageBounds) -> Iterator[Remark]:
    own = row.model_extra or {}
    most = bounds.characters
    reasons = []
    if row.missing_reason is not None:
        yield Remark("missing", "open", "", cut(row.missing_reason, most))
        reasons.append(row.missing_reason)
    if isinstance(own.get("reason"), str) and own["reason"] not in reasons:
        yield Remark("", "plain", "", cut(own["reason"], most))
        reasons.append(own["reason"])
    for item in row.evidence:
        yield from _remarks_of(item, reasons, most)
    means = own.get("judges")
    for name, mean in means.items() if isinstance(means, dict) else ():
        said = "no score" if number(mean) is None else f"{number(mean):.4g} of 5"
        yield Remark("", "plain", name_text(str(name)), cut(said, most))


def _remarks_of(item: Json, said: list[str], most: int) -> Iterator[Remark]:
    """Yield what a grade, a judgement, a rule or whatever else says."""
    if not isinstance(item, dict):
        yield Remark("", "plain", "", cut_json(item, most))
        return
    told = dict(item)
    if isinstance(told.get("criterion"), str):
        yield from _grade(told, most)
    elif isinstance(told.get("reasoning"), str):
        yield Remark("", "plain", "", cut(told["reasoning"], most))
        yield from _judgement(told, most)
    elif isinstance(told.get("reason"), str):
        if told["reason"] in said and "behavior" not in told:
            return
        score = number(told.get("score"))
        word = "" if score is None else f"{score:g} of 5"
        yield Remark(word, "plain", short(told.get("behavior")), cut(told["reason"], most))
    else:
        yield Remark("", "plain", "", cut_json(told, most))


def _grade(grade: dict[str, Any], most: int) -> Iterator[Remark]:
    word = short(grade.get("verdict"))
    tone: Tone = TONES.get(word, "plain")
    name = short(grade.get("name") or grade["criterion"])
    reason = grade.get("reason")
    yield Remark(word, tone, name, cut(reason if isinstance(reason, str) else "", most))
    listed = grade.get("evidence")
    for item in listed if isinstance(listed, list) else ():
        what = item.get("what") if isinstance(item, dict) else None
        if word != "pass" and isinstance(what, str) and what != reason:
            yield Remark("", "plain", "", cut(what, most))


def _judgement(item: dict[str, Any], most: int) -> Iterator[Remark]:
    """Yield what a judge of trajectories says beside its reasoning."""
    lists: tuple[tuple[str, str, Tone], ...] = (
        ("strengths", "strength", "good"),
        ("weaknesses", "weakness", "bad"),
    )
    for name, word, tone in lists:
        for text in item[name] if isinstance(item.get(name), list) else ():
            yield Remark(word, tone, "", cut_json(text, most))
    for issue in item["issues"] if isinstance(item.get("issues"), list) else ():
        if isinstance(issue, dict):
            kind = f"{short(issue.get('severity'))} {short(issue.get('type') or 'issue')}".strip()
            yield Remark("issue", "bad", kind, cut_json(issue.get("explanation") or "", most))


def _facts(own: dict[str, Any]) -> Iterator[tuple[str, str]]:
    told = [(name, value) for name, value in own.items() if name not in _SAID]
    kept = [(name, value) for name, value in told if value not in (None, "", 0, [], {})]
    for name, value in kept[:_MOST_FACTS]:
        label = "recorded verdict" if name == "production" else name.replace("_", " ")
        yield label[:80], short(value, 400)

"""Rows that are counted: each once, and none that contradicts another."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

from tracedance_sdk.errors import InvalidOption, shown
from tracedance_sdk.grading.odd_fields import odd_field
from tracedance_sdk.grading.results import ROWS, ResultRow, Subject
from tracedance_sdk.grading.self_contradictions import self_contradiction


class SoundRows(NamedTuple):
    """Rows that may be averaged.

    Attributes:
        rows: Each once, in their order.
        n_again: How many stood there once more, the same in everything, and are left out.
    """

    rows: tuple[ResultRow, ...]
    n_again: int


def sound_rows(
    rows: Sequence[ResultRow],
    *,
    where: str,
    wanted: Callable[[ResultRow], bool] | None = None,
) -> SoundRows:
    """Return rows each once; a mean over a row that stands there twice would count it twice.

    Two rows are about the same when subject, sample, model, grader and repetition are. Rows that
    say nothing of their subject are all taken.

    Args:
        rows: Of a result set, in the order of its file.
        where: The set, as messages name it.
        wanted: Which rows are to be counted; None for all.

    Raises:
        InvalidOption: Two rows about the same that differ, a row that contradicts itself (see
            `self_contradiction`), or a score that cannot be one.

    Example:
        >>> row = ResultRow(subject=Subject(trace_id="ab"), grader="judge:m", score=0.5)
        >>> sound_rows([row, row], where="the set").n_again
        1
        >>> try:
        ...     sound_rows([row, row.model_copy(update={"score": 1.0})], where="the set")
        ... except InvalidOption as error:
        ...     print(str(error).partition(", by")[0])
        the set: lines 1 and 2 of rows.jsonl contradict each other about trace 'ab', sample 0
    """
    first: dict[Hashable, tuple[int, ResultRow]] = {}
    kept = []
    n_again = 0
    for line, row in enumerate(rows, 1):
        if wanted is not None and not wanted(row):
            continue
        extra = row.model_extra or {}
        problem = odd_field(row.grader, extra) or self_contradiction(row)
        if problem is not None:
            raise InvalidOption(f"{where}: line {line} of {ROWS}: {problem}")
        if row.subject.trace_id is None and row.subject.instance_id is None:
            kept.append(row)
            continue
        key = (row.subject, row.sample, row.model, row.grader, _hashable(extra.get("repeat")))
        there = first.setdefault(key, (line, row))
        if there[0] == line:
            kept.append(row)
        elif not (differing := _differing(there[1], row)):
            n_again += 1
        else:
            raise InvalidOption(
                f"{where}: lines {there[0]:,} and {line:,} of {ROWS} contradict each other about "
                f"{_about(row)}, by {shown(row.grader, 100)}: {differing}; leave "
                "one of them out, or put them into sets of their own"
            )
    return SoundRows(tuple(kept), n_again)


def rows_again_text(n_again: int) -> str:
    """Return how many rows stand in a set twice, for people.

    Example:
        >>> rows_again_text(1)
        '1 row stands there twice and is counted once'
    """
    if n_again == 1:
        return "1 row stands there twice and is counted once"
    return f"{n_again:,} rows stand there twice and are counted once"


def _hashable(value: object) -> Hashable:
    return value if isinstance(value, int | None) else repr(value)


def _about(row: ResultRow) -> str:
    subject: Subject = row.subject
    told = [] if subject.trace_id is None else [f"trace {shown(subject.trace_id)}"]
    told += [] if subject.instance_id is None else [f"instance {shown(subject.instance_id)}"]
    told += [] if subject.turn is None else [f"turn {subject.turn}"]
    told += [] if row.model is None else [f"model {shown(row.model)}"]
    return ", ".join([*told, f"sample {row.sample}"])


def _differing(one: ResultRow, other: ResultRow) -> str:
    """Return the first field in which rows differ with both values, verdicts first; else ""."""
    fields = [dict(row) | (row.model_extra or {}) for row in (one, other)]
    for name in dict.fromkeys(("verdict", "score", "rubric_score", *fields[0], *fields[1])):
        values = [of.get(name) for of in fields]
        if values[0] != values[1]:
            return f"{name} {_plain(values[0])} and {_plain(values[1])}"
    return ""


def _plain(value: object) -> str:
    told = getattr(value, "value", value)
    return "none" if told is None else shown(told, 40)

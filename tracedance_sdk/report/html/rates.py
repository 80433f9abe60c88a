"""Rates of a result set: by grader, model, group, and as benchmarks are counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from tracedance_sdk.behaviors import BenchmarkRate, benchmark_rates
from tracedance_sdk.grading import ResultRow, Verdict
from tracedance_sdk.judging import ItemKey
from tracedance_sdk.report.html.findings import outcome
from tracedance_sdk.statistics import Estimate, clustered_rate, pass_rate
from tracedance_sdk.trace import Json

CONCLUSIVE: Final = (Verdict.PASS, Verdict.FAIL, Verdict.CRITICAL)
_OF_BENCHMARKS: Final = ("rule:", "rubric:")
_JUDGES: Final = "judge:"


class ReportItem(NamedTuple):
    """What a result set says of one sample of one subject.

    Attributes:
        key: What tells it from the others.
        rows: At least one: those that decide before those that they rest on.
        reply: The turn that was given, as JSON; None where none is known.
    """

    key: ItemKey
    rows: tuple[ResultRow, ...]
    reply: Json = None

    @property
    def name(self) -> str:
        """What tells it from the others, in a word of its own."""
        return self.key.short

    @property
    def decides(self) -> ResultRow:
        """The row that says what became of the item: the first with a verdict, else the first."""
        with_verdict = (row for row in self.rows if row.verdict is not None)
        return next(with_verdict, self.rows[0])

    @property
    def word(self) -> str:
        """The worst that graders say of it in a word; "" where all give scores or replies alone."""
        said = {outcome(row) for row in self.rows if not row.grader.startswith(_JUDGES)}
        said = said or {outcome(row) for row in self.rows}
        order = ("critical", "fail", "error", "inconclusive", "pass", "missing", "")
        return next((word for word in order if word in said), "")


class Seen(NamedTuple):
    """A row, and the index of its item."""

    row: ResultRow
    item: int


class Rate(NamedTuple):
    """How often rows passed.

    Attributes:
        name: Of the grader, model, benchmark or whatever it is of.
        seen: All rows.
        passed: Those that passed.
        failed: Those that failed; critical is a failure.
        apart: Those that do not count: undecided, errors, missing.
        estimate: The rate with its 95 % interval; None without a verdict.
        mean: Of the scores from 0 to 1; None without any.
        n_scores: How many scores there are.
    """

    name: str
    seen: tuple[Seen, ...]
    passed: tuple[Seen, ...]
    failed: tuple[Seen, ...]
    apart: tuple[Seen, ...]
    estimate: Estimate | None
    mean: float | None
    n_scores: int


class RateCut(NamedTuple):
    """One way to cut a result set: rates by something."""

    kind: str
    rates: tuple[Rate, ...]


def seen_rows(items: Sequence[ReportItem]) -> list[Seen]:
    """Return the rows of items with their indexes."""
    return [Seen(row, index) for index, item in enumerate(items) for row in item.rows]


def rate_cuts(items: Sequence[ReportItem]) -> list[RateCut]:
    """Return the rates of a set in every way its rows allow.

    Args:
        items: Of the set.

    Returns:
        ``grader`` first, then ``model``, ``benchmark``, ``behavior``, ``frame``, ``group`` (of
        behaviours), ``task``, each only where there is something to tell.
    """
    seen = seen_rows(items)
    cuts = [RateCut("grader", tuple(_by(seen, lambda row: row.grader)))]
    deciding = [one for one in seen if _has_verdicts(one.row)]
    several = len({one.row.grader for one in deciding}) > 1
    cuts.append(RateCut("model", tuple(_by(deciding, lambda row: _told(row, row.model, several)))))
    cuts += _as_benchmarks(seen)
    tasks = list(_by(deciding, lambda row: _told(row, row.group or row.task_id, several)))
    if 1 < len(tasks) <= len(deciding) // 2 and not any(is_of_benchmark(one.row) for one in seen):
        cuts.append(RateCut("task", tuple(tasks)))
    return [one for one in cuts if one.rates]


def rate_of(name: str, seen: Sequence[Seen], *, estimate: Estimate | None = None) -> Rate:
    """Return how often rows passed.

    Args:
        name: Of what they have in common.
        seen: The rows.
        estimate: The rate, where it is known already.
    """
    passed = tuple(one for one in seen if one.row.verdict is Verdict.PASS)
    failed = tuple(one for one in seen if one.row.verdict in (Verdict.FAIL, Verdict.CRITICAL))
    apart = tuple(one for one in seen if outcome(one.row) in ("inconclusive", "error", "missing"))
    scores = [one.row.score for one in seen if one.row.score is not None]
    found = _estimate((*passed, *failed)) if estimate is None else estimate
    mean = sum(scores) / len(scores) if scores else None
    return Rate(name, tuple(seen), passed, failed, apart, found, mean, len(scores))


def is_of_benchmark(row: ResultRow) -> bool:
    """Whether a row decides on a response to a benchmark's instance."""
    own = row.model_extra or {}
    lists = [own.get(name) for name in ("behaviors", "frames", "behavior_groups")]
    if not isinstance(own.get("benchmark"), str) or not isinstance(own.get("operator"), str):
        return False
    if not all(_is_names(value) for value in lists):
        return False
    names = "+".join(own["behaviors"])
    return any(row.grader == prefix + names for prefix in _OF_BENCHMARKS)


def _as_benchmarks(seen: Sequence[Seen]) -> Iterator[RateCut]:
    """Yield the cuts of a benchmark run; of several models each one by itself."""
    of = [one for one in seen if is_of_benchmark(one.row)]
    models = sorted({one.row.model or "" for one in of})
    found: dict[str, list[Rate]] = {}
    for model in models:
        own = [one for one in of if (one.row.model or "") == model]
        for rate in benchmark_rates([one.row for one in own]):
            if rate.kind == "overall" and rate.benchmarks < 2:
                continue
            name = f"{model}, {rate.name}" if len(models) > 1 else rate.name
            rows = [one for one in own if _belongs(one.row, rate)]
            found.setdefault(rate.kind, []).append(rate_of(name, rows, estimate=rate.estimate))
    yield from (RateCut(kind, tuple(rates)) for kind, rates in found.items())


def _belongs(row: ResultRow, rate: BenchmarkRate) -> bool:
    own = row.model_extra or {}
    if rate.kind == "overall":
        return True
    if rate.kind == "benchmark":
        return bool(own["benchmark"] == rate.name)
    names = {"behavior": "behaviors", "frame": "frames", "group": "behavior_groups"}
    return own["operator"] != "AND" and list(own[names[rate.kind]]) == [rate.name]


def _by(seen: Iterable[Seen], name: Callable[[ResultRow], str | None]) -> Iterator[Rate]:
    groups: dict[str, list[Seen]] = {}
    for one in seen:
        told = name(one.row)
        if told is not None:
            groups.setdefault(told, []).append(one)
    for told in sorted(groups, key=lambda name: (name.startswith(_JUDGES), name)):
        yield rate_of(told, groups[told])


def _told(row: ResultRow, name: str | None, several: bool) -> str | None:
    """Return a name, with the grader's where several graders decide: theirs have no common rate."""
    return None if name is None else f"{name}, by {row.grader}" if several else name


def _has_verdicts(row: ResultRow) -> bool:
    """Whether a row is of a grader that decides: it has a verdict, or should have had one."""
    if row.verdict is not None:
        return True
    is_judge = row.grader.startswith(_JUDGES)
    return row.missing_reason is not None and not is_judge and row.grader != "next_turn"


def _estimate(seen: Sequence[Seen]) -> Estimate | None:
    """Return the rate with Wilson's interval, or over tasks where some were tried several times."""
    if not seen:
        return None
    outcomes = [one.row.verdict is Verdict.PASS for one in seen]
    clusters = [_cluster(one) for one in seen]
    if 1 < len(set(clusters)) < len(clusters):
        return clustered_rate([float(passed) for passed in outcomes], clusters)
    return pass_rate(sum(outcomes), len(outcomes))


def _cluster(one: Seen) -> str:
    subject = one.row.subject
    return one.row.task_id or subject.instance_id or subject.trace_id or f"item {one.item}"


def _is_names(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)

"""The top of a page of results: what is left out, how many there are, rates, scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from tracedance_sdk.report.html.charts import (
    Chart,
    count_chart,
    interval_text,
    rate_chart,
    rate_text,
)
from tracedance_sdk.report.html.findings import number, outcome
from tracedance_sdk.report.html.links import Listings
from tracedance_sdk.report.html.page import (
    TONES,
    Card,
    Line,
    Link,
    Listing,
    Number,
    PageBounds,
    Table,
)
from tracedance_sdk.report.html.rates import (
    Rate,
    RateCut,
    ReportItem,
    Seen,
    rate_cuts,
    seen_rows,
)
from tracedance_sdk.report.html.result_source import ResultSource
from tracedance_sdk.report.html.texts import name_text, short
from tracedance_sdk.trace import Json

_TITLES: Final = {
    "grader": ("By grader", "What each grader and judge says. Judges give scores, no verdicts."),
    "model": ("By model", "How often each model, or agent, passed."),
    "benchmark": ("By benchmark", "How often the model passed in each benchmark."),
    "behavior": ("By behaviour", "Benchmarks of one behaviour; several count the same each."),
    "frame": ("By frame", "Whether the behaviour shows in an action, after a failure, in a claim."),
    "group": ("By group of behaviours", "Benchmarks whose behaviours are alike."),
    "overall": ("Over all benchmarks", "The unweighted mean of the benchmarks' rates."),
    "task": ("By task", "Trials of one task, or what is left out together."),
}


_LABELS: Final = {
    **{name: name for name in ("grader", "model", "benchmark", "frame", "task")},
    "behavior": "behaviour",
    "group": "group of behaviours",
    "overall": "benchmarks,",
}


_COLUMNS: Final = (
    *("rate", "95 % interval", "passed", "failed", "not counted", "rows", "mean score"),
)


_SCORES: Final = ("0", "1", "2", "3", "4", "5")


class ResultTop(NamedTuple):
    """The top of the page, and the lists that its numbers lead to."""

    cards: tuple[Card, ...]
    left_out: Table
    tables: tuple[Table, ...]
    listings: Listings
    extra: tuple[Listing, ...]


def result_top(source: ResultSource) -> ResultTop:
    """Return the top of the page of a set."""
    listings = Listings()
    seen = seen_rows(source.items)
    left_out, extra = _left_out(source, seen, listings)
    cards = _cards(source.items, listings)
    tables = list(_rate_tables(_named_cuts(source), listings, source.bounds))
    if (scores := _score_table(seen, listings)) is not None:
        tables.append(scores)
    return ResultTop(cards, left_out, tuple(tables), listings, extra)


def _left_out(
    source: ResultSource, seen: Sequence[Seen], listings: Listings
) -> tuple[Table, tuple[Listing, ...]]:
    """Return what is in no rate, with lists of what has no rows of its own."""
    lines: list[Line] = []
    extra: list[Listing] = []
    manifest = source.manifest
    excluded = manifest.get("excluded")
    listed = excluded if isinstance(excluded, list) else []
    named = [one for one in listed if isinstance(one, dict)]
    exclusions = manifest.get("exclusions")
    counts = exclusions if isinstance(exclusions, dict) else {}
    for reason, count in sorted(counts.items(), key=lambda one: (-_whole(one[1]), one[0])):
        own = [one for one in named if one.get("reason") == reason]
        href = None
        if own:
            anchor = f"excluded-{len(extra) + 1}"
            links = tuple(_excluded(one) for one in own[: source.bounds.in_list])
            extra.append(
                Listing(anchor, f"left out: {name_text(str(reason))}", links, _whole(count))
            )
            href = f"#{anchor}"
        told = Number(f"{_whole(count):,}", href, f"left out: {name_text(str(reason))}")
        lines.append(Line(name_text(str(reason)), (told,), "before it was graded"))
    for word in ("missing", "error", "inconclusive"):
        reasons: dict[str, list[int]] = {}
        for one in seen:
            if outcome(one.row) == word:
                reasons.setdefault(_why(one), []).append(one.item)
        ordered = sorted(reasons.items(), key=lambda pair: (-len(pair[1]), pair[0]))
        for reason, indexes in ordered:
            told = listings.number(f"{word}: {name_text(reason)}", indexes)
            lines.append(Line(name_text(reason), (told,), f"{word}, in no rate"))
    unread = _whole(manifest.get("unreadable"))
    if unread:
        lines.append(Line("lines of a benchmark that could not be read", (Number(f"{unread:,}"),)))
    most = source.bounds.lines
    rest = lines[most:]
    more = f"{len(rest):,} more reasons are not shown." if rest else ""
    about = (
        "What no rate below counts, by reason." if lines else "Nothing is left out of the rates."
    )
    columns = ("Reason", "number")
    return Table("left-out", "Left out", about, columns, tuple(lines[:most]), more), tuple(extra)


def _cards(items: Sequence[ReportItem], listings: Listings) -> tuple[Card, ...]:
    words: dict[str, list[int]] = {}
    for index, item in enumerate(items):
        words.setdefault(item.word, []).append(index)
    everything = listings.number("all subjects", range(len(items)))
    cards = [Card("subjects", everything, "every sample counts")]
    names = {"": "scored or answered"}
    for word in ("pass", "fail", "critical", "inconclusive", "error", "missing", ""):
        if word in words:
            told = listings.number(f"subjects: {names.get(word, word)}", words[word])
            cards.append(Card(names.get(word, word), told, tone=TONES.get(word, "plain")))
    return tuple(cards)


def _named_cuts(source: ResultSource) -> list[RateCut]:
    """Return the rates, those of behaviours with their names."""
    names = source.relations.behaviors
    return [
        cut._replace(
            rates=tuple(
                rate._replace(name=f"{rate.name} {names.get(rate.name, '')}".strip())
                for rate in cut.rates
            )
        )
        if cut.kind == "behavior"
        else cut
        for cut in rate_cuts(source.items)
    ]


def _rate_tables(
    cuts: Sequence[RateCut], listings: Listings, bounds: PageBounds
) -> Iterable[Table]:
    """Yield a table of what has only one line of its kind, then one for each kind with several."""
    single = [cut for cut in cuts if len(cut.rates) == 1]
    if len(single) > 1:
        lines = [
            _line(f"{_LABELS[cut.kind]} {rate.name}", rate, cut.kind, listings)
            for cut in single
            for rate in cut.rates
        ]
        about = "The same subjects, by everything that they have in common."
        columns = ("Of", *_COLUMNS)
        chart = _chart(lines[:1], [single[0].rates[0]])
        yield Table("rates", "Rates", about, columns, tuple(lines), "", chart)
    for cut in cuts:
        if len(cut.rates) > 1 or len(single) < 2:
            yield _rate_table(cut, listings, bounds)


def _chart(lines: Sequence[Line], rates: Sequence[Rate]) -> tuple[Chart, ...]:
    """Return a chart of rates, each bar a link to what its line counts; none without rates."""
    bars = [
        (line.name, rate.estimate, line.cells[0].href)
        for line, rate in zip(lines, rates, strict=True)
    ]
    chart = rate_chart("Share that passed, with its 95 % interval", bars)
    return () if chart is None else (chart,)


def _rate_table(cut: RateCut, listings: Listings, bounds: PageBounds) -> Table:
    title, about = _TITLES[cut.kind]
    rates = cut.rates[: bounds.lines]
    lines = [_line(rate.name, rate, cut.kind, listings) for rate in rates]
    left = len(cut.rates) - len(rates)
    more = f"{left:,} more lines are not shown." if left else ""
    columns = (_LABELS[cut.kind].capitalize(), *_COLUMNS)
    charts = _chart(lines, rates)
    return Table(f"by-{cut.kind}", title, about, columns, tuple(lines), more, charts)


def _line(name: str, rate: Rate, kind: str, listings: Listings) -> Line:
    """Return the line of a rate, which says so where its sample is not its rows."""
    counted = len(rate.passed) + len(rate.failed)
    note = ""
    if rate.estimate is not None and rate.estimate.n != counted:
        what = "benchmarks" if kind == "overall" else "tasks or sessions"
        note = f"the sample is {rate.estimate.n:,} {what}"
    return Line(name_text(name), tuple(_cells(rate, kind, listings)), note)


def _cells(rate: Rate, kind: str, listings: Listings) -> Iterable[Number]:
    name = f"{_LABELS[kind]} {short(rate.name, 80)}"
    counted = [one.item for one in (*rate.passed, *rate.failed)]
    yield listings.number(f"counted, {name}", counted, shown=rate_text(rate.estimate))
    yield listings.number(f"counted, {name}", counted, shown=interval_text(rate.estimate))
    yield listings.number(f"passed, {name}", [one.item for one in rate.passed])
    yield listings.number(f"failed, {name}", [one.item for one in rate.failed])
    yield listings.number(f"not counted, {name}", [one.item for one in rate.apart])
    yield listings.number(f"all, {name}", [one.item for one in rate.seen])
    scored = [one.item for one in rate.seen if one.row.score is not None]
    mean = "-" if rate.mean is None else f"{rate.mean:.2f}"
    yield listings.number(f"with a score, {name}", scored, shown=mean)


def _score_table(seen: Sequence[Seen], listings: Listings) -> Table | None:
    """Return how often which score from 0 to 5 was given; None where there are none."""
    by: dict[str, dict[str, list[int]]] = {}
    for one in seen:
        score = number((one.row.model_extra or {}).get("rubric_score"))
        if score is None or not 0 <= score <= 5:
            continue
        own = by.setdefault(one.row.grader, {label: [] for label in _SCORES})
        own[_SCORES[int(score + 0.5) if score < 5 else 5]].append(one.item)
    lines: list[Line] = []
    charts: list[Chart] = []
    for grader in sorted(by):
        told = f"score by {short(grader, 80)}"
        cells = {
            label: listings.number(f"{told}: {label}", indexes)
            for label, indexes in by[grader].items()
        }
        lines.append(Line(name_text(grader), tuple(cells.values())))
        counts = [(label, len(by[grader][label]), cell.href) for label, cell in cells.items()]
        chart = count_chart(f"Scores by {short(grader, 80)}", counts)
        if chart is not None and len(charts) < 6:
            charts.append(chart)
    if not lines:
        return None
    about = "How often each score of a rubric was given; means are rounded to the nearest."
    columns = ("Grader", *_SCORES)
    return Table("scores", "Scores from 0 to 5", about, columns, tuple(lines), "", tuple(charts))


def _why(one: Seen) -> str:
    told = (one.row.model_extra or {}).get("missing")
    if isinstance(told, str) and told:
        return f"{one.row.grader}: {told}"
    return f"{one.row.grader}: {short(one.row.missing_reason or 'no reason is told', 160)}"


def _excluded(one: Mapping[str, Any]) -> Link:
    parts = [f"trace {one.get('trace_id')}", f"turn {one.get('turn')}", str(one.get("detail"))]
    return Link(short(", ".join(part for part in parts if not part.endswith("None")), 240))


def _whole(value: Json) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0

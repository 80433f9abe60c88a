"""The page of a result set: what is left out, rates, then every subject and what is said of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pydantic import ValidationError

from tracedance_sdk.behaviors import THREATS
from tracedance_sdk.judging import ItemKey
from tracedance_sdk.report.html.charts import (
    Chart,
    count_chart,
    interval_text,
    rate_chart,
    rate_text,
)
from tracedance_sdk.report.html.findings import finding, number, outcome, score_words
from tracedance_sdk.report.html.links import Anchors, Listings
from tracedance_sdk.report.html.page import (
    TONES,
    Card,
    Detail,
    HtmlPage,
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
    is_of_benchmark,
    rate_cuts,
    seen_rows,
)
from tracedance_sdk.report.html.related import RelatedViews, Relations, related_views
from tracedance_sdk.report.html.texts import name_text, short
from tracedance_sdk.report.html.turns import DecisionPlace, source_view, turn_view, window
from tracedance_sdk.trace import Json, Turn

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
_TOLD_APART: Final = frozenset(
    ("exclusions", "excluded", "format", "judges", "n_rows", "rates", "rows_sha256", "version")
)
_MOST_FACTS: Final = 24
_SCORES: Final = ("0", "1", "2", "3", "4", "5")


class ResultSource(NamedTuple):
    """What a page of results is made from.

    Attributes:
        title: Its heading.
        manifest: What the set says of itself.
        items: What it holds.
        places: Decisions by item, for those whose trace is known.
        notes: What the reader should know, in sentences.
        relations: Occurrences and tests of the same traces.
        bounds: How much of everything.
    """

    title: str
    manifest: Mapping[str, Any]
    items: Sequence[ReportItem]
    places: Mapping[ItemKey, DecisionPlace] = {}
    notes: Sequence[str] = ()
    relations: Relations = Relations()
    bounds: PageBounds = PageBounds()


def wanted_items(source: ResultSource) -> list[ReportItem]:
    """Return the items whose details the page will show, for whoever looks for their traces."""
    collected = _collected(source)
    return [source.items[index] for index in collected.listings.chosen(source.bounds.details)]


def results_page(source: ResultSource) -> HtmlPage:
    """Return the page of a result set; the same for the same source."""
    collected = _collected(source)
    bounds, items = source.bounds, source.items
    chosen = collected.listings.chosen(bounds.details)
    anchors = Anchors()
    names = {index: anchors.named("item", str(index + 1)) for index in chosen}
    back = {items[index].name: _link(items[index], f"#{name}") for index, name in names.items()}
    related = related_views(source.relations, back, anchors=anchors, bounds=bounds)
    details: list[Detail] = []
    size = 0
    for index in chosen:
        if size > bounds.all_characters:
            del names[index]
            continue
        detail = _detail(items[index], names[index], source, related)
        size += detail.size
        details.append(detail)
    links = [
        _link(item, f"#{names[index]}" if index in names else None)
        for index, item in enumerate(items)
    ]
    is_benchmark = any(is_of_benchmark(row) for item in items for row in item.rows)
    is_benchmark = is_benchmark or source.manifest.get("command") == "benchmark run"
    return HtmlPage(
        title=source.title,
        subtitle=_subtitle(source),
        facts=tuple(_facts(source.manifest)),
        cards=collected.cards,
        left_out=collected.left_out,
        notes=tuple(source.notes),
        tables=collected.tables,
        threats=THREATS if is_benchmark else (),
        listings=(*collected.listings.made(links, bounds), *collected.extra),
        details=tuple(details),
        details_note=_details_note(len(details), len(items), bounds),
        occurrences=related.occurrences,
        occurrences_note=related.occurrences_note,
        tests=related.tests,
        tests_note=related.tests_note,
    )


class _Collected(NamedTuple):
    """The top of the page, and the lists that its numbers lead to."""

    cards: tuple[Card, ...]
    left_out: Table
    tables: tuple[Table, ...]
    listings: Listings
    extra: tuple[Listing, ...]


def _collected(source: ResultSource) -> _Collected:
    listings = Listings()
    seen = seen_rows(source.items)
    left_out, extra = _left_out(source, seen, listings)
    cards = _cards(source.items, listings)
    tables = list(_rate_tables(_named_cuts(source), listings, source.bounds))
    if (scores := _score_table(seen, listings)) is not None:
        tables.append(scores)
    return _Collected(cards, left_out, tuple(tables), listings, extra)


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


def _detail(item: ReportItem, anchor: str, source: ResultSource, related: RelatedViews) -> Detail:
    bounds = source.bounds
    first = item.rows[0]
    place = source.places.get(item.key)
    reply, reply_note = _reply(item.reply, bounds)
    facts = [
        ("trace", item.key.trace_id),
        ("turn", None if item.key.turn is None else str(item.key.turn)),
        ("instance", item.key.instance_id),
        ("sample", str(item.key.sample)),
        ("model", item.key.model),
        ("task", first.task_id),
        ("group", first.group if first.group != first.task_id else None),
        *_benchmark_facts(item),
    ]
    return Detail(
        anchor=anchor,
        title=_title(item),
        word=item.word or score_words(item.decides) or "answered",
        tone=TONES.get(item.word, "plain"),
        facts=tuple((name, short(value, 400)) for name, value in facts if value),
        findings=tuple(finding(row, bounds) for row in item.rows if _says_something(item, row)),
        reply=reply,
        reply_note=reply_note,
        window=None if place is None else window(place, bounds),
        source=None if place is None else source_view(place, bounds),
        related=related.of(item.name),
    )


def _says_something(item: ReportItem, row: Any) -> bool:
    """Whether a row is more than the reply, which is shown by itself."""
    return bool(row.grader != "next_turn" or row.missing_reason or len(item.rows) == 1)


def _reply(reply: Json, bounds: PageBounds) -> tuple[Any, str]:
    if reply is None:
        return None, ""
    try:
        turn = Turn.model_validate(reply)
    except ValidationError:
        return None, f"The reply is no turn: {short(reply, 600)}"
    if not turn.content and not turn.calls:
        return None, "The reply is empty."
    note = "Its calls were asked for, not carried out." if turn.calls else ""
    return turn_view(turn, bounds)._replace(title="reply"), note


def _benchmark_facts(item: ReportItem) -> Iterable[tuple[str, str | None]]:
    own = item.decides.model_extra or {}
    for label, name in (
        *(("benchmark", "benchmark"), ("behaviours", "behaviors")),
        *(("frames", "frames"), ("groups of behaviours", "behavior_groups")),
    ):
        value = own.get(name)
        listed = value if isinstance(value, list) else [value]
        yield label, ", ".join(str(one) for one in listed if isinstance(one, str)) or None


def _title(item: ReportItem) -> str:
    key = item.key
    parts = [f"instance {key.instance_id}" if key.instance_id else f"trace {key.trace_id}"]
    parts += [f"turn {key.turn}"] if key.turn is not None else []
    parts += [f"sample {key.sample}"] if key.sample else []
    return ", ".join(short(part, 160) for part in parts)


def _link(item: ReportItem, href: str | None) -> Link:
    word = item.word or score_words(item.decides)
    return Link(_title(item), href, word, TONES.get(item.word, "plain"))


def _why(one: Seen) -> str:
    told = (one.row.model_extra or {}).get("missing")
    if isinstance(told, str) and told:
        return f"{one.row.grader}: {told}"
    return f"{one.row.grader}: {short(one.row.missing_reason or 'no reason is told', 160)}"


def _excluded(one: Mapping[str, Any]) -> Link:
    parts = [f"trace {one.get('trace_id')}", f"turn {one.get('turn')}", str(one.get("detail"))]
    return Link(short(", ".join(part for part in parts if not part.endswith("None")), 240))


def _subtitle(source: ResultSource) -> str:
    rows = sum(len(item.rows) for item in source.items)
    command = short(source.manifest.get("command") or "results", 80)
    model = short(source.manifest.get("model"), 160)
    who = f" with {model}" if model else ""
    return f"{command}{who}: {_count(rows, 'row')} about {_count(len(source.items), 'subject')}"


def _facts(manifest: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    told = [(name, value) for name, value in manifest.items() if name not in _TOLD_APART]
    kept = [(str(name), value) for name, value in told if value not in (None, "", [], {})]
    for name, value in kept[:_MOST_FACTS]:
        yield short(name.replace("_", " "), 80), short(_plain(value), 500)
    judges = manifest.get("judges")
    if isinstance(judges, list) and judges:
        names = [one.get("name") for one in judges if isinstance(one, dict)]
        yield "judges", short(", ".join(str(name) for name in names), 500)


def _plain(value: Json) -> Json:
    """Return an object of plain values as people write it; all else as it is."""
    if isinstance(value, dict) and not any(isinstance(one, (dict, list)) for one in value.values()):
        return ", ".join(f"{name} {short(one) or 'none'}" for name, one in value.items())
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return ", ".join(value)
    if isinstance(value, list) and all(isinstance(one, dict) and "id" in one for one in value):
        told = [(one["id"], one.get("status"), one.get("instances")) for one in value]
        return "; ".join(", ".join(short(part) for part in of if part) for of in told)
    return value


def _details_note(shown: int, of: int, bounds: PageBounds) -> str:
    said = f"Texts are cut after {bounds.characters:,} characters, and say so."
    if shown < of:
        return (
            f"{shown:,} of {_count(of, 'subject')} have details here: a page holds at most "
            f"{bounds.details:,}, some of every list. {said}"
        )
    return f"{_count(of, 'subject')}. {said}"


def _count(many: int, what: str) -> str:
    return f"{many:,} {what}" if many == 1 else f"{many:,} {what}s"


def _whole(value: Json) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _is_list(value: Json) -> bool:
    return isinstance(value, list)

"""The page of a scan: what is left out, how much was found, how often, and each occurrence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from tracedance_sdk.behaviors import Occurrence
from tracedance_sdk.report.html.charts import (
    Chart,
    count_chart,
    interval_text,
    rate_chart,
    rate_text,
    week_chart,
)
from tracedance_sdk.report.html.links import Anchors, Listings
from tracedance_sdk.report.html.page import (
    Card,
    Detail,
    HtmlPage,
    Line,
    Link,
    Number,
    PageBounds,
    Table,
)
from tracedance_sdk.report.html.related import RelatedViews, Relations, related_views
from tracedance_sdk.report.html.texts import name_text, short
from tracedance_sdk.report.html.turns import DecisionPlace, source_view, window
from tracedance_sdk.statistics import Estimate, pass_rate
from tracedance_sdk.trace import Json

DIMENSIONS: Final = ("week", "agent", "collector", "project", "model")
_STEPS: Final = ("sessions", "traces", "candidates", "hits", "kept", "hit_sessions")
_STEP_NAMES: Final = ("sessions", "traces", "candidates", "occurrences", "kept", "sessions with")
_MOST_BEHAVIORS: Final = 8
_UNCONFIRMED: Final = (
    "Rules found these places, and nobody has looked at them. A rate is the share of sessions with "
    "at least one; what is left out of benchmarks counts in it."
)


class ScanSource(NamedTuple):
    """What a page of a scan is made from.

    Attributes:
        title: Its heading.
        header: The first line of the file.
        occurrences: All others.
        places: Decisions by id of the occurrence, for those whose trace is known.
        notes: What the reader should know, in sentences.
        relations: Tests of the same traces, and names of behaviours.
        bounds: How much of everything.
    """

    title: str
    header: Mapping[str, Any]
    occurrences: Sequence[Occurrence]
    places: Mapping[str, DecisionPlace] = {}
    notes: Sequence[str] = ()
    relations: Relations = Relations()
    bounds: PageBounds = PageBounds()

    def named(self, behavior: str) -> str:
        """Return a behaviour with its name, where that is known."""
        return name_text(f"{behavior} {self.relations.behaviors.get(behavior, '')}".strip())


def wanted_occurrences(source: ScanSource) -> list[Occurrence]:
    """Return those whose details the page will show, for whoever looks for their traces."""
    listings, _ = _top(source)
    return [source.occurrences[index] for index in listings.chosen(source.bounds.details)]


def scan_page(source: ScanSource) -> HtmlPage:
    """Return the page of a scan; the same for the same source."""
    bounds, found = source.bounds, source.occurrences
    listings, top = _top(source)
    chosen = listings.chosen(bounds.details)
    anchors = Anchors()
    names = {index: anchors.named("occurrence", found[index].id) for index in chosen}
    back = {
        found[index].id: _link(source, found[index], f"#{name}") for index, name in names.items()
    }
    traces = {one.id: (one.trace_id,) for one in found}
    relations = source.relations._replace(occurrences=(), traces=traces)
    related = related_views(relations, back, anchors=anchors, bounds=bounds)
    details: list[Detail] = []
    size = 0
    for index in chosen:
        if size > bounds.all_characters:
            del names[index]
            continue
        details.append(_detail(source, found[index], names[index], related))
        size += details[-1].size
    links = [
        _link(source, one, f"#{names[index]}" if index in names else None)
        for index, one in enumerate(found)
    ]
    note = f"Texts are cut after {bounds.characters:,} characters, and say so."
    if len(details) < len(found):
        note = (
            f"{len(details):,} of {len(found):,} occurrences have details here: a page holds at "
            f"most {bounds.details:,}, some of every list. {note}"
        )
    return top._replace(
        listings=listings.made(links, bounds),
        details=tuple(details),
        details_note=note,
        tests=related.tests,
        tests_note=related.tests_note,
    )


def _top(source: ScanSource) -> tuple[Listings, HtmlPage]:
    """Return everything above the details, and the lists that its numbers lead to."""
    listings = Listings()
    by: dict[str, list[int]] = {}
    for index, one in enumerate(source.occurrences):
        by.setdefault(one.behavior, []).append(index)
    funnels = _funnels(source)
    for behavior in by:
        funnels.setdefault(behavior, {})
    left_out = _left_out(source, funnels, listings)
    kept = [index for index, one in enumerate(source.occurrences) if one.dropped is None]
    everything = range(len(source.occurrences))
    cards = (
        Card("behaviours", Number(f"{len(funnels):,}")),
        Card("occurrences", listings.number("all occurrences", everything), "unconfirmed"),
        Card("kept", listings.number("kept for benchmarks", kept), "for benchmarks"),
    )
    sessions = source.header.get("sessions")
    tables = [_funnel_table(source, funnels, by, listings)]
    for dimension in DIMENSIONS:
        of = sessions.get(dimension) if isinstance(sessions, dict) else None
        table = _dimension_table(source, dimension, by, of, listings)
        if table is not None:
            tables.append(table)
    page = HtmlPage(
        title=source.title,
        subtitle=f"scan: {len(source.occurrences):,} occurrences of {len(funnels):,} behaviours",
        facts=tuple(_facts(source.header)),
        cards=cards,
        left_out=left_out,
        notes=(_UNCONFIRMED, *source.notes),
        tables=tuple(tables),
        threats=(),
        listings=(),
        details=(),
        details_note="",
    )
    return listings, page


def _left_out(
    source: ScanSource, funnels: Mapping[str, Mapping[str, Any]], listings: Listings
) -> Table:
    reasons: dict[str, list[int]] = {}
    for index, one in enumerate(source.occurrences):
        if one.dropped is not None:
            is_near = one.dropped.startswith("near-duplicate")
            reason = "near-duplicate" if is_near else f"enough of one {short(one.dropped)} are kept"
            reasons.setdefault(reason, []).append(index)
    lines = [
        Line(reason, (listings.number(f"left out: {reason}", indexes),), "of benchmarks, not rates")
        for reason, indexes in sorted(reasons.items(), key=lambda one: (-len(one[1]), one[0]))
    ]
    lines += [
        Line(source.named(behavior), (Number(f"{errors:,}"),), "places that could not be looked at")
        for behavior, funnel in funnels.items()
        if (errors := _whole(funnel.get("errors")))
    ]
    rest = len(lines) - source.bounds.lines
    more = f"{rest:,} more lines are not shown." if rest > 0 else ""
    about = "What does not go into benchmarks, by reason." if lines else "Nothing is left out."
    shown = tuple(lines[: source.bounds.lines])
    return Table("left-out", "Left out", about, ("Reason", "number"), shown, more)


def _funnel_table(
    source: ScanSource,
    funnels: Mapping[str, Mapping[str, Any]],
    by: Mapping[str, list[int]],
    listings: Listings,
) -> Table:
    """Return what is left after each step, and the rate, for each behaviour."""
    lines, rates = [], []
    for behavior, funnel in funnels.items():
        name, own = source.named(behavior), by.get(behavior, [])
        kept = [index for index in own if source.occurrences[index].dropped is None]
        rate = _rate(funnel.get("hit_sessions"), funnel.get("sessions"))
        cells = [Number(_number(funnel.get(step))) for step in _STEPS[:3]]
        cells.append(listings.number(f"occurrences of {name}", own))
        cells.append(listings.number(f"kept of {name}", kept))
        hit = _number(funnel.get("hit_sessions"))
        cells.append(listings.number(f"occurrences of {name}", own, shown=hit))
        cells.append(listings.number(f"occurrences of {name}", own, shown=rate_text(rate)))
        cells.append(listings.number(f"occurrences of {name}", own, shown=interval_text(rate)))
        lines.append(Line(name, tuple(cells)))
        rates.append((name, rate, cells[3].href))
    most = max((rate.interval.high for _, rate, _ in rates if rate is not None), default=1.0)
    title = "Share of sessions, with its 95 % interval"
    chart = rate_chart(f"{title}; the width is {100 * most:.3g} %", rates, whole=most or 1.0)
    columns = ("Behaviour", *_STEP_NAMES, "rate", "95 % interval")
    about = "How many places are left after each step: named by the prefilter, found, kept."
    charts = () if chart is None else (chart,)
    shown = tuple(lines[: source.bounds.lines])
    rest = len(lines) - len(shown)
    more = f"{rest:,} more behaviours are not shown." if rest else ""
    return Table("by-behavior", "By behaviour", about, columns, shown, more, charts)


def _dimension_table(
    source: ScanSource,
    dimension: str,
    by: Mapping[str, list[int]],
    sessions: Any,
    listings: Listings,
) -> Table | None:
    """Return rates, or counts where sessions are not known, by week, agent or the like."""
    lines: list[Line] = []
    charts: list[Chart] = []
    totals = sessions if isinstance(sessions, dict) else {}
    is_rate = bool(totals)
    ordered = sorted(by.items(), key=lambda one: (-len(one[1]), one[0]))
    for behavior, indexes in ordered[:_MOST_BEHAVIORS]:
        values = _by_value(source, dimension, indexes)
        if not is_rate and set(values) <= {""}:
            continue
        drawn: list[tuple[str, Estimate | None, int, str | None]] = []
        for value in sorted(values):
            own = values[value]
            label = name_text(value) or "not known"
            name = f"{source.named(behavior)}, {dimension} {short(label, 60)}"
            count = listings.number(f"occurrences of {name}", own)
            hit = {source.occurrences[index].session for index in own}
            rate = _rate(len(hit), totals.get(value)) if is_rate else None
            cells = [count, Number(f"{len(hit):,}", count.href)]
            if is_rate:
                cells += [Number(_number(totals.get(value)))]
                cells += [Number(text, count.href) for text in _words(rate)]
            lines.append(Line(label, tuple(cells), source.named(behavior)))
            drawn.append((label, rate, len(own), count.href))
        title = f"{source.named(behavior)} by {dimension}"
        if dimension == "week":
            charts += _weeks(title, drawn, totals)
        else:
            charts += _bars(title, drawn, is_rate)
    if len(lines) < 2:
        return None
    columns = [dimension.capitalize(), "occurrences", "sessions with"]
    columns += ["sessions", "rate", "95 % interval"] if is_rate else []
    rest = len(lines) - source.bounds.lines
    more = f"{rest:,} more lines are not shown." if rest > 0 else ""
    if len(ordered) > _MOST_BEHAVIORS:
        more += f" {len(ordered) - _MOST_BEHAVIORS:,} rarer behaviours are not shown."
    about = f"In how many sessions each behaviour occurs; a {dimension} with none has no line."
    about = about if is_rate else "How many were found; how many sessions there are is not known."
    shown = tuple(lines[: source.bounds.lines])
    title = f"By {dimension}"
    return Table(
        f"by-{dimension}", title, about, tuple(columns), shown, more.strip(), tuple(charts)
    )


def _weeks(
    title: str,
    drawn: Sequence[tuple[str, Estimate | None, int, str | None]],
    totals: Mapping[str, Any],
) -> list[Chart]:
    """Return columns by week; weeks with sessions and without occurrences have the rate 0."""
    rates = {week: _rate(0, number) for week, number in totals.items() if week}
    rates |= {week: rate for week, rate, _, _ in drawn if totals}
    counts = {week: number for week, _, number, _ in drawn}
    what = "share of sessions" if totals else "occurrences"
    chart = week_chart(f"{title}: {what}", rates, counts)
    return [] if chart is None else [chart]


def _bars(
    title: str, drawn: Sequence[tuple[str, Estimate | None, int, str | None]], is_rate: bool
) -> list[Chart]:
    if len(drawn) < 2:
        return []
    if not is_rate:
        counts = [(label, number, href) for label, _, number, href in drawn]
        chart = count_chart(f"{title}: occurrences", counts)
    else:
        most = max((rate.interval.high for _, rate, _, _ in drawn if rate is not None), default=1.0)
        said = f"{title}: share of sessions with its interval; the width is {100 * most:.3g} %"
        chart = rate_chart(
            said, [(label, rate, href) for label, rate, _, href in drawn], whole=most
        )
    return [] if chart is None else [chart]


def _by_value(source: ScanSource, dimension: str, indexes: Sequence[int]) -> dict[str, list[int]]:
    of: Callable[[Occurrence], Json] = lambda one: getattr(one, dimension)  # noqa: E731
    found: dict[str, list[int]] = {}
    for index in indexes:
        found.setdefault(str(of(source.occurrences[index]) or ""), []).append(index)
    return found


def _detail(source: ScanSource, one: Occurrence, anchor: str, related: RelatedViews) -> Detail:
    place = source.places.get(one.id)
    facts = [
        ("behaviour", source.named(one.behavior)),
        ("why", one.note),
        *((name, getattr(one, name)) for name in ("trace_id", "session", "week", "project")),
        *((name, getattr(one, name)) for name in ("user", "agent", "collector", "model", "at")),
        ("left out of benchmarks", one.dropped),
        ("id", one.id),
    ]
    quotes = tuple(
        (f"turn {item.turn}" + ("" if item.call is None else f", call {item.call}"), item.quote)
        for item in one.evidence
    )
    return Detail(
        anchor=anchor,
        title=_title(source, one),
        word="left out" if one.dropped else "kept",
        tone="open" if one.dropped else "plain",
        facts=tuple((name.replace("_", " "), short(value, 400)) for name, value in facts if value),
        evidence=tuple((where, short(quote, 600)) for where, quote in quotes[:20]),
        window=None if place is None else window(place, source.bounds),
        source=None if place is None else source_view(place, source.bounds),
        related=related.of(one.id),
    )


def _link(source: ScanSource, one: Occurrence, href: str | None) -> Link:
    word = "left out" if one.dropped else ""
    return Link(_title(source, one), href, word, "open" if one.dropped else "plain")


def _title(source: ScanSource, one: Occurrence) -> str:
    return short(f"{source.named(one.behavior)}: trace {one.trace_id}, turn {one.turn}", 200)


def _funnels(source: ScanSource) -> dict[str, dict[str, Any]]:
    listed = source.header.get("funnels")
    found = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return {str(one.get("behavior")): one for one in found}


def _facts(header: Mapping[str, Any]) -> list[tuple[str, str]]:
    told = ("caps", "where", "parameters", "behaviors")
    return [
        (name, short(header.get(name), 600)) for name in told if header.get(name) not in (None, {})
    ]


def _rate(hit: Json, of: Json) -> Estimate | None:
    """Return a share with its Wilson interval; None for what are no counts."""
    if not _whole(of) or _whole(hit) > _whole(of) or _whole(hit) < 0:
        return None
    return pass_rate(_whole(hit), _whole(of))


def _words(rate: Estimate | None) -> tuple[str, str]:
    return rate_text(rate), interval_text(rate)


def _number(value: Json) -> str:
    is_count = isinstance(value, int) and not isinstance(value, bool)
    return f"{value:,}" if is_count else "-"


def _whole(value: Json) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0

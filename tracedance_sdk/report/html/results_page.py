"""The page of a result set: what is left out, rates, then every subject and what is said of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from tracedance_sdk.behaviors import THREATS
from tracedance_sdk.report.html.links import Anchors
from tracedance_sdk.report.html.page import (
    Detail,
    HtmlPage,
    PageBounds,
)
from tracedance_sdk.report.html.rates import (
    ReportItem,
    is_of_benchmark,
)
from tracedance_sdk.report.html.related import related_views
from tracedance_sdk.report.html.result_details import result_detail, result_link
from tracedance_sdk.report.html.result_source import ResultSource
from tracedance_sdk.report.html.result_top import result_top
from tracedance_sdk.report.html.texts import short
from tracedance_sdk.trace import Json

_TOLD_APART: Final = frozenset(
    ("exclusions", "excluded", "format", "judges", "n_rows", "rates", "rows_sha256", "version")
)


_MOST_FACTS: Final = 24


def wanted_items(source: ResultSource) -> list[ReportItem]:
    """Return the items whose details the page will show, for whoever looks for their traces."""
    top = result_top(source)
    return [source.items[index] for index in top.listings.chosen(source.bounds.details)]


def results_page(source: ResultSource) -> HtmlPage:
    """Return the page of a result set; the same for the same source."""
    top = result_top(source)
    bounds, items = source.bounds, source.items
    chosen = top.listings.chosen(bounds.details)
    anchors = Anchors()
    names = {index: anchors.named("item", str(index + 1)) for index in chosen}
    back = {
        items[index].name: result_link(items[index], f"#{name}") for index, name in names.items()
    }
    related = related_views(source.relations, back, anchors=anchors, bounds=bounds)
    details: list[Detail] = []
    size = 0
    for index in chosen:
        if size > bounds.all_characters:
            del names[index]
            continue
        detail = result_detail(items[index], names[index], source, related)
        size += detail.size
        details.append(detail)
    links = [
        result_link(item, f"#{names[index]}" if index in names else None)
        for index, item in enumerate(items)
    ]
    is_benchmark = any(is_of_benchmark(row) for item in items for row in item.rows)
    is_benchmark = is_benchmark or source.manifest.get("command") == "benchmark run"
    return HtmlPage(
        title=source.title,
        subtitle=_subtitle(source),
        facts=tuple(_facts(source.manifest)),
        cards=top.cards,
        left_out=top.left_out,
        notes=tuple(source.notes),
        tables=top.tables,
        threats=THREATS if is_benchmark else (),
        listings=(*top.listings.made(links, bounds), *top.extra),
        details=tuple(details),
        details_note=_details_note(len(details), len(items), bounds),
        occurrences=related.occurrences,
        occurrences_note=related.occurrences_note,
        tests=related.tests,
        tests_note=related.tests_note,
    )


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

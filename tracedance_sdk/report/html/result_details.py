"""What a page of results shows of one subject."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import ValidationError

from tracedance_sdk.grading import ResultRow
from tracedance_sdk.report.html.findings import finding, score_words
from tracedance_sdk.report.html.page import (
    TONES,
    Detail,
    Link,
    PageBounds,
    TurnView,
)
from tracedance_sdk.report.html.rates import (
    ReportItem,
)
from tracedance_sdk.report.html.related import RelatedViews
from tracedance_sdk.report.html.result_source import ResultSource
from tracedance_sdk.report.html.texts import short
from tracedance_sdk.report.html.turns import source_view, turn_view, window
from tracedance_sdk.report.turn_marks import turn_marks
from tracedance_sdk.trace import Json, Turn


def result_detail(
    item: ReportItem, anchor: str, source: ResultSource, related: RelatedViews
) -> Detail:
    """Return all that is shown of one subject.

    Args:
        item: The subject.
        anchor: Its place in the page.
        source: Of the page.
        related: Occurrences and tests.
    """
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


def _says_something(item: ReportItem, row: ResultRow) -> bool:
    """Whether a row is more than the reply, which is shown by itself."""
    return bool(row.grader != "next_turn" or row.missing_reason or len(item.rows) == 1)


def _reply(reply: Json, bounds: PageBounds) -> tuple[TurnView | None, str]:
    if reply is None:
        return None, ""
    try:
        turn = Turn.model_validate(reply)
    except ValidationError:
        return None, f"The reply is no turn: {short(reply, 600)}"
    if not turn.content and not turn.calls and not any(turn_marks(turn)):
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


def result_link(item: ReportItem, href: str | None) -> Link:
    """Return a link to the details of a subject; without an address it is text."""
    word = item.word or score_words(item.decides)
    return Link(_title(item), href, word, TONES.get(item.word, "plain"))

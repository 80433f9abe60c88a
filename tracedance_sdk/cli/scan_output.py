"""How `tracedance scan` says what it found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tracedance_sdk.cli.counts import count

if TYPE_CHECKING:
    from tracedance_sdk.behaviors import (
        Frequency,
        Funnel,
        Occurrence,
        Run,
        StoreScan,
        Wanted,
    )
    from tracedance_sdk.report import ReportConsole
    from tracedance_sdk.store import TraceStore

_AROUND: Final = 240
_TEXT: Final = 600


class Examples(NamedTuple):
    """What is shown of occurrences.

    Attributes:
        most: How many of each behaviour.
        store: Where their traces are.
        is_masked: Whether secrets are taken out.
    """

    most: int
    store: TraceStore
    is_masked: bool = True


def scan_document(found: StoreScan, wanted: Sequence[Wanted], *, by: Sequence[str]) -> str:
    """Return everything that was found as one JSON document.

    Each rate says what it is taken by; where nothing was asked for there is one over all sessions.
    """
    import orjson

    from tracedance_sdk.behaviors import frequencies
    from tracedance_sdk.trace import spelled_out

    rates = [(name, rate) for name in by or (None,) for rate in frequencies(found, by=name)]
    behaviors: list[dict[str, Any]] = []
    for item, funnel in zip(wanted, found.funnels, strict=True):
        behavior = item.behavior
        behaviors.append(
            {
                "id": behavior.id,
                "name": behavior.name,
                "frame": behavior.frame,
                "group": behavior.group,
                "status": behavior.status,
                "sha256": behavior.sha256,
                "parameters": dict(item.parameters),
                "confirmed": False,
                "funnel": funnel._asdict(),
                "rates": [
                    {"by": name, **_rate(rate)}
                    for name, rate in rates
                    if rate.behavior == behavior.id
                ],
                "occurrences": [
                    one.model_dump(mode="json") for one in found.occurrences[behavior.id]
                ],
            }
        )
    document = {
        "format": "tracedance.scan",
        "version": 1,
        "by": list(by),
        "behaviors": behaviors,
        "errors": list(found.errors),
    }
    return orjson.dumps(spelled_out(document), option=orjson.OPT_INDENT_2).decode()


def _rate(rate: Frequency) -> dict[str, Any]:
    estimate = rate.rate
    return {
        "value": rate.value,
        "sessions": rate.sessions,
        "hit_sessions": rate.hit_sessions,
        "rate": None if estimate is None else estimate.value,
        "interval": None if estimate is None else [estimate.interval.low, estimate.interval.high],
    }


def print_scan(
    found: StoreScan,
    wanted: Sequence[Wanted],
    *,
    by: Sequence[str],
    examples: Examples,
) -> None:
    """Print a table, rates by what was asked, and examples with their evidence marked."""
    from tracedance_sdk.behaviors import frequencies
    from tracedance_sdk.report import report_console

    console = report_console()
    first = found.funnels[0]
    console.say(f"{count(first.sessions, 'session')}, {count(first.traces, 'trace')}")
    console.say("")
    _print_table(console, found, wanted, frequencies(found))
    console.say("")
    console.say(
        "Hits are unconfirmed: rules found them, and nobody has looked. A rate is the share of "
        "sessions with a hit, with its 95 % interval.",
        hang=0,
    )
    if any(item.behavior.status == "experimental" for item in wanted):
        console.say("* experimental: its hits in real runs were mostly none, or there were none.")
    for name in by:
        _print_rates(console, wanted, frequencies(found, by=name), by=name)
    if examples.most:
        _print_examples(console, found, wanted, examples)


def _print_table(
    console: ReportConsole,
    found: StoreScan,
    wanted: Sequence[Wanted],
    rates: Sequence[Frequency],
) -> None:
    from tracedance_sdk.cli.columns import print_columns

    titles = ("id", "behaviour", "candidates", "hits", "kept", "sessions", "rate")
    rows = [
        (
            item.behavior.id,
            item.behavior.name + (" *" if item.behavior.status == "experimental" else ""),
            f"{funnel.candidates:,}",
            f"{funnel.hits:,}",
            f"{funnel.kept:,}",
            f"{funnel.hit_sessions:,}",
            _percent(rate),
        )
        for item, funnel, rate in zip(wanted, found.funnels, rates, strict=True)
    ]
    print_columns(console, titles, rows, numbers=(2, 3, 4, 5, 6))
    out = _left_out(found.funnels)
    if out:
        console.say(out)


def _left_out(funnels: Sequence[Funnel]) -> str:
    near = sum(funnel.near_duplicates for funnel in funnels)
    capped = sum(funnel.capped for funnel in funnels)
    if not near and not capped:
        return ""
    return (
        f"left out of what is kept: {count(near, 'near-duplicate')}, "
        f"{capped:,} beyond what is kept of one session, project or user"
    )


def _percent(rate: Frequency) -> str:
    from tracedance_sdk.report import percent

    if rate.rate is None:
        return "-"
    low, high, _ = rate.rate.interval
    return f"{percent(rate.rate.value)} % [{percent(low)}, {percent(high)}]"


def _print_rates(
    console: ReportConsole, wanted: Sequence[Wanted], rates: Sequence[Frequency], *, by: str
) -> None:
    from tracedance_sdk.cli.columns import print_columns
    from tracedance_sdk.report import in_one_line

    for item in wanted:
        own = [rate for rate in rates if rate.behavior == item.behavior.id and rate.sessions]
        if not any(rate.hit_sessions for rate in own):
            continue
        console.say("")
        console.say(in_one_line(f"{item.behavior.id} {item.behavior.name}"), style="bold")
        most = max(rate.rate.value for rate in own if rate.rate is not None)
        others: list[Frequency] = []
        if by != "week":  # weeks are read as a row, the others by what is frequent
            others = [rate for rate in own if not rate.hit_sessions]
            own = sorted(
                (rate for rate in own if rate.hit_sessions), key=lambda rate: -rate.hit_sessions
            )
        rows = [
            (
                rate.value or "unknown",
                f"{rate.sessions:,}",
                f"{rate.hit_sessions:,}",
                _percent(rate),
                _bar(rate, most),
            )
            for rate in own
        ]
        print_columns(console, (by, "sessions", "hit", "rate", ""), rows, numbers=(1, 2, 3))
        if others:
            sessions = sum(rate.sessions for rate in others)
            console.say(f"and none in {count(sessions, 'session')} of {len(others):,} others")


def _bar(rate: Frequency, most: float) -> str:
    if rate.rate is None or not most:
        return ""
    return "#" * round(20 * rate.rate.value / most)


def _print_examples(
    console: ReportConsole,
    found: StoreScan,
    wanted: Sequence[Wanted],
    examples: Examples,
) -> None:
    from tracedance_sdk.behaviors import Run
    from tracedance_sdk.report import ShownSecrets, in_one_line

    secrets = ShownSecrets(is_masking=examples.is_masked)
    for item in wanted:
        for one in found.kept(item.behavior.id)[: examples.most]:
            trace = examples.store.get(one.trace_id)
            clean = secrets.trace(trace)
            shown = secrets.occurrence(one, before=trace, after=clean)
            console.say("")
            console.say(in_one_line(f"{item.behavior.id} {item.behavior.name}"), style="bold")
            what = f"trace {one.trace_id}, turn {one.turn}: {shown.note}"
            console.say(in_one_line(what), indent=2, hang=2)
            _print_evidence(console, Run.of(clean), shown)


def _print_evidence(console: ReportConsole, run: Run, one: Occurrence) -> None:
    from tracedance_sdk.report import in_one_line

    for shown in sorted(one.evidence, key=lambda item: (item.turn, item.call or -1)):
        call = None if shown.call is None else run.call(shown.call)
        if call is None:
            text = _marked(run.turns[shown.turn].text, shown.quote)
            console.say(f"turn {shown.turn}  {in_one_line(text)}", indent=4, hang=6)
            continue
        asked = f"{call.name} {call.arguments_text[:_AROUND]}"
        told = call.result
        if shown.quote and shown.quote in asked:
            asked = _marked(asked, shown.quote)
        else:
            told = _marked(told, shown.quote)
        console.say(f"turn {shown.turn}  {in_one_line(asked)}", indent=4, hang=6)
        if told:
            console.say(f"-> {in_one_line(told[:_TEXT])}", indent=6, hang=3)


def _marked(text: str, quote: str) -> str:
    """Return what stands around a quote, the quote between marks; else the beginning."""
    place = text.find(quote) if quote else -1
    if place < 0:
        return text[:_TEXT]
    start, end = max(0, place - _AROUND), place + len(quote)
    before, after = text[start:place], text[end : end + _AROUND]
    return f"{'...' if start else ''}{before}>>{quote}<<{after}"

"""Charts as numbers: bars from 0 to 100, with the interval of each where it has one."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Final, NamedTuple

from tracedance_sdk.report.rates import percent
from tracedance_sdk.statistics import Estimate

MOST_BARS: Final = 60
_MOST_COLUMNS: Final = 260
_WEEK: Final = re.compile(r"[0-9]{4}-W[0-9]{2}")


class Bar(NamedTuple):
    """A bar of a chart.

    Attributes:
        label: What it is of.
        text: Its value as people read it.
        alt: All of it in words, for those who do not see it.
        width: From 0 to 100.
        interval: Both ends, from 0 to 100.
        href: Of what is behind it.
    """

    label: str
    text: str
    alt: str
    width: float
    interval: tuple[float, float] | None = None
    href: str | None = None


class Chart(NamedTuple):
    """Bars below each other, or columns beside each other.

    Attributes:
        title: What it shows.
        bars: In order.
        more: How many are left out.
        is_columns: Whether they stand, as what follows each other in time does.
        alt: All of it in a sentence, for columns.
    """

    title: str
    bars: tuple[Bar, ...]
    more: int = 0
    is_columns: bool = False
    alt: str = ""


def rate_text(estimate: Estimate | None) -> str:
    """Return a rate in percent; a dash for none."""
    return "-" if estimate is None else f"{percent(estimate.value)} %"


def interval_text(estimate: Estimate | None) -> str:
    """Return both ends of the interval of a rate in percent; a dash for none."""
    if estimate is None:
        return "-"
    low, high, _ = estimate.interval
    return f"{percent(low)} to {percent(high)} %"


def rate_chart(
    title: str, rates: Sequence[tuple[str, Estimate | None, str | None]], *, whole: float = 1.0
) -> Chart | None:
    """Return rates as bars with their intervals; None where there are none.

    Args:
        title: Of the chart.
        rates: Label, rate and address of each; those without a rate are passed over.
        whole: The rate that fills the width, for rates that are all small.
    """
    known = [(label, rate, href) for label, rate, href in rates if rate is not None]
    if not known:
        return None
    bars = []
    for label, rate, href in known[:MOST_BARS]:
        low, high, level = rate.interval
        said = f"{label}: {rate_text(rate)}, {100 * level:g} % interval {interval_text(rate)}"
        ends = (_place(low / whole), _place(high / whole))
        bars.append(Bar(label, rate_text(rate), said, _place(rate.value / whole), ends, href))
    return Chart(title, tuple(bars), len(known) - len(bars))


def week_chart(
    title: str, rates: Mapping[str, Estimate | None], counts: Mapping[str, int]
) -> Chart | None:
    """Return columns, one for each week from the first to the last; None for fewer than two weeks.

    Args:
        title: What it shows.
        rates: By week, such as ``2026-W07``; empty to draw counts. Weeks in between have none.
        counts: By week.
    """
    weeks = _all_weeks([week for week in {*rates, *counts} if _WEEK.fullmatch(week)])
    shown = weeks[-_MOST_COLUMNS:]
    if len(shown) < 2:
        return None
    values = {week: rate.value for week, rate in rates.items() if rate is not None}
    if not rates:
        values = {week: float(number) for week, number in counts.items()}
    most = max((values.get(week, 0.0) for week in shown), default=0.0)
    if not most:
        return None
    bars = []
    for week in shown:
        rate = rates.get(week)
        told = rate_text(rate) if rates else f"{counts.get(week, 0):,}"
        told = "no sessions" if rates and rate is None else told
        bars.append(Bar(week, told, f"{week}: {told}", _place(values.get(week, 0.0) / most)))
    top = next(bar for bar in bars if values.get(bar.label, 0.0) == most)
    alt = f"{title}, from {shown[0]} to {shown[-1]}; the most is {top.text} in {top.label}"
    return Chart(title, tuple(bars), len(weeks) - len(shown), is_columns=True, alt=alt)


def count_chart(title: str, counts: Sequence[tuple[str, int, str | None]]) -> Chart | None:
    """Return counts as bars, the largest over the whole width; None where all are 0."""
    most = max((number for _, number, _ in counts), default=0)
    if not most:
        return None
    bars = tuple(
        Bar(label, f"{number:,}", f"{label}: {number:,}", _place(number / most), None, href)
        for label, number, href in counts[:MOST_BARS]
    )
    return Chart(title, bars, len(counts) - len(bars))


def _all_weeks(weeks: Sequence[str]) -> list[str]:
    """Return all weeks from the first to the last, in order; those that are none are left out."""
    days = []
    for week in weeks:
        with contextlib.suppress(ValueError):
            days.append(date.fromisocalendar(int(week[:4]), int(week[6:]), 1))
    if not days:
        return []
    first, last = min(days), max(days)
    start = max(first, last - timedelta(weeks=10 * _MOST_COLUMNS)) if last.year > 10 else first
    number = (last - start).days // 7 + 1
    return [(start + timedelta(weeks=place)).strftime("%G-W%V") for place in range(number)]


def _place(share: float) -> float:
    return round(100 * min(max(share, 0.0), 1.0), 2)

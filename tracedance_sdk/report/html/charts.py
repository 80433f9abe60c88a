"""Charts as numbers: bars from 0 to 100, with the interval of each where it has one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from tracedance_sdk.report.rates import percent
from tracedance_sdk.statistics import Estimate

MOST_BARS: Final = 60


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
    """Bars below each other; `more` are left out."""

    title: str
    bars: tuple[Bar, ...]
    more: int = 0


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


def _place(share: float) -> float:
    return round(100 * min(max(share, 0.0), 1.0), 2)

"""Figures as cells of the tables that `tracedance calibrate` prints."""

from __future__ import annotations

from tracedance_sdk.judging import Measure
from tracedance_sdk.statistics import Estimate


def measure_cells(
    found: Measure, *, is_share: bool = False, signed: bool = False
) -> tuple[str, str]:
    """Return a value and its interval, or why there is none in the interval's place."""
    if found.value is None:
        return "-", found.why or ""
    value = percent_cell(found.value) if is_share else f"{found.value:{'+' if signed else ''}.3f}"
    if found.low is None or found.high is None:
        return value, found.why or ""
    if is_share:
        return value, f"{100 * found.low:.1f} to {100 * found.high:.1f} %"
    sign = "+" if signed else ""
    return value, f"{found.low:{sign}.3f} to {found.high:{sign}.3f}"


def interval_cell(found: Estimate) -> str:
    """Return the interval of a share."""
    return f"{100 * found.interval.low:.1f} to {100 * found.interval.high:.1f} %"


def percent_cell(value: float) -> str:
    """Return a share."""
    return f"{100 * value:.1f} %"

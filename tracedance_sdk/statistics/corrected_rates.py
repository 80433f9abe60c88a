"""A pass rate by a judge who errs, corrected by what is known of its errors. Standard library."""

from __future__ import annotations

import math
from typing import NamedTuple

from tracedance_sdk.errors import NotEnoughData
from tracedance_sdk.statistics.checking import (
    check_counts,
    check_level,
)
from tracedance_sdk.statistics.intervals import Estimate, Interval
from tracedance_sdk.statistics.proportions import pass_rate
from tracedance_sdk.statistics.quantiles import normal_quantile
from tracedance_sdk.statistics.ratings import Confusion, checked_confusion


class CorrectedRate(NamedTuple):
    """A rate as the judge has it and as it probably is.

    Attributes:
        raw: The judge's own rate with its Wilson interval.
        corrected: The rate that the judge's known errors make of it; `n` counts judged items.
        sensitivity: Share of true passes that the judge passes, in the calibration.
        specificity: Share of true fails that the judge fails, in the calibration.
    """

    raw: Estimate
    corrected: Estimate
    sensitivity: Estimate
    specificity: Estimate


def corrected_rate(
    passes: int, n: int, *, calibration: Confusion, level: float = 0.95
) -> CorrectedRate:
    """Return the true pass rate behind a judge's, by Rogan and Gladen.

    ``(p + specificity - 1) / (sensitivity + specificity - 1)``, kept within [0, 1]. The interval
    is Lang and Reiczigel's, which counts the chance in all three rates: that in the calibration
    is usually the largest. It is rather too wide (about 97 % for 95 %).

    Args:
        passes: Items that the judge passes.
        n: Items that it judged; none of them in the calibration.
        calibration: The judge against a trusted reference, on items of the same kind.
        level: Confidence level in (0, 1).

    Raises:
        InvalidOption: Impossible counts or level.
        NotEnoughData: Nothing judged, a calibration without passes or without fails, or a judge
            that is no better than chance (sensitivity + specificity at most 1).

    Source: Rogan and Gladen, American Journal of Epidemiology 107 (1978), 71-76; Lang and
    Reiczigel, Preventive Veterinary Medicine 113 (2014), 13-22.

    Example:
        >>> found = corrected_rate(40, 100, calibration=Confusion(45, 10, 5, 40))
        >>> round(found.raw.value, 2), round(found.corrected.value, 3)
        (0.4, 0.286)
    """
    passes, n = check_counts(passes, n, what="judged item")
    level = check_level(level)
    calibration = checked_confusion(calibration)
    sensitivity, specificity = calibration.recall(level=level), calibration.specificity(level=level)
    youden = sensitivity.value + specificity.value - 1
    if youden <= 0:
        raise NotEnoughData(
            f"the judge is no better than chance (sensitivity {sensitivity.value:.2f}, "
            f"specificity {specificity.value:.2f}); its rate cannot be corrected"
        )
    value = min(1.0, max(0.0, (passes / n + specificity.value - 1) / youden))
    low, high, _ = _lang_reiczigel(passes, n, calibration, level)
    interval = Interval(min(low, value), max(high, value), level)
    return CorrectedRate(
        pass_rate(passes, n, level=level), Estimate(value, interval, n), sensitivity, specificity
    )


def _lang_reiczigel(passes: int, n: int, calibration: Confusion, level: float) -> Interval:
    z = normal_quantile(level)
    n_rate = n + z * z
    rate = (passes + z * z / 2) / n_rate
    n_pass, n_fail = calibration.tp + calibration.fn + 2, calibration.tn + calibration.fp + 2
    sensitivity, specificity = (calibration.tp + 1) / n_pass, (calibration.tn + 1) / n_fail
    youden = sensitivity + specificity - 1
    if youden <= 0:
        return Interval(0.0, 1.0, level)
    value = (rate + specificity - 1) / youden
    of_pass = sensitivity * (1 - sensitivity) / n_pass
    of_fail = specificity * (1 - specificity) / n_fail
    shift = 2 * z * z * (value * of_pass - (1 - value) * of_fail)
    variance = rate * (1 - rate) / n_rate + value**2 * of_pass + (1 - value) ** 2 * of_fail
    half = z * math.sqrt(variance) / youden
    return Interval(value + shift - half, value + shift + half, level).within(0, 1)

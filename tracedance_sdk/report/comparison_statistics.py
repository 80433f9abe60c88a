"""What the paired subjects of one line say: difference, interval, test, and whether they can."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from tracedance_sdk.errors import NotEnoughData
from tracedance_sdk.report.comparison_pairs import Cell, Key
from tracedance_sdk.report.comparison_rows import Measure
from tracedance_sdk.statistics import (
    Difference,
    clustered_rate_difference,
    clusters_for_difference,
    paired_difference,
    paired_rate_difference,
    sign_flip_test,
    stratified_difference,
    wilcoxon_signed_rank,
)

Sample = Literal["groups", "subjects", "runs"]
"""What was sampled, and so what a finding holds for: groups of subjects (it holds for groups like
these), subjects each for itself, or the runs of the subjects at hand (it holds for these alone)."""

_DRAWN: Final = 100_000
_DEALT: Final = 20_000
_MOST_COUNTED: Final = 36
_NOTHING: Final = 1e-12


class LineStatistics(NamedTuple):
    """What paired subjects say of one measure.

    Attributes:
        design: What was taken as the sample; ``subjects`` where each is a group of its own.
        n_pairs: Subjects in both sets.
        n_groups: Groups that they belong to.
        n_runs: Values behind them in the first and in the second set.
        old: Mean over the subjects in the first set; None without any.
        new: Mean over the subjects in the second.
        difference: New minus old with interval and p value; None where there are too few.
        least_p: The smallest p value that so many could give.
        wilcoxon_p: Of Wilcoxon's test over pairs or groups' sums, for scores; else None.
        too_few: Why there is no difference, in one line; "" where there is one.
        is_one_group: Whether all subjects are of one group, and are the sample for that reason.
    """

    design: Sample
    n_pairs: int
    n_groups: int
    n_runs: tuple[int, int]
    old: float | None
    new: float | None
    difference: Difference | None
    least_p: float
    wilcoxon_p: float | None = None
    too_few: str = ""
    is_one_group: bool = False


def line_statistics(
    cells: Sequence[Cell],
    measure: Measure,
    *,
    sample: Sample = "groups",
    level: float = 0.95,
    seed: int = 0,
) -> LineStatistics:
    """Return what paired subjects say.

    Subjects are averaged over their samples, and each weighs the same. A single group is no sample
    of groups: its subjects are the sample then; nor is a single subject, such as one task, a sample
    of tasks: its runs are. What is found holds for that group, or that task.

    Args:
        cells: The subjects.
        measure: What their values are.
        sample: What was sampled.
        level: Of the interval.
        seed: Of the tests that draw.
    """
    is_one_group = sample == "groups" and len(cells) > 1 and len({c.cluster for c in cells}) == 1
    if is_one_group:
        sample = "subjects"
    clusters: list[Key] = [cell.cluster if sample == "groups" else cell.subject for cell in cells]
    n_groups = len({*clusters})
    design = sample
    if len(cells) == 1:
        design = "runs"
    elif sample == "groups" and n_groups == len(cells):
        design = "subjects"
    old, new = [cell.means[0] for cell in cells], [cell.means[1] for cell in cells]
    found = LineStatistics(
        design=design,
        n_pairs=len(cells),
        n_groups=n_groups,
        n_runs=(sum(len(cell.old) for cell in cells), sum(len(cell.new) for cell in cells)),
        old=_mean(old),
        new=_mean(new),
        difference=None,
        least_p=1.0,
        is_one_group=is_one_group,
    )
    if not cells:
        return found._replace(too_few="no subject has a value in both sets")
    if design == "runs":
        return _of_runs(found, cells, level=level, seed=seed)
    found = found._replace(least_p=_least_p(n_groups))
    if measure == "score":
        return _of_scores(found, old, new, clusters=clusters, level=level, seed=seed)
    if n_groups == len(cells) and found.n_runs == (len(cells),) * 2 and {*old, *new} <= {0, 1}:
        passed = [value > 0 for value in old], [value > 0 for value in new]
        return found._replace(difference=paired_rate_difference(*passed, level=level))
    difference = clustered_rate_difference(
        old, new, clusters=clusters, trials=min(found.n_runs), seed=seed, level=level
    )
    return found._replace(difference=difference)


def units_needed(found: LineStatistics, *, alpha: float, n_lines: int, level: float) -> int | None:
    """Return how many subjects or groups would show a difference of the present size.

    At a power of 80 %, alpha shared by all lines, and never fewer than could show anything at
    all. None where nothing can be said: no difference so far, or runs as the sample.

    Args:
        found: What the present ones say.
        alpha: Of all lines together.
        n_lines: How many lines share it.
        level: Of the interval.
    """
    if found.design == "runs":
        return None
    share = alpha / max(1, n_lines)
    least = 1 + math.ceil(math.log2(1 / share))
    difference = found.difference
    if difference is None or found.old is None or found.new is None:
        return least
    if abs(difference.value) < _NOTHING:
        return None if found.n_groups >= least else least
    needed = clusters_for_difference(
        difference.value, difference.interval.half_width, difference.n, level=level, alpha=share
    )
    return max(least, needed)


def _of_scores(
    found: LineStatistics,
    old: Sequence[float],
    new: Sequence[float],
    *,
    clusters: Sequence[Key],
    level: float,
    seed: int,
) -> LineStatistics:
    test = sign_flip_test(old, new, clusters=clusters, seed=seed)
    difference = paired_difference(old, new, clusters=clusters, level=level)
    if difference.interval.half_width < _NOTHING:
        # Differences that are all alike leave no spread to judge by; that of passes is the most.
        difference = clustered_rate_difference(old, new, clusters=clusters, level=level)
    sums: dict[Key, float] = dict.fromkeys(clusters, 0.0)
    for cluster, before, after in zip(clusters, old, new, strict=True):
        sums[cluster] += after - before
    changes = [0.0 if abs(value) < _NOTHING else round(value, 12) for value in sums.values()]
    wilcoxon = wilcoxon_signed_rank([0.0] * len(changes), changes).p_value
    return found._replace(difference=difference._replace(p_value=test.p_value), wilcoxon_p=wilcoxon)


def _of_runs(
    found: LineStatistics, cells: Sequence[Cell], *, level: float, seed: int
) -> LineStatistics:
    old, new = [cell.old for cell in cells], [cell.new for cell in cells]
    try:
        difference = stratified_difference(old, new, seed=seed, n_resamples=_DEALT, level=level)
    except NotEnoughData as error:
        return found._replace(too_few=str(error))
    pairs = list(zip(old, new, strict=True))
    deals = math.prod(math.comb(len(a) + len(b), len(b)) for a, b in pairs)
    # Of sides of equal size the opposite deal differs as much.
    alike = 2 if all(len(a) == len(b) for a, b in pairs) else 1
    return found._replace(difference=difference, least_p=max(alike / deals, 1 / (_DEALT + 1)))


def _least_p(n_groups: int) -> float:
    return 2.0 ** (1 - n_groups) if n_groups <= _MOST_COUNTED else 1 / (_DRAWN + 1)


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None

"""How far a judge and people agree, each measure with its interval or the reason why it has none.

Where items belong to groups, such as the trials of one task, the groups are the sample: intervals
are then over clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from heapq import nsmallest
from itertools import combinations
from typing import Final, NamedTuple

from pydantic import BaseModel, ConfigDict

from tracedance_sdk.errors import NotEnoughData
from tracedance_sdk.judging.coefficients import (
    RankTable,
    ScoreSums,
    alpha_value,
    kappa_value,
    whole_without,
)
from tracedance_sdk.judging.labels import ItemKey
from tracedance_sdk.judging.ratings import HumanRating, RatedPair
from tracedance_sdk.judging.row_fields import MOST
from tracedance_sdk.statistics import (
    Confusion,
    Correlation,
    Difference,
    Estimate,
    Interval,
    ReliabilityCurve,
    clustered_coefficient,
    clustered_rate,
    confusion,
    kendall,
    krippendorff_alpha,
    paired_difference,
    pass_rate,
    reliability_curve,
    spearman,
)


class Measure(BaseModel):
    """A figure with its 95 % interval, or why there is none.

    Attributes:
        value: None when it is not defined.
        low: Lower end of the interval; None when there is no interval.
        high: Upper end.
        n: How many pairs it is computed from.
        why: Why there is no value or no interval; one line.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    why: str | None = None

    @property
    def estimate(self) -> Estimate | None:
        """The figure as statistics have it; None without value or interval."""
        if self.value is None or self.low is None or self.high is None:
            return None
        return Estimate(self.value, Interval(self.low, self.high), self.n)


class Agreement(NamedTuple):
    """How far two sides agree.

    Attributes:
        confusion: Passes and fails, of all pairs.
        measures: Name → figure, in the order of `MEASURES`; those of scores are computed from the
            pairs in which both sides have one.
        curve: What each stretch of the judge's scores, as shares of 5, is worth; None without.
        n_clusters: How many independent units the pairs make.
    """

    confusion: Confusion
    measures: Mapping[str, Measure]
    curve: ReliabilityCurve | None
    n_clusters: int


MEASURES: Final[dict[str, str]] = {
    "agreement": "agreement",
    "kappa": "Cohen's kappa",
    "alpha": "Krippendorff's alpha",
    "precision": "precision of passes",
    "recall": "recall of passes",
    "specificity": "recall of fails",
    "spearman": "Spearman, scores",
    "kendall": "Kendall, scores",
    "alpha_scores": "alpha, scores",
    "leniency": "leniency, points",
}
"""Name of each measure → how it is shown."""

_OF_SCORES: Final = ("spearman", "kendall", "alpha_scores", "leniency")
SHARES: Final = frozenset({"agreement", "precision", "recall", "specificity"})
"""The measures that are shares of items."""

_BINS: Final = 5
_MOST_PAIRED: Final = 5_000
_MOST_CELLS: Final = 300
"""Different pairs of scores up to which a table of them is faster than the scores themselves."""


def measured(compute: Callable[[], Estimate | Correlation | Difference], *, n: int) -> Measure:
    """Return what a statistic gives, or why it gives nothing."""
    try:
        found = compute()
    except NotEnoughData as error:
        return Measure(n=n, why=str(error))
    return Measure(value=found.value, low=found.interval.low, high=found.interval.high, n=n)


def agreement_of(pairs: Sequence[RatedPair]) -> Agreement:
    """Return how far a judge agrees with people.

    Args:
        pairs: A judge's rating beside a person's, each.
    """
    clusters = clusters_of(pairs)
    judge = [pair.item.judge.passed for pair in pairs]
    human = [pair.human.passed for pair in pairs]
    scored = [
        (pair.item.judge.score, pair.human.score, owner)
        for pair, owner in zip(pairs, clusters, strict=True)
        if pair.item.judge.score is not None and pair.human.score is not None
    ]
    measures = {**pass_measures(judge, human, clusters), **_score_measures(scored)}
    return Agreement(confusion(judge, human), measures, _curve(pairs), len(set(clusters)))


def clusters_of(pairs: Sequence[RatedPair]) -> list[Hashable]:
    """Return for each pair what it belongs to: its group, or its item where groups say nothing.

    Groups say nothing when there is only one, or when an item has none.
    """
    groups = [pair.item.judge.group for pair in pairs]
    if None in groups or len(set(groups)) < 2:
        return [pair.item.key for pair in pairs]
    return list(groups)


def pass_measures(
    judge: Sequence[bool], human: Sequence[bool], clusters: Sequence[Hashable]
) -> dict[str, Measure]:
    """Return the measures of passes and fails, item by item.

    Args:
        judge: Whether the judge passes each item.
        human: The same by people.
        clusters: What each item belongs to.
    """
    pairs = list(zip(judge, human, strict=True))
    whole = confusion(judge, human)

    def coefficient(of: Callable[[], Estimate], value: Callable[[Confusion], float]) -> Measure:
        def without(places: AbstractSet[int]) -> float:
            return value(whole_without(whole, [pairs[at] for at in places]))

        return measured(
            lambda: clustered_coefficient(lambda _: of(), clusters, without=without), n=len(pairs)
        )

    same = [a == b for a, b in pairs]
    return {
        "agreement": share(same, clusters),
        "kappa": coefficient(whole.kappa, kappa_value),
        "alpha": coefficient(lambda: krippendorff_alpha(pairs), alpha_value),
        "precision": _share_where(judge, same, clusters, "passes by the judge"),
        "recall": _share_where(human, same, clusters, "passes by people"),
        "specificity": _share_where([not a for a in human], same, clusters, "fails by people"),
    }


def share(outcomes: Sequence[bool], clusters: Sequence[Hashable]) -> Measure:
    """Return a share of items, its interval over clusters where items share one."""
    n = len(outcomes)
    if len(set(clusters)) == n:
        return measured(lambda: pass_rate(sum(outcomes), n), n=n)
    found = measured(lambda: clustered_rate([float(out) for out in outcomes], clusters), n=n)
    if found.value is None and n:
        return found.model_copy(update={"value": sum(outcomes) / n})
    return found


def _share_where(
    chosen: Sequence[bool], outcomes: Sequence[bool], clusters: Sequence[Hashable], what: str
) -> Measure:
    places = [at for at, is_chosen in enumerate(chosen) if is_chosen]
    if not places:
        return Measure(why=f"no {what}")
    return share([outcomes[at] for at in places], [clusters[at] for at in places])


def _score_measures(scored: Sequence[tuple[float, float, Hashable]]) -> dict[str, Measure]:
    if not scored:
        why = "no item has scores on both sides"
        return {name: Measure(why=why) for name in _OF_SCORES}
    judge, human = [item[0] for item in scored], [item[1] for item in scored]
    clusters = [item[2] for item in scored]
    n = len(scored)

    return {
        "spearman": _correlation(judge, human, clusters, spearman),
        "kendall": _correlation(judge, human, clusters, kendall),
        "alpha_scores": measured(lambda: _alpha_of_scores(judge, human, clusters), n=n),
        "leniency": measured(lambda: paired_difference(human, judge, clusters=clusters), n=n),
    }


def _correlation(
    judge: list[float],
    human: list[float],
    clusters: list[Hashable],
    of: Callable[[list[float], list[float]], Correlation],
) -> Measure:
    pairs = list(zip(judge, human, strict=True))
    n, table = len(pairs), RankTable(pairs)
    value = RankTable.spearman if of is spearman else RankTable.kendall

    def kept(places: Sequence[int]) -> Estimate:
        if n > _MOST_PAIRED and len(places) == n:
            # The interval is then that over clusters; one over pairs takes time in their square.
            whole = value(table)
            return Estimate(whole, Interval(whole, whole), n)
        found = of([judge[at] for at in places], [human[at] for at in places])
        return Estimate(found.value, found.interval, found.n)

    def without(places: AbstractSet[int]) -> float:
        return value(table.less(pairs[at] for at in places))

    if n > _MOST_PAIRED and len(set(clusters)) == n:
        try:
            return Measure(value=value(table), n=n, why=f"over {_MOST_PAIRED:,} pairs: no interval")
        except NotEnoughData as error:
            return Measure(n=n, why=str(error))
    is_coarse = table.n_cells <= _MOST_CELLS
    return measured(
        lambda: clustered_coefficient(kept, clusters, without=without if is_coarse else None), n=n
    )


def _alpha_of_scores(judge: list[float], human: list[float], clusters: list[Hashable]) -> Estimate:
    # Means of thirds are as many different numbers as alpha takes.
    pairs = [(round(a, 2), round(b, 2)) for a, b in zip(judge, human, strict=True)]
    whole = ScoreSums.of(pairs)

    def without(places: AbstractSet[int]) -> float:
        return whole.less(ScoreSums.of([pairs[at] for at in places])).alpha()

    def of(_: object) -> Estimate:
        return krippendorff_alpha(pairs, scale="interval")

    return clustered_coefficient(of, clusters, without=without)


def _curve(pairs: Sequence[RatedPair]) -> ReliabilityCurve | None:
    scored = [
        (min(1.0, max(0.0, pair.item.judge.score / MOST)), pair.human.passed)
        for pair in pairs
        if pair.item.judge.score is not None
    ]
    if not scored:
        return None
    return reliability_curve([a for a, _ in scored], [b for _, b in scored], n_bins=_BINS)


class BetweenHumans(NamedTuple):
    """How far the labellers agree among themselves.

    Attributes:
        pairs: For each two labellers that share items, by name: their passes and fails (the first
            as the judge of the second), agreement and kappa. Those with the most items in common
            come first where there are more pairs than are looked at.
        alpha: Over all labellers, passes and fails.
        alpha_scores: The same of their scores.
        n_more: How many further pairs of labellers share items; of over 500 labellers among the
            500 with the most labels.
    """

    pairs: tuple[tuple[str, str, Confusion, Measure, Measure], ...]
    alpha: Measure
    alpha_scores: Measure
    n_more: int = 0


MOST_PAIRS: Final = 30
_MOST_LABELLERS: Final = 500


def between_humans(
    labels: Mapping[str, Mapping[ItemKey, HumanRating]], *, most_pairs: int = MOST_PAIRS
) -> BetweenHumans | None:
    """Return how far labellers agree with each other; None for fewer than two.

    Args:
        labels: Labeller → item → rating.
        most_pairs: Of how many pairs of labellers to say so; the others are counted.
    """
    if len(labels) < 2:
        return None
    pairs, n_more = _pairs_in_common(labels, most_pairs)
    found = []
    for first, second in pairs:
        shared = [key for key in labels[first] if key in labels[second]]
        sides = [[labels[name][key].passed for key in shared] for name in (first, second)]
        measures = pass_measures(sides[0], sides[1], shared)
        found.append((first, second, confusion(*sides), measures["agreement"], measures["kappa"]))
    units: dict[ItemKey, list[HumanRating]] = {}
    for ratings in labels.values():
        for key, rating in ratings.items():
            units.setdefault(key, []).append(rating)
    passed = [[rating.passed for rating in unit] for unit in units.values()]
    scores = [[r.score for r in unit if r.score is not None] for unit in units.values()]
    n, n_scored = (sum(len(unit) > 1 for unit in of) for of in (passed, scores))
    return BetweenHumans(
        tuple(found),
        measured(lambda: krippendorff_alpha(passed), n=n),
        measured(lambda: krippendorff_alpha(scores, scale="interval"), n=n_scored),
        n_more,
    )


def _pairs_in_common(
    labels: Mapping[str, Mapping[ItemKey, HumanRating]], most: int
) -> tuple[list[tuple[str, str]], int]:
    """Return the pairs of labellers with the most items in common, and how many more share any.

    Where all fit they come in the order of `labels`.
    """
    names = list(labels)
    if len(names) > _MOST_LABELLERS:
        kept = set(sorted(names, key=lambda name: -len(labels[name]))[:_MOST_LABELLERS])
        names = [name for name in names if name in kept]
    keys = {key for name in names for key in labels[name]}
    places = {key: place for place, key in enumerate(keys)}
    masks = [_mask([places[key] for key in labels[name]], len(places)) for name in names]
    shared = [
        (count, first, second)
        for first, second in combinations(range(len(names)), 2)
        if (count := (masks[first] & masks[second]).bit_count())
    ]
    if len(shared) > most:
        chosen = nsmallest(most, shared, key=lambda found: (-found[0], found[1:]))
    else:
        chosen = shared
    return [(names[first], names[second]) for _, first, second in chosen], len(shared) - len(chosen)


def _mask(places: Sequence[int], size: int) -> int:
    """Return items as bits: what two labellers share is then one operation."""
    bits = bytearray(size // 8 + 1)
    for place in places:
        bits[place // 8] |= 1 << place % 8
    return int.from_bytes(bits, "little")

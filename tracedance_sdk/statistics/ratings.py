"""Two raters of the same items: percent agreement, kappa, confusion, leniency."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from tracedance_sdk.errors import InvalidOption, NotEnoughData, shown
from tracedance_sdk.statistics.checking import (
    booleans,
    check_choice,
    check_count,
    check_enough,
    check_level,
    check_same_length,
    hashables,
)
from tracedance_sdk.statistics.clustered import paired_difference
from tracedance_sdk.statistics.extra import load
from tracedance_sdk.statistics.intervals import (
    Difference,
    Estimate,
    Interval,
    fisher_interval,
)
from tracedance_sdk.statistics.proportions import pass_rate, wilson_interval
from tracedance_sdk.statistics.quantiles import student_quantile
from tracedance_sdk.statistics.rare_categories import kappa_and_variance, score_ends

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ROUNDING: Final = 1e-12

Weights = Literal["linear", "quadratic"]
"""How disagreements of ordered categories count: by their distance, or by its square."""


class Confusion(NamedTuple):
    """Passes and fails by a judge against those by a reference, such as a human.

    Attributes:
        tp: Both say pass.
        fp: The judge says pass, the reference fail.
        fn: The judge says fail, the reference pass.
        tn: Both say fail.

    Example:
        >>> panel = Confusion(17, 21, 11, 119)
        >>> [round(rate.value, 3) for rate in (panel.agreement(), panel.recall())]
        [0.81, 0.607]
        >>> round(panel.kappa().value, 3)
        0.4
    """

    tp: int
    fp: int
    fn: int
    tn: int

    @property
    def n(self) -> int:
        """All items."""
        return sum(checked_confusion(self))

    def agreement(self, *, level: float = 0.95) -> Estimate:
        """Return ``(tp + tn) / n`` with Wilson's interval; NotEnoughData without items."""
        tp, _, _, tn = checked_confusion(self)
        return pass_rate(tp + tn, self.n, level=level)

    def precision(self, *, level: float = 0.95) -> Estimate:
        """Return ``tp / (tp + fp)``: how many of the judge's passes are passes.

        Raises:
            NotEnoughData: The judge passes nothing.
        """
        tp, fp, _, _ = checked_confusion(self)
        return _rate_among(tp, tp + fp, "passes by the judge", level)

    def recall(self, *, level: float = 0.95) -> Estimate:
        """Return ``tp / (tp + fn)``: how many passes the judge finds (its sensitivity).

        Raises:
            NotEnoughData: The reference passes nothing.
        """
        tp, _, fn, _ = checked_confusion(self)
        return _rate_among(tp, tp + fn, "passes by the reference", level)

    def specificity(self, *, level: float = 0.95) -> Estimate:
        """Return ``tn / (tn + fp)``: how many fails the judge finds.

        Raises:
            NotEnoughData: The reference fails nothing.
        """
        _, fp, _, tn = checked_confusion(self)
        return _rate_among(tn, tn + fp, "fails by the reference", level)

    def f1(self) -> float:
        """Return ``2 tp / (2 tp + fp + fn)``, the harmonic mean of precision and recall.

        Raises:
            NotEnoughData: Neither passes anything.
        """
        tp, fp, fn, _ = checked_confusion(self)
        check_enough(tp + fp + fn, 1, what="passes")
        return 2 * tp / (2 * tp + fp + fn)

    def kappa(self, *, level: float = 0.95) -> Estimate:
        """Return Cohen's kappa; see `cohen_kappa`."""
        tp, fp, fn, tn = checked_confusion(self)
        return _kappa_of([[tp, fp], [fn, tn]], None, level)


class ConfusionMatrix(NamedTuple):
    """How often one rater says this and the other that.

    Attributes:
        labels: The categories, in order.
        counts: ``counts[i][j]`` items are `labels[i]` by the first rater and `labels[j]` by the
            second.
    """

    labels: tuple[Hashable, ...]
    counts: tuple[tuple[int, ...], ...]


def checked_confusion(counts: Confusion) -> Confusion:
    """Return passes and fails whose counts are possible.

    Raises:
        InvalidOption: It is no `Confusion`, or a count is none.
    """
    if not isinstance(counts, Confusion):
        raise InvalidOption(f"{shown(counts)} is no Confusion of passes and fails")
    return Confusion(*(check_count(getattr(counts, name), name) for name in Confusion._fields))


def confusion(judge: Sequence[bool], reference: Sequence[bool]) -> Confusion:
    """Count passes and fails of a judge against a reference, item by item.

    Raises:
        InvalidOption: The lengths differ.

    Example:
        >>> confusion([True, True, False], [True, False, False])
        Confusion(tp=1, fp=1, fn=0, tn=1)
    """
    check_same_length(judge, reference, what="judge and reference")
    pairs = zip(booleans(judge, "verdict"), booleans(reference, "reference"), strict=True)
    counts = Counter(pairs)
    return Confusion(
        counts[True, True], counts[True, False], counts[False, True], counts[False, False]
    )


def confusion_matrix(
    first: Sequence[Hashable],
    second: Sequence[Hashable],
    *,
    labels: Sequence[Hashable] | None = None,
) -> ConfusionMatrix:
    """Count how often two raters say what.

    Args:
        first: A category for each item.
        second: The same items' categories, in the same order.
        labels: All categories in order; by default those that occur, sorted where they can be,
            else in the order of their text.

    Raises:
        InvalidOption: The lengths differ, or a category is not among the labels.

    Example:
        >>> confusion_matrix(["a", "b", "b"], ["a", "a", "b"]).counts
        ((1, 0), (1, 1))
    """
    check_same_length(first, second, what="first and second")
    first, second = hashables(first, "first label"), hashables(second, "second label")
    given = None if labels is None else hashables(labels, "label")
    ordered = tuple(_sorted_labels({*first, *second}) if given is None else given)
    counts = Counter(zip(first, second, strict=True))
    unknown = {label for pair in counts for label in pair} - set(ordered)
    if unknown or len(set(ordered)) < len(ordered):
        odd = f"{min(map(shown, unknown))} is not among" if unknown else "one stands twice in"
        raise InvalidOption(f"{odd} the labels {shown(list(ordered))}")
    return ConfusionMatrix(ordered, tuple(tuple(counts[i, j] for j in ordered) for i in ordered))


def percent_agreement(
    first: Sequence[Hashable], second: Sequence[Hashable], *, level: float = 0.95
) -> Estimate:
    """Return the share of items to which two raters give the same category, with Wilson's interval.

    Raises:
        InvalidOption: The lengths differ, or a wrong level.
        NotEnoughData: No items.

    Source: see `wilson_interval`.

    Example:
        >>> percent_agreement("abba", "abab").value
        0.5
    """
    check_same_length(first, second, what="first and second")
    pairs = zip(hashables(first, "first label"), hashables(second, "second label"), strict=True)
    return pass_rate(sum(bool(a == b) for a, b in pairs), len(first), level=level)


def cohen_kappa(
    first: Sequence[Hashable],
    second: Sequence[Hashable],
    *,
    weights: Weights | None = None,
    labels: Sequence[Hashable] | None = None,
    level: float = 0.95,
) -> Estimate:
    """Return Cohen's kappa: agreement beyond what the raters' own habits give by chance.

    ``(p_o - p_e) / (1 - p_e)`` with the observed agreement p_o and that expected from both raters'
    marginals p_e; with weights, near misses count in part.

    Args:
        first: A category for each item.
        second: The same items' categories, in the same order.
        weights: None for categories without order; see `Weights`.
        labels: All categories in order, from which distances are counted; by default those that
            occur, sorted.
        level: Confidence level in (0, 1).

    Returns:
        At most 1; 0 is chance. The interval is the wider, at each end, of two:
        ``tanh(atanh(kappa) ± t(n - 1) s / (1 - kappa^2))`` with the asymptotic standard error s,
        and all kappas that lie within t(n - 1) of *their own* standard errors of the one found.
        The first alone is far too narrow where one category is rare. Where the items leave no s,
        as when the raters agree on all, its place is taken by Wilson's interval of p_o put
        through the formula.

    Raises:
        InvalidOption: The lengths differ, a category is not among the labels, or wrong options.
        NotEnoughData: No items, or both raters give everything the same one category.
        MissingDependency: statsmodels is not installed.

    Source: Cohen, Educational and Psychological Measurement 20 (1960), 37-46; Fleiss, Cohen and
    Everitt, Psychological Bulletin 72 (1969), 323-327, as `statsmodels` has it.

    Example:
        >>> cohen_kappa([1, 1, 0, 0], [1, 1, 0, 1]).value
        0.5
    """
    check_choice(weights, "weights", ("linear", "quadratic", None))
    matrix = confusion_matrix(first, second, labels=labels)
    return _kappa_of([list(row) for row in matrix.counts], weights, level)


def leniency(
    judge: Sequence[float], reference: Sequence[float], *, level: float = 0.95
) -> Difference:
    """Return how much higher a judge scores than a reference: the mean of judge - reference.

    Args:
        judge: A score for each item.
        reference: The same items' scores, on the same scale and in the same order.
        level: Confidence level in (0, 1).

    Raises:
        InvalidOption: The lengths differ, a score is no finite number, or a wrong level.
        NotEnoughData: Fewer than two items.

    Source: see `paired_difference`.

    Example:
        >>> leniency([4, 5, 3], [3, 3, 3]).value
        1.0
    """
    return paired_difference(reference, judge, level=level)


def _kappa_of(counts: list[list[int]], weights: Weights | None, level: float) -> Estimate:
    level = check_level(level)
    n = sum(map(sum, counts))
    check_enough(n, 1, what="items")
    rows, columns = [sum(row) for row in counts], [sum(row) for row in zip(*counts, strict=True)]
    if max(rows) == n and rows == columns:
        raise NotEnoughData(
            "both raters gave every item the same category; kappa is then not defined"
        )
    numpy, inter_rater = load("numpy"), load("statsmodels.stats.inter_rater")
    table = numpy.array(counts)
    with numpy.errstate(invalid="ignore", divide="ignore"):
        found = inter_rater.cohens_kappa(table, wt=weights)
    value, error = float(found.kappa), float(found.std_kappa)
    value = 0.0 if abs(value) < _ROUNDING else value
    quantile = student_quantile(level, n - 1) if n > 1 else math.inf
    if error > 1e-12 and abs(value) < 1:
        low, high, _ = fisher_interval(
            value, error / (1 - value**2), quantile=quantile, level=level
        )
    else:
        same = sum(counts[index][index] for index in range(len(counts)))
        expected = sum(a * b for a, b in zip(rows, columns, strict=True)) / n**2
        observed = wilson_interval(same, n, level=level)
        ends = [(end - expected) / (1 - expected) for end in (observed.low, observed.high)]
        low, high = min(*ends, value), max(*ends, value)
    tried = (-1.0, 1.0)
    if n > 1:
        similar = _similarity(len(counts), weights)
        tried = score_ends(
            table, lambda shares: kappa_and_variance(shares, similar), quantile=quantile
        )
    interval = Interval(min(low, tried[0]), max(high, tried[1]), level).within(-1, 1)
    return Estimate(value, interval, n)


def _similarity(n_labels: int, weights: Weights | None) -> NDArray[Any]:
    """Return 1 for the same category and less, down to 0, for those further away."""
    numpy = load("numpy")
    if weights is None:
        return numpy.eye(n_labels)  # type: ignore[no-any-return]
    places = numpy.arange(n_labels) / max(n_labels - 1, 1)
    distance = abs(places[:, None] - places[None, :])
    return 1 - distance ** (2 if weights == "quadratic" else 1)  # type: ignore[no-any-return]


def _sorted_labels(labels: set[Hashable]) -> list[Hashable]:
    try:
        return sorted(labels)  # type: ignore[type-var]  # what has no order is caught
    except TypeError:
        return sorted(labels, key=lambda label: (type(label).__name__, repr(label)))


def _rate_among(successes: int, n: int, what: str, level: float) -> Estimate:
    check_enough(n, 1, what=what)
    return pass_rate(successes, n, level=level)

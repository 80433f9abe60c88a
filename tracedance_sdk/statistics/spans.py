"""Two annotators who mark stretches of a run: do they mean the same places? Standard library.

A span is a pair of step numbers, first and last, both included.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from tracedance_sdk.errors import InvalidOption, shown
from tracedance_sdk.statistics.checking import (
    check_count,
    check_enough,
    check_number,
    items,
)

_MOST_STEP: Final = 10**15

Span = tuple[int, int]
"""First and last step, both included."""


class SpanAgreement(NamedTuple):
    """How far two annotators mark the same spans.

    Attributes:
        pairs: Matched spans as their positions in both lists.
        f1: ``2 |pairs| / (|A| + |B|)``, in [0, 1].
        overlaps: The overlap of each pair, in [threshold, 1], in the order of `pairs`.
    """

    pairs: tuple[tuple[int, int], ...]
    f1: float
    overlaps: tuple[float, ...]

    def histogram(self) -> tuple[int, ...]:
        """Return how many overlaps lie in each tenth: [0, 0.1), ..., [0.9, 1]."""
        counts = [0] * 10
        for overlap in self.overlaps:
            counts[min(9, int(overlap * 10 + 1e-9))] += 1
        return tuple(counts)


def jaccard(first: AbstractSet[Hashable], second: AbstractSet[Hashable]) -> float:
    """Return the share of what either has that both have.

    Raises:
        NotEnoughData: Both are empty.

    Example:
        >>> jaccard({1, 2, 3}, {2, 3, 4})
        0.5
    """
    for name, given in (("first", first), ("second", second)):
        if not isinstance(given, AbstractSet):
            raise InvalidOption(f"{name} is {shown(given)}, which is no set")
    check_enough(len(first | second), 1, what="items in either set")
    return len(first & second) / len(first | second)


def span_overlap(first: Span, second: Span) -> float:
    """Return the steps of both spans over the steps of either (intersection over union).

    Raises:
        InvalidOption: A span ends before it begins.

    Example:
        >>> span_overlap((3, 6), (5, 8))
        0.3333...
    """
    first, second = _checked(first), _checked(second)
    both = max(0, min(first[1], second[1]) - max(first[0], second[0]) + 1)
    return both / (first[1] - first[0] + second[1] - second[0] + 2 - both)


def span_agreement(
    first: Sequence[Span], second: Sequence[Span], *, threshold: float = 0.3
) -> SpanAgreement:
    """Match the spans of two annotators of one run.

    Each of the first one's spans, in order, takes the best of the second one's that are left, if
    they overlap enough; of equals the earlier in the list. Kappa on what was said of the matched
    spans: `cohen_kappa` over `pairs`.

    Args:
        first: One annotator's spans.
        second: The other's.
        threshold: Least overlap of a match, in (0, 1].

    Raises:
        InvalidOption: A span that ends before it begins, or a threshold out of range.
        NotEnoughData: Neither annotator marked anything.

    Example:
        >>> span_agreement([(1, 4), (9, 9)], [(2, 4)]).f1
        0.6666...
    """
    threshold = check_number(threshold, "threshold", least=1e-9, most=1)
    first = [_checked(span) for span in items(first, "first")]
    second = [_checked(span) for span in items(second, "second")]
    check_enough(len(first) + len(second), 1, what="spans")
    left = dict(enumerate(second))
    pairs, overlaps = [], []
    for position, span in enumerate(first):
        best = max(left, key=lambda other: span_overlap(span, left[other]), default=None)
        if best is not None and span_overlap(span, left[best]) >= threshold:
            pairs.append((position, best))
            overlaps.append(span_overlap(span, left.pop(best)))
    f1 = 2 * len(pairs) / (len(first) + len(second))
    return SpanAgreement(tuple(pairs), f1, tuple(overlaps))


def _checked(span: Span) -> Span:
    ends = items(span, "a span")
    if len(ends) != 2:
        raise InvalidOption(f"the span {shown(span)} is no pair of a first and a last step")
    start, end = (
        check_count(step, f"a step of the span {shown(span)}", least=-_MOST_STEP, most=_MOST_STEP)
        for step in ends
    )
    if end < start:
        raise InvalidOption(f"the span {start} to {end} ends before it begins")
    return start, end

"""Items with what a judge and people say of them, side by side; what is left out is counted."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, NamedTuple, get_args

from tracedance_sdk.errors import InvalidOption, shown
from tracedance_sdk.judging.judged_rows import Judged, JudgeRating
from tracedance_sdk.judging.labels import ItemKey, Label

Consensus = Literal["majority", "each"]
"""How several labellers of an item count: an item passes when more than half of them pass it and
one on which they are split is left out; or each label makes a pair of its own."""

CONSENSUS_WORDS: Final[dict[Consensus, str]] = {
    "majority": "an item passes when more than half of its labellers pass it",
    "each": "each label of an item is a pair of its own",
}

UNLABELLED: Final = "no label"
UNSURE_LABEL: Final = "label: the labeller was unsure"
HOMELESS: Final = "label: its item has no rating by the judge"
AMBIGUOUS: Final = "label: fits several items"
SPLIT: Final = "the labellers are split"


class HumanRating(NamedTuple):
    """What one person, or several together, say of an item.

    Attributes:
        passed: Whether it is good enough.
        score: From 0 to 5; None where only pass or fail was said.
        note: In their own words.
    """

    passed: bool
    score: float | None = None
    note: str = ""


class RatedItem(NamedTuple):
    """An item that a judge and at least one person rated.

    Attributes:
        key: Which.
        judge: The judge's or the panel's rating.
        humans: Labeller → rating, by name.
    """

    key: ItemKey
    judge: JudgeRating
    humans: Mapping[str, HumanRating]


class RatedPair(NamedTuple):
    """A judge's rating beside one to hold it against.

    Attributes:
        item: Both are about it.
        human: One labeller's, or what they agree on.
        labeller: Whose; None for what they agree on.
    """

    item: RatedItem
    human: HumanRating
    labeller: str | None = None

    @property
    def is_same(self) -> bool:
        """Whether both pass it or both fail it."""
        return self.item.judge.passed == self.human.passed


class Rated(NamedTuple):
    """All that a calibration is made from.

    Attributes:
        judged: The judge's side, of all items.
        items: Those with both sides, in the order of the rows.
        labels: Labeller → item → rating, of all labels that say something, judged or not.
        exclusions: Reason → how many items or labels are left out.
    """

    judged: Judged
    items: tuple[RatedItem, ...]
    labels: Mapping[str, Mapping[ItemKey, HumanRating]]
    exclusions: Mapping[str, int]


def rated_items(judged: Judged, labels: Iterable[Label]) -> Rated:
    """Put labels beside a judge's ratings.

    A label belongs to the item with its trace, turn and sample; model and instance are compared
    where the label has them, and must then be the same.

    Args:
        judged: The judge's side.
        labels: Of any labellers; a later one of the same item and labeller replaces an earlier.

    Raises:
        InvalidOption: Two labels by one labeller, one with model or instance and one without, mean
            the same item and answer differently.
    """
    exclusions = Counter(judged.missing)
    near: dict[tuple[str | None, int | None, int], list[ItemKey]] = defaultdict(list)
    for key in judged.ratings:
        near[key.trace_id, key.turn, key.sample].append(key)
    found: dict[str, dict[ItemKey, HumanRating]] = defaultdict(dict)
    said: dict[tuple[str, ItemKey], Label] = {}
    homeless: Counter[str] = Counter()
    for label in labels:
        if label.is_unsure:
            exclusions[UNSURE_LABEL] += 1
            continue
        meant = _meant(label.item, near[label.item.trace_id, label.item.turn, label.item.sample])
        if len(meant) != 1:
            homeless[AMBIGUOUS if meant else HOMELESS] += 1
        key = meant[0] if len(meant) == 1 else label.item
        there = said.setdefault((label.labeller, key), label)
        if there.item == label.item:
            said[label.labeller, key] = label
        elif (there.score, there.passed) != (label.score, label.passed):
            raise InvalidOption(
                f"the labels hold two answers by {shown(label.labeller)} for one item (trace "
                f"{shown(key.trace_id)}), one with model or instance and one without; take one out"
            )
        found[label.labeller][key] = human_rating(label, judged.pass_from)
    exclusions.update(homeless)
    by_item: dict[ItemKey, dict[str, HumanRating]] = defaultdict(dict)
    for name in sorted(found):
        for key, rating in found[name].items():
            by_item[key][name] = rating
    items = tuple(
        RatedItem(key, rating, by_item[key])
        for key, rating in judged.ratings.items()
        if key in by_item
    )
    if len(items) < len(judged.ratings):
        exclusions[UNLABELLED] += len(judged.ratings) - len(items)
    return Rated(judged, items, {n: found[n] for n in sorted(found)}, dict(exclusions))


def human_rating(label: Label, pass_from: float) -> HumanRating:
    """Return what a label says; where it has a score alone, whether that passes."""
    score = None if label.score is None else float(label.score)
    passed = label.passed if label.passed is not None else (score or 0) >= pass_from
    return HumanRating(passed, score, label.note or "")


def rated_pairs(items: Iterable[RatedItem], consensus: Consensus) -> tuple[list[RatedPair], int]:
    """Return the pairs to hold a judge against, and how many items the labellers are split on.

    Raises:
        InvalidOption: No such consensus.
    """
    if consensus not in get_args(Consensus):
        raise InvalidOption(f"unknown consensus {consensus!r}; choose majority or each")
    pairs: list[RatedPair] = []
    n_split = 0
    for item in items:
        if consensus == "each":
            pairs += [RatedPair(item, rating, name) for name, rating in item.humans.items()]
            continue
        agreed = majority(list(item.humans.values()))
        if agreed is None:
            n_split += 1
        else:
            pairs.append(RatedPair(item, agreed))
    return pairs, n_split


def majority(ratings: Sequence[HumanRating]) -> HumanRating | None:
    """Return what more than half say, with the mean of the scores; None when they are split.

    Example:
        >>> majority([HumanRating(True, 4), HumanRating(True, 5), HumanRating(False, 3)])
        HumanRating(passed=True, score=4.0, note='')
        >>> majority([HumanRating(True), HumanRating(False)]) is None
        True
    """
    n_passed = sum(rating.passed for rating in ratings)
    if 2 * n_passed == len(ratings):
        return None
    scores = [rating.score for rating in ratings if rating.score is not None]
    mean = math.fsum(scores) / len(scores) if len(scores) == len(ratings) else None
    notes = " / ".join(rating.note for rating in ratings if rating.note)
    return HumanRating(2 * n_passed > len(ratings), mean, notes)


def _meant(wanted: ItemKey, near: list[ItemKey]) -> list[ItemKey]:
    if wanted in near:
        return [wanted]
    return [
        key
        for key in near
        if wanted.model in (None, key.model) and wanted.instance_id in (None, key.instance_id)
    ]

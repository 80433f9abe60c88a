"""A session of labelling: which items, in which order, and what an answer means.

Nothing here reads keys or files. The order of items depends on their keys and a seed alone, so that
all labellers of a set meet the same items in the same order, and a session goes on where the last
one stopped. Nothing of a judge is known here, so nothing of it can be shown.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from tracedance_sdk.judging.items import JudgedItem
from tracedance_sdk.judging.labels import ItemKey, Label
from tracedance_sdk.judging.rubric import LEVELS, Rubric
from tracedance_sdk.trace import json_digest

LONGEST_NOTE: Final = 4_000
"""Characters of a note; a longer one is cut."""


class Answer(NamedTuple):
    """What a labeller says of an item.

    Attributes:
        score: From 0 to 5; None on a scale of pass and fail, and when unsure.
        passed: Whether it is good enough; None when unsure.
    """

    score: int | None
    passed: bool | None


UNSURE: Final = Answer(None, None)
"""The labeller looked and could not say."""


class Scale(NamedTuple):
    """The answers that a labeller may give by a rubric.

    Attributes:
        pass_from: A score of at least this passes.
        is_pass_fail: Only pass and fail, no scores.
    """

    pass_from: float = 4.0
    is_pass_fail: bool = False

    @classmethod
    def of(cls, rubric: Rubric, *, is_pass_fail: bool = False) -> Scale:
        """Return the scale of a rubric: pass and fail where it says no more than 0 and 5 mean."""
        return cls(rubric.pass_from, is_pass_fail or set(rubric.levels) == {0, 5})

    @property
    def answers(self) -> dict[str, Answer]:
        """Key → what it says, with ``u`` for unsure.

        Example:
            >>> Scale().answers["3"], list(Scale(is_pass_fail=True).answers)
            (Answer(score=3, passed=False), ['p', 'f', 'u'])
        """
        if self.is_pass_fail:
            return {"p": Answer(None, True), "f": Answer(None, False), "u": UNSURE}
        return {str(score): self.score(score) for score in LEVELS} | {"u": UNSURE}

    def score(self, score: int) -> Answer:
        """Return the answer that a score is."""
        return Answer(score, score >= self.pass_from)


def chosen_items(
    items: Iterable[JudgedItem], *, n: int | None = None, seed: int = 0, order_of: str | None = None
) -> list[JudgedItem]:
    """Return items in an order that looks random and is the same whenever the same are given.

    Args:
        items: Each once; no more than `n` of them are kept while they are read.
        n: How many to take; with the same seed more take the same ones and others. None for all.
        seed: Another one chooses other items, in another order.
        order_of: A labeller whose order is to be their own; which items are taken stays the same.
    """

    def place(item: JudgedItem) -> str:
        return json_digest([seed, *ItemKey.of(item)])

    taken = sorted(items, key=place) if n is None else heapq.nsmallest(n, items, key=place)
    if order_of is not None:
        taken.sort(key=lambda item: json_digest([seed, order_of, *ItemKey.of(item)]))
    return taken


class Labelling:
    """Where one labeller stands among the items.

    Args:
        items: In the order in which they are shown.
        labeller: Who labels.
        given: The labels that they gave before.
        again: Ask also about items that have one.

    Example:
        >>> from tracedance_sdk.grading import Subject
        >>> from tracedance_sdk.trace import Trace
        >>> items = [JudgedItem(Subject(trace_id=name), Trace(id=name)) for name in ("a", "b")]
        >>> session = Labelling(items, "ann")
        >>> session.label(Scale().score(4)).passed, session.n_labelled, session.position
        (True, 1, 2)
    """

    def __init__(
        self,
        items: Sequence[JudgedItem],
        labeller: str,
        *,
        given: Mapping[ItemKey, Label] | None = None,
        again: bool = False,
    ) -> None:
        self._items = tuple(items)
        self._labeller = labeller
        keys = [ItemKey.of(item) for item in self._items]
        self._keys = keys
        self._given = {key: label for key, label in (given or {}).items() if key in set(keys)}
        self._open = {key for key in keys if again or key not in self._given}
        self._at = self._next(0)

    @property
    def item(self) -> JudgedItem | None:
        """What is to be labelled now; None when there is nothing left to ask."""
        return self._items[self._at] if self._at < len(self._items) else None

    @property
    def given(self) -> Label | None:
        """What the labeller said of this item before."""
        return self._given.get(self._keys[self._at]) if self._at < len(self._items) else None

    @property
    def position(self) -> int:
        """The number of the item among all, from 1."""
        return min(self._at + 1, len(self._items))

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return len(self._items)

    @property
    def n_labelled(self) -> int:
        """How many of them this labeller has labelled, in this session or before."""
        return len(self._given)

    @property
    def n_unsure(self) -> int:
        """How many of those are without an answer."""
        return sum(label.is_unsure for label in self._given.values())

    @property
    def unlabelled(self) -> list[JudgedItem]:
        """The items that are still to be asked about, in order."""
        return [
            item for item, key in zip(self._items, self._keys, strict=True) if key in self._open
        ]

    def label(self, answer: Answer, *, note: str | None = None) -> Label:
        """Take an answer, go on to the next item, and return the label to be written.

        Args:
            answer: What the labeller says.
            note: In their words; None keeps the note of an earlier label, if there is one.

        Raises:
            IndexError: Nothing is left to ask.
        """
        item, key = self._items[self._at], self._keys[self._at]
        earlier = self._given.get(key)
        kept = note if note or earlier is None else earlier.note
        made = label_of(item, self._labeller, answer, note=kept)
        self.took(made)
        self._at = self._next(self._at + 1)
        return made

    def took(self, label: Label) -> None:
        """Count a label that is written."""
        self._given[label.item] = label
        self._open.discard(label.item)

    def skip(self) -> None:
        """Go on without an answer; the item is asked about again in the next session."""
        self._at = self._next(self._at + 1)

    def back(self) -> bool:
        """Go to the item before, labelled or not; return whether there is one."""
        if self._at == 0:
            return False
        self._at -= 1
        return True

    def _next(self, start: int) -> int:
        places = range(start, len(self._items))
        return next((at for at in places if self._keys[at] in self._open), len(self._items))


def label_of(item: JudgedItem, labeller: str, answer: Answer, *, note: str | None = None) -> Label:
    """Return the label that an answer about an item is."""
    text = (note or "").strip()[:LONGEST_NOTE]
    return Label(
        subject=item.subject,
        sample=item.sample,
        model=item.model,
        group=item.group,
        labeller=labeller,
        score=answer.score,
        passed=answer.passed,
        note=text or None,
    )

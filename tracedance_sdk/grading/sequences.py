"""Which actions must come, which must come first, and which must not come one after another."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import ClassVar, Literal

from pydantic import Field

from tracedance_sdk.grading.action_pattern import ActionPattern
from tracedance_sdk.grading.criterion import Criterion, Flag, Positive
from tracedance_sdk.grading.grades import Finding
from tracedance_sdk.grading.matching import Answer
from tracedance_sdk.grading.run_view import RunView
from tracedance_sdk.trace import Call


class Order(Criterion):
    """Wherever `then` happens, `first` has happened before. Neither is required by itself."""

    type: Literal["order"] = "order"
    first: ActionPattern
    then: ActionPattern

    passing: ClassVar[str] = "the order is kept"

    def findings(self, run: RunView) -> Iterator[Finding]:
        """Yield each action that comes, or may come, too early."""
        seen: bool | None = False
        for call in run.actions:
            late = self.then.fits(call, run)
            if late is not False and seen is not True:
                certain = late is True and seen is False
                came = "came" if certain else "may have come"
                text = f"{run.label(call)} {came} before {self.first.label}"
                yield Finding(run.evidence(text, call=call, found=call.arguments), certain)
            fits = happened(self.first, call, run)
            if fits is True:
                return
            seen = None if fits is None else seen


class RequiredActions(Criterion):
    """Certain actions happen, each by a call of its own.

    Attributes:
        in_order: Whether they must come in the order listed, others between them or not.
    """

    type: Literal["required_actions"] = "required_actions"
    actions: tuple[ActionPattern, ...] = Field(min_length=1)
    in_order: Flag = False

    passing: ClassVar[str] = "every required action happened"

    def findings(self, run: RunView) -> Iterator[Finding]:
        """Yield each required action that did not, or may not have, happened."""
        fits = [[happened(pattern, call, run) for call in run.actions] for pattern in self.actions]
        sure, possible = (_in_order if self.in_order else _in_any_order)(fits)
        for position, pattern in enumerate(self.actions):
            if position in sure:
                continue
            if position in possible:
                text = f"whether {pattern.label} happened cannot be told from what was recorded"
                yield Finding(run.evidence(text), certain=False)
            else:
                order = " in the order required" if self.in_order else ""
                apart = " here; what sub-agents did is in other traces" if run.has_apart else ""
                text = f"{pattern.label} did not happen{order}{apart}"
                yield Finding(run.evidence(text, expected=pattern.action.source))


class ForbiddenSequence(Criterion):
    """Certain actions do not come one after another.

    Attributes:
        sequence: The actions, in the order that is forbidden.
        contiguous: Whether only an unbroken sequence is forbidden; else others may lie between.
        within: Only when first and last are at most so many actions apart.
    """

    type: Literal["forbidden_sequence"] = "forbidden_sequence"
    sequence: tuple[ActionPattern, ...] = Field(min_length=1)
    contiguous: Flag = False
    within: Positive | None = None

    passing: ClassVar[str] = "the forbidden sequence does not occur"

    def findings(self, run: RunView) -> Iterator[Finding]:
        """Yield each start of the sequence, or of what may be one."""
        fits = [[pattern.fits(call, run) for call in run.actions] for pattern in self.sequence]
        sure, maybe = (self._ends(fits, maybe=maybe) for maybe in (False, True))
        names = ", then ".join(pattern.label for pattern in self.sequence)
        for call, certain_end, end in zip(run.actions, sure, maybe, strict=True):
            if end is None:
                continue
            certain = certain_end is not None
            begins = "begins" if certain else "may begin"
            last = run.label(run.actions[end if certain_end is None else certain_end])
            text = f"{run.label(call)} {begins} the forbidden sequence {names}; it ends at {last}"
            yield Finding(run.evidence(text, call=call), certain)

    def _ends(self, fits: list[list[Answer]], *, maybe: bool) -> list[int | None]:
        """Return, for each action, where the earliest sequence that starts there ends."""
        n_actions = len(fits[0])
        # ends[p]: the end of the earliest sequence of the patterns so far, begun at p or later.
        ends: list[int | None] = list(range(n_actions))
        for step, answers in enumerate(reversed(fits)):
            first = step == len(fits) - 1
            last = step == 0
            here: list[int | None] = [None] * n_actions
            for place in range(n_actions):
                if _counts(answers[place], maybe=maybe):
                    after = place if last else place + 1
                    here[place] = ends[after] if after < n_actions else None
            ends = here if first or self.contiguous else _or_later(here)
        reach = self.within
        return [
            None if end is None or (reach is not None and end - place > reach) else end
            for place, end in enumerate(ends)
        ]


def happened(pattern: ActionPattern, call: Call, run: RunView) -> Answer:
    """Whether a call is the action required; one without an end may never have been done."""
    found = pattern.fits(call, run)
    return None if found is True and not has_ended(call) else found


def has_ended(call: Call) -> bool:
    """Whether a call came to its end, well or badly."""
    return call.result is not None and not call.result.interrupted


def _or_later(here: list[int | None]) -> list[int | None]:
    """Return, for each place, the smallest end from there on."""
    best: int | None = None
    found: list[int | None] = []
    for end in reversed(here):
        best = end if best is None else (best if end is None else min(best, end))
        found.append(best)
    return found[::-1]


def _counts(found: Answer, *, maybe: bool) -> bool:
    return found is True or (maybe and found is None)


def _in_any_order(fits: list[list[Answer]]) -> tuple[set[int], set[int]]:
    sure = assign([[_counts(item, maybe=False) for item in row] for row in fits])
    possible = assign([[_counts(item, maybe=True) for item in row] for row in fits], start=sure)
    return set(sure), set(possible)


def _in_order(fits: list[list[Answer]]) -> tuple[set[int], set[int]]:
    sure, possible = (_one_after_another(fits, maybe=maybe) for maybe in (False, True))
    return sure, possible if len(possible) == len(fits) else sure


def _one_after_another(fits: list[list[Answer]], *, maybe: bool) -> set[int]:
    place = 0
    found: set[int] = set()
    for position, answers in enumerate(fits):
        places = range(place, len(answers))
        at = next((p for p in places if _counts(answers[p], maybe=maybe)), None)
        if at is not None:
            found.add(position)
            place = at + 1
    return found


def assign(fits: list[list[bool]], *, start: dict[int, int] | None = None) -> dict[int, int]:
    """Give each row a column of its own that fits, for as many rows as can have one.

    Args:
        fits: ``fits[row][column]``.
        start: Row → column to begin with; its rows stay provided for.

    Returns:
        Row → column: a largest matching.
    """
    column_of = dict(start or {})
    row_of = {column: row for row, column in column_of.items()}
    for row in range(len(fits)):
        if row not in column_of:
            _provide(row, fits, column_of, row_of)
    return column_of


def _provide(
    row: int, fits: list[list[bool]], column_of: dict[int, int], row_of: dict[int, int]
) -> None:
    """Find a free column along a path of exchanges, and make the exchanges."""
    wanted_by: dict[int, int] = {}
    pending = deque([row])
    while pending:
        asking = pending.popleft()
        for column, possible in enumerate(fits[asking]):
            if not possible or column in wanted_by:
                continue
            wanted_by[column] = asking
            if column in row_of:
                pending.append(row_of[column])
                continue
            place: int | None = column
            while place is not None:
                taker = wanted_by[place]
                left = column_of.get(taker)
                column_of[taker], row_of[place] = place, taker
                place = left if taker != row else None
            return

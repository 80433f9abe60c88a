"""What would come of another passing rule: mean, all, majority, each judge alone."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Final, NamedTuple

from tracedance_sdk.judging.measures import Measure, pass_measures

Scores = Sequence[float]


def _mean(scores: Scores) -> float:
    # Means of thirds add up to a whole only almost.
    return round(math.fsum(scores) / len(scores), 9)


PASSING_RULES: Final[dict[str, Callable[[Scores], bool]]] = {
    "mean >= 3": lambda scores: _mean(scores) >= 3,
    "mean >= 3.5": lambda scores: _mean(scores) >= 3.5,
    "mean >= 4": lambda scores: _mean(scores) >= 4,
    "mean >= 4.5": lambda scores: _mean(scores) >= 4.5,
    "all >= 4": lambda scores: min(scores) >= 4,
    "majority >= 4": lambda scores: 2 * sum(score >= 4 for score in scores) > len(scores),
}
"""Name of each rule → whether it passes an item, given each judge's score from 0 to 5."""

_SINGLE: Final = 4.0


class ScoredItem(NamedTuple):
    """An item for the rules to pass or fail.

    Attributes:
        scores: Name of each judge → its score from 0 to 5.
        human: Whether people pass it; None when they did not say.
        owner: Whose share of passes it counts to: a model or a group.
        cluster: What it belongs to, for intervals.
    """

    scores: Mapping[str, float]
    human: bool | None = None
    owner: str | None = None
    cluster: Hashable = None


class RuleOutcome(NamedTuple):
    """What one rule makes of the items.

    Attributes:
        rule: Its name; ``NAME >= 4`` for a judge alone.
        pass_rate: Share of all items that it passes.
        measures: Agreement, kappa, precision and recall against people, of the items they rated.
        order: Each owner with the share of its items that pass, the highest first, equals by name.
    """

    rule: str
    pass_rate: float
    measures: Mapping[str, Measure]
    order: tuple[tuple[str, float], ...]

    @property
    def gap(self) -> float | None:
        """Share of the first owner less that of the last; None with fewer than two owners."""
        return self.order[0][1] - self.order[-1][1] if len(self.order) > 1 else None


def rule_outcomes(items: Sequence[ScoredItem]) -> tuple[RuleOutcome, ...]:
    """Return what each rule of `PASSING_RULES`, and each judge alone, makes of items.

    Of a single judge only the means: all, a majority and that judge alone are then the same.

    Args:
        items: With the scores of the same judges, all of them. Without any there are no outcomes.

    Example:
        >>> items = [ScoredItem({"a": 4, "b": 4, "c": 5}), ScoredItem({"a": 3, "b": 4, "c": 4})]
        >>> [(found.rule, found.pass_rate) for found in rule_outcomes(items)][2:6]
        [('mean >= 4', 0.5), ('mean >= 4.5', 0.0), ('all >= 4', 0.5), ('majority >= 4', 1.0)]
    """
    if not items:
        return ()
    names = sorted({name for item in items for name in item.scores})
    is_panel = len(names) > 1
    found = [
        _outcome(name, items, [rule(list(item.scores.values())) for item in items])
        for name, rule in PASSING_RULES.items()
        if is_panel or name.startswith("mean")
    ]
    for name in names if is_panel else ():
        passed = [item.scores[name] >= _SINGLE for item in items]
        found.append(_outcome(f"{name} >= {_SINGLE:g}", items, passed))
    return tuple(found)


def _outcome(rule: str, items: Sequence[ScoredItem], passed: Sequence[bool]) -> RuleOutcome:
    rated = [at for at, item in enumerate(items) if item.human is not None]
    measures = pass_measures(
        [passed[at] for at in rated],
        [bool(items[at].human) for at in rated],
        [items[at].cluster if items[at].cluster is not None else at for at in rated],
    )
    by_owner: dict[str, list[bool]] = defaultdict(list)
    for item, is_pass in zip(items, passed, strict=True):
        if item.owner is not None:
            by_owner[item.owner].append(is_pass)
    shares = {owner: sum(of) / len(of) for owner, of in by_owner.items()}
    order = tuple(sorted(shares.items(), key=lambda pair: (-pair[1], pair[0])))
    return RuleOutcome(rule, sum(passed) / len(items), measures, order)

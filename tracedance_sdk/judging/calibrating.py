"""From rated items to a calibration, and to all that a person wants to know of a judge."""

from __future__ import annotations

from typing import Final, NamedTuple

from tracedance_sdk.errors import InvalidOption, NotEnoughData
from tracedance_sdk.judging.calibration import Counts, JudgeCalibration, Minimum
from tracedance_sdk.judging.judged_rows import Judged
from tracedance_sdk.judging.labels import ItemKey
from tracedance_sdk.judging.measures import (
    Agreement,
    BetweenHumans,
    agreement_of,
    between_humans,
    clusters_of,
)
from tracedance_sdk.judging.passing_rules import RuleOutcome, ScoredItem, rule_outcomes
from tracedance_sdk.judging.ratings import (
    SPLIT,
    Consensus,
    Rated,
    RatedPair,
    rated_pairs,
)
from tracedance_sdk.statistics import CorrectedRate

_MOST_OWNERS: Final = 20
_DEFAULT_MINIMUM: Final = Minimum()


class JudgedRate(NamedTuple):
    """A pass rate by a judge, and what it probably is.

    Attributes:
        owner: The model whose rate it is; None for all items.
        passes: Items that the judge passes.
        n: Items that it judged, without those of the calibration.
        found: The rate as the judge has it and corrected; None when it cannot be.
        why: Why not.
    """

    owner: str | None
    passes: int
    n: int
    found: CorrectedRate | None
    why: str | None = None


class CalibrationReport(NamedTuple):
    """What is known of a judge.

    Attributes:
        calibration: What a file of it holds.
        agreement: With people.
        between: Of the people among themselves; None for fewer than two.
        rules: What other passing rules would make of the items; empty for judges without scores.
        disagreements: All pairs that differ in pass or fail, the furthest apart first.
        rates: Pass rates of the items that nobody labelled: of all, then of each model.
    """

    calibration: JudgeCalibration
    agreement: Agreement
    between: BetweenHumans | None
    rules: tuple[RuleOutcome, ...]
    disagreements: tuple[RatedPair, ...]
    rates: tuple[JudgedRate, ...]


def calibrate(
    rated: Rated,
    *,
    consensus: Consensus = "majority",
    fail_below: float | None = None,
    minimum: Minimum = _DEFAULT_MINIMUM,
) -> CalibrationReport:
    """Hold a judge against people.

    Args:
        rated: Items with both sides.
        consensus: How several labellers of an item count.
        fail_below: Score, from 0 to 5, below which a gate may fail a run; by default the passing
            score, so that every score decides.
        minimum: What is asked of the judge.

    Raises:
        InvalidOption: A `fail_below` above the passing score.
        NotEnoughData: No item has both a rating by the judge and one by people.
    """
    judged = rated.judged
    pairs, n_split = rated_pairs(rated.items, consensus)
    exclusions = dict(rated.exclusions) | ({SPLIT: n_split} if n_split else {})
    if not pairs:
        told = ", ".join(f"{reason} ({n:,})" for reason, n in exclusions.items()) or "no items"
        raise NotEnoughData(f"no item has a rating by the judge and one to hold it against: {told}")
    low = judged.pass_from if fail_below is None else fail_below
    if not 0 <= low <= judged.pass_from:
        raise InvalidOption(
            f"scores that fail must end between 0 and the passing score {judged.pass_from:g}, "
            f"not at {low:g}"
        )
    found = agreement_of(pairs)
    keys = list(dict.fromkeys(pair.item.key for pair in pairs))
    calibration = JudgeCalibration(
        judges=judged.judges,
        rubric=judged.rubric,
        pass_from=judged.pass_from,
        fail_below=low,
        settings=dict(judged.settings),
        labellers=tuple(rated.labels),
        consensus=consensus,
        n_items=len(keys),
        n_pairs=len(pairs),
        n_clusters=found.n_clusters,
        items=tuple(key.short for key in keys),
        confusion=Counts(**found.confusion._asdict()),
        measures=dict(found.measures),
        exclusions=exclusions,
        minimum=minimum,
    )
    return CalibrationReport(
        calibration,
        found,
        between_humans(rated.labels),
        rule_outcomes(_scored(judged, pairs)),
        _disagreements(pairs),
        judged_rates(calibration, judged),
    )


def judged_rates(calibration: JudgeCalibration, judged: Judged) -> tuple[JudgedRate, ...]:
    """Return a judge's pass rates with what its known errors make of them.

    Items of the calibration are left out: of them people said what they are.

    Args:
        calibration: Of this judge; see `check_same_judge`.
        judged: What it says of any items.

    Returns:
        Of all items, then of each model where there are several; nothing without items.
    """
    known = set(calibration.items)
    fresh = {key: rating for key, rating in judged.ratings.items() if key.short not in known}
    models = sorted({key.model for key in fresh if key.model is not None})
    owners: list[str | None] = [None, *(models if len(models) > 1 else ())]
    rates = []
    for owner in owners if fresh else ():
        passed = [r.passed for key, r in fresh.items() if owner is None or key.model == owner]
        try:
            found = calibration.corrected(sum(passed), len(passed))
        except NotEnoughData as error:
            rates.append(JudgedRate(owner, sum(passed), len(passed), None, str(error)))
        else:
            rates.append(JudgedRate(owner, sum(passed), len(passed), found))
    return tuple(rates)


def check_same_judge(calibration: JudgeCalibration, judged: Judged) -> None:
    """Refuse results that another judge gave, or the same judge by another passing score.

    Raises:
        InvalidOption: Another judge, rubric, mode or passing score.
    """
    theirs = " + ".join(judge.name for judge in judged.judges)
    for what, wanted, found in (
        ("rubric", calibration.rubric, judged.rubric),
        ("judge", calibration.name, theirs),
        ("passing score", f"{calibration.pass_from:g}", f"{judged.pass_from:g}"),
        ("mode", calibration.settings.get("mode"), judged.settings.get("mode")),
    ):
        if wanted != found:
            raise InvalidOption(
                f"the calibration is of the {what} {str(wanted)!r}, and the results are of "
                f"{str(found)!r}; calibrate this judge too"
            )


def _scored(judged: Judged, pairs: list[RatedPair]) -> list[ScoredItem]:
    """Return the items that every judge scored, with what people say of them, for the rules."""
    clusters = dict(zip((pair.item.key for pair in pairs), clusters_of(pairs), strict=True))
    said: dict[ItemKey, list[bool]] = {}
    for pair in pairs:
        said.setdefault(pair.item.key, []).append(pair.human.passed)
    owner = _owners(judged)
    items = []
    for key, rating in judged.ratings.items():
        scores = {name: score for name, score in rating.scores.items() if score is not None}
        if not scores or len(scores) < len(rating.scores):
            continue
        humans: list[bool | None] = [*said.get(key, [])] or [None]
        items += [
            ScoredItem(scores, human, owner.get(key), clusters.get(key, key)) for human in humans
        ]
    return items


def _owners(judged: Judged) -> dict[ItemKey, str]:
    """Return whose share of passes each item counts to: its model's, or its group's."""
    for found in (
        {key: key.model for key in judged.ratings},
        {key: rating.group for key, rating in judged.ratings.items()},
    ):
        named = {key: name for key, name in found.items() if name is not None}
        if 2 <= len(set(named.values())) <= _MOST_OWNERS:
            return named
    return {}


def _disagreements(pairs: list[RatedPair]) -> tuple[RatedPair, ...]:
    def apart(pair: RatedPair) -> float:
        judge, human = pair.item.judge.score, pair.human.score
        return 0.0 if judge is None or human is None else abs(judge - human)

    return tuple(sorted((pair for pair in pairs if not pair.is_same), key=lambda p: -apart(p)))

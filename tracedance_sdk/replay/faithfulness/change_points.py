"""Points 7 to 9: other persona rules, another agent, a judge beside the record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tracedance_sdk.errors import InvalidOption, NotEnoughData
from tracedance_sdk.grading import ResultRow
from tracedance_sdk.replay.faithfulness.points import (
    FaithfulnessLimits,
    FaithfulnessPoint,
    found,
    not_measured,
)
from tracedance_sdk.replay.faithfulness.rates import rate_of
from tracedance_sdk.replay.faithfulness.regrading import Recorded, Regraded
from tracedance_sdk.replay.faithfulness.replayed import ReplayedTest, passed
from tracedance_sdk.replay.people import PERSONA_RULES, PersonaRule
from tracedance_sdk.replay.running import ENDS, PROPER_ENDS
from tracedance_sdk.statistics import (
    Trials,
    confusion,
    mcnemar,
    sampling_floor,
    switch_error,
)

_ALPHA = 0.05
_MOST_NAMED = 20


class ChangedAgent(NamedTuple):
    """Another agent, replayed and in reality.

    Attributes:
        replayed: By group, how often its replays passed.
        real: By group, how often it really passed.
    """

    replayed: Mapping[str, Trials]
    real: Mapping[str, Trials]


class JudgedPair(NamedTuple):
    """A run under a judge and under the system of record.

    Attributes:
        judge: Whether the judge passed it.
        record: Whether the record-based grader did.
    """

    judge: bool
    record: bool


def judged_pairs(
    rows: Iterable[ResultRow],
    replays: Iterable[ReplayedTest],
    recorded: Sequence[Recorded] = (),
    regraded: Sequence[Regraded] | None = None,
) -> list[JudgedPair]:
    """Return the traces that a judge gave a verdict on, and the system of record too.

    Args:
        rows: Of the judge's result set.
        replays: Runs that were graded by the record.
        recorded: Recordings, for a judge who judged these.
        regraded: What the record-based grader says of them; else what is stored.

    Raises:
        InvalidOption: The verdicts are by several rubrics.
    """
    record = {item.trace_id: item.replay for item in replays if item.replay is not None}
    for place, item in enumerate(recorded):
        own = None if regraded is None else passed(regraded[place].verdict)
        verdict = item.stored if own is None else own
        if verdict is not None:
            record[item.run.test.source.trace_id] = verdict
    judgements = [r for r in rows if r.grader.startswith("rubric:") and r.subject.turn is None]
    names = sorted({row.grader for row in judgements})
    if len(names) > 1:
        raise InvalidOption(f"the verdicts are by several rubrics: {', '.join(names)}")
    return [
        JudgedPair(verdict, known)
        for row in judgements
        if (verdict := passed(row.raw_verdict or row.verdict)) is not None
        and (known := record.get(row.subject.trace_id)) is not None
    ]


def persona_point(
    sets: Mapping[str, Sequence[ReplayedTest]],
    limits: FaithfulnessLimits,
    *,
    in_use: PersonaRule = "R3",
) -> FaithfulnessPoint:
    """Point 7: matches under each rule for what the person remembers, and matches that are lost."""
    missing = [rule for rule in PERSONA_RULES if rule not in sets]
    if missing:
        told = f"no replays by {', '.join(missing)}" if len(missing) < len(PERSONA_RULES) else ""
        return not_measured(7, "persona", told=told)
    by_rule = {
        rule: {(t.test, t.trial): t for t in tests if t.is_decided} for rule, tests in sets.items()
    }
    common = sorted(set.intersection(*(set(tests) for tests in by_rule.values())))
    if not common:
        return not_measured(7, "persona", told="no test has a verdict under every rule")
    rates, lost, is_beaten = {}, [], False
    used = [by_rule[in_use][key] for key in common]
    for rule in PERSONA_RULES:
        tests = [by_rule[rule][key] for key in common]
        rate = rate_of([t.matches for t in tests], [t.group for t in tests], level=limits.level)
        assert rate is not None  # noqa: S101 - there are some
        rates[rule] = rate
        if rule == in_use:
            continue
        gone = [b for a, b in zip(tests, used, strict=True) if a.matches and not b.matches]
        won = [a for a, b in zip(tests, used, strict=True) if b.matches and not a.matches]
        p = mcnemar([t.matches for t in used], [t.matches for t in tests]).p_value
        is_beaten = is_beaten or (len(gone) > len(won) and p < _ALPHA)
        lost += [_lost(f"{rule} matches, {in_use} does not", gone, p)]
        lost += [_lost(f"{in_use} matches, {rule} does not", won, p)]
    told = "; ".join(f"{rule} {rate.told}" for rule, rate in rates.items())
    figures: dict[str, Any] = {
        "in_use": in_use,
        "n": len(common),
        "match": {rule: rate.as_json for rule, rate in rates.items()},
        "lost": lost,
    }
    return found(7, told, holds=not is_beaten, figures=figures)


def _lost(what: str, tests: Sequence[ReplayedTest], p_value: float) -> dict[str, Any]:
    return {
        "what": what,
        "n": len(tests),
        "p_value": p_value,
        "causes": dict(sorted(Counter(map(_cause, tests)).items())),
        "tests": [item.test for item in tests[:_MOST_NAMED]],
    }


def _cause(test: ReplayedTest) -> str:
    """Return what may have cost a match: answers, the end, or else the person or chance."""
    if test.doubts:
        return "answers that are no evidence"
    ended = next((end for end in ENDS if end == test.ended), None)
    if ended is not None and ended not in PROPER_ENDS:
        return ENDS[ended]
    return "the person, or chance"


def change_point(
    production: Mapping[str, Trials], changed: ChangedAgent | None
) -> FaithfulnessPoint:
    """Point 8: replayed pass rates of a changed agent beside its real ones."""
    if changed is None:
        return not_measured(8, "changed_replay", "changed_real")
    groups = sorted(production.keys() & changed.replayed.keys() & changed.real.keys())
    if not groups:
        told = "no task has rates of production, of the replays and of the changed agent"
        return not_measured(8, "changed_replay", "changed_real", told=told)
    rates = [
        [of[group].passes / of[group].n for group in groups]
        for of in (production, changed.replayed, changed.real)
    ]
    error = switch_error(*rates)
    floor = sampling_floor([changed.real[group] for group in groups])
    told = (
        f"error {error.error:.3f} over {error.n_tasks:,} tasks; nothing changes "
        f"{error.no_change_error:.3f}; floor {floor:.3f}; "
        f"{error.n_right:,} of {error.n_moved:,} that moved point the right way"
    )
    points_right = error.n_moved == 0 or 2 * error.n_right > error.n_moved
    figures = {
        **error._asdict(),
        "direction": None if error.direction is None else list(error.direction.interval[:2]),
        "sampling_floor": floor,
        "old_rate": sum(rates[0]) / len(groups),
        "replayed_rate": sum(rates[1]) / len(groups),
        "new_rate": sum(rates[2]) / len(groups),
    }
    holds = error.error < error.no_change_error and points_right
    return found(8, told, holds=holds, figures=figures)


def judge_point(
    pairs: Sequence[JudgedPair] | None, limits: FaithfulnessLimits
) -> FaithfulnessPoint:
    """Point 9: a judge's verdicts beside those of the record-based grader."""
    if pairs is None:
        return not_measured(9, "judged")
    if not pairs:
        return not_measured(9, "judged", told="no trace has a verdict of both")
    table = confusion([item.judge for item in pairs], [item.record for item in pairs])
    try:
        agreement, kappa = table.agreement(level=limits.level), table.kappa(level=limits.level)
    except NotEnoughData:
        told = f"both say the same of all {table.n:,} runs, which proves nothing"
        return not_measured(9, "judged", told=told)
    low, high = 100 * agreement.interval.low, 100 * agreement.interval.high
    told = (
        f"agree on {table.tp + table.tn:,}/{table.n:,} = {100 * agreement.value:.1f} % "
        f"({low:.1f} to {high:.1f}); kappa {kappa.value:.2f}; the judge passes "
        f"{table.tp + table.fp:,}, the record {table.tp + table.fn:,}"
    )
    figures = {
        **table._asdict(),
        "agreement": agreement.value,
        "agreement_interval": [agreement.interval.low, agreement.interval.high],
        "kappa": kappa.value,
        "kappa_interval": [kappa.interval.low, kappa.interval.high],
    }
    holds = kappa.value >= limits.least_kappa if table.n >= limits.least_items else None
    return found(9, told, holds=holds, figures=figures)

"""What the scores of a panel say: means and passes with intervals, and what is missing beside them.

Items of one group are not independent, nor are replies to one context: intervals are widened for
either.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final, NamedTuple

from tracedance_sdk.errors import NotEnoughData
from tracedance_sdk.grading import Verdict
from tracedance_sdk.judging import JudgeScores, Panel, PanelFinding, Rubric
from tracedance_sdk.statistics import Estimate, clustered_rate, mean_interval, pass_rate

MOST: Final = 5
"""The highest score."""


class Scored(NamedTuple):
    """What a judge, or a panel, said of some items.

    Attributes:
        name: Of the judge, or of the model whose items they are.
        n: Items.
        mean: Over the items with a score, 0 to 5; None where there is none.
        interval: Low and high end, 95 %; None where nothing is known of it: for fewer than two
            independent items, and where all means are the same.
        n_missing: Scores that are missing, of `n_scores`.
        n_scores: Items times repetitions, and times judges for a panel.
        spread: Mean over the items of the highest less the lowest score of repetitions; None
            without repetitions. The largest of a panel's judges.
    """

    name: str
    n: int
    mean: float | None
    interval: tuple[float, float] | None
    n_missing: int
    n_scores: int
    spread: float | None


class Passes(NamedTuple):
    """How many items a panel let pass.

    Attributes:
        n_passed: Of `n_decided`.
        n_decided: Items that passed or failed.
        n_undecided: Items whose verdict missing scores could change, or without any score.
        rate: None where nothing is decided.
        interval: Low and high end, 95 %; None where they are not known.
    """

    n_passed: int
    n_decided: int
    n_undecided: int
    rate: float | None
    interval: tuple[float, float] | None


class Panelled(NamedTuple):
    """What a panel said of the items of one model, or of all."""

    scored: Scored
    passes: Passes


class Unscored(NamedTuple):
    """Scores of one judge that are missing for one kind of reason.

    Attributes:
        judge: Its name.
        kind: Of what is missing, a key of `tracedance_sdk.llm.MISSING`.
        number: How many.
        first: What the first one says, one line.
    """

    judge: str
    kind: str
    number: int
    first: str


class RubricSummary(NamedTuple):
    """What is to be said of a rubric.

    Attributes:
        rubric: The rubric.
        judges: What each judge said, in the order of the panel.
        panel: What they said together.
        models: The same for each model that was judged, by name; empty for fewer than two.
        unscored: What is missing, by judge and kind; kinds that were never asked come last.
    """

    rubric: Rubric
    judges: tuple[Scored, ...]
    panel: Panelled
    models: tuple[Panelled, ...]
    unscored: tuple[Unscored, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the summary as JSON."""
        return {
            "rubric": self.rubric.id,
            "pass_from": self.rubric.pass_from,
            "judges": [item._asdict() for item in self.judges],
            "panel": _flat(self.panel),
            "models": [_flat(item) for item in self.models],
            "unscored": [item._asdict() for item in self.unscored],
        }


def summarise(panel: Panel, findings: Sequence[PanelFinding]) -> RubricSummary:
    """Return what a panel's findings say.

    Args:
        panel: Who judged.
        findings: Of this panel and others.
    """
    own = [found for found in findings if found.rubric is panel.rubric]
    judges = [
        _scored(
            name,
            own,
            [found.judges[place] for found in own],
            lambda found, place=place: found.judges[place].mean,  # type: ignore[misc]
        )
        for place, name in enumerate(panel.names)
    ]
    names = sorted({found.item.model or "" for found in own})
    models = [
        _panelled(name or "not known", [f for f in own if (f.item.model or "") == name])
        for name in names
    ]
    return RubricSummary(
        panel.rubric,
        tuple(judges),
        _panelled("panel", own),
        tuple(models) if len(models) > 1 else (),
        _unscored(panel, own),
    )


def _unscored(panel: Panel, findings: Sequence[PanelFinding]) -> tuple[Unscored, ...]:
    found: dict[tuple[str, str], list[str]] = {}
    for finding in findings:
        for judge in finding.judges:
            for said in judge.scores:
                if said.score is None:
                    key = judge.identity.name, said.missing or "error"
                    found.setdefault(key, []).append(said.missing_reason or "")
    places = {name: place for place, name in enumerate(panel.names)}
    order = sorted(found, key=lambda key: (key[1] == "not_asked", places[key[0]], key[1]))
    return tuple(
        Unscored(*key, len(found[key]), found[key][0].removeprefix(key[1]).removeprefix(": "))
        for key in order
    )


def _panelled(name: str, findings: Sequence[PanelFinding]) -> Panelled:
    every = [judge for found in findings for judge in found.judges]
    scored = _scored(name, findings, every, lambda found: found.score.mean)
    decided = [f for f in findings if f.score.verdict in (Verdict.PASS, Verdict.FAIL)]
    outcomes = [found.score.verdict is Verdict.PASS for found in decided]
    n_passed = sum(outcomes)
    clusters = _clusters(decided)
    rate = _known(
        lambda: (
            pass_rate(n_passed, len(decided))
            if clusters is None
            else clustered_rate(outcomes, clusters)
        )
    )
    passes = Passes(
        n_passed,
        len(decided),
        len(findings) - len(decided),
        n_passed / len(decided) if decided else None,
        _ends(rate, 1),
    )
    return Panelled(scored, passes)


def _scored(
    name: str,
    findings: Sequence[PanelFinding],
    judges: Sequence[JudgeScores],
    mean_of: Callable[[PanelFinding], Any],
) -> Scored:
    known = [(found, float(mean)) for found in findings if (mean := mean_of(found)) is not None]
    values = [value for _, value in known]
    estimate = _known(lambda: mean_interval(values, _clusters([found for found, _ in known])))
    n_scores = sum(len(judge.scores) for judge in judges)
    return Scored(
        name=name,
        n=len(findings),
        mean=sum(values) / len(values) if values else None,
        interval=_ends(estimate, MOST),
        n_missing=n_scores - sum(len(judge.present) for judge in judges),
        n_scores=n_scores,
        spread=_spread(judges),
    )


def _spread(judges: Sequence[JudgeScores]) -> float | None:
    found: dict[str, list[int]] = {}
    for judge in judges:
        if judge.spread is not None:
            found.setdefault(judge.identity.name, []).append(judge.spread)
    return max((sum(of) / len(of) for of in found.values()), default=None)


def _clusters(findings: Sequence[PanelFinding]) -> list[Hashable] | None:
    """Return what each item belongs to; None where every item stands alone."""
    owners: list[Hashable] = [
        ("", found.item.group) if found.item.group is not None else found.item.instance
        for found in findings
    ]
    return owners if len(set(owners)) < len(owners) else None


def _known(estimate: Callable[[], Estimate]) -> Estimate | None:
    try:
        return estimate()
    except NotEnoughData:
        return None


def _ends(estimate: Estimate | None, most: int) -> tuple[float, float] | None:
    if estimate is None:
        return None
    low, high, _ = estimate.interval.within(0, most)
    return (low, high) if low < high else None


def _flat(item: Panelled) -> dict[str, Any]:
    return {**item.scored._asdict(), **_renamed(item.passes)}


def _renamed(passes: Passes) -> dict[str, Any]:
    return {
        "n_passed": passes.n_passed,
        "n_decided": passes.n_decided,
        "n_undecided": passes.n_undecided,
        "pass_rate": passes.rate,
        "pass_interval": passes.interval,
    }

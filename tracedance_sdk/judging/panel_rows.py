"""What panels found as rows of a result set, and what the set says of its judges.

There is a row for each judge and repetition, and one for each item with the panel's verdict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.grading import ResultRow
from tracedance_sdk.judging.identity import JudgeIdentity
from tracedance_sdk.judging.items import RubricScore
from tracedance_sdk.judging.panel import Panel, PanelFinding
from tracedance_sdk.judging.panel_scores import MOST
from tracedance_sdk.trace import Json, plain

PANEL_GRADER: Final = "rubric:"
"""What the grader of an item's row begins with; the rubric's id follows."""

JUDGE_GRADER: Final = "judge:"
"""What the grader of a judge's row begins with; the rubric's id and the judge's name follow."""


def rows_of_panel(findings: Iterable[PanelFinding]) -> Iterator[ResultRow]:
    """Yield a row for each judge and repetition, and after them one for the item.

    Rows of a judge have the grader ``judge:<rubric>:<judge>``, no verdict, ``score`` as a fifth of
    the rubric's, and fields of their own: ``rubric``, ``rubric_score`` (0 to 5), ``repeat``,
    ``judge`` (the fields of its identity), ``missing`` (the kind, where there is no score).

    The row of an item has the grader ``rubric:<rubric>``, the verdict, and fields of its own:
    ``rubric``, ``rubric_score`` (the mean), ``pass_from``, ``judges`` (name → mean, null when
    missing), ``n_missing`` of ``n_scores``, ``spread`` (null without repetitions).
    """
    for finding in findings:
        for judge in finding.judges:
            for said in judge.scores:
                yield _row_of_judge(finding, judge.identity, said)
        yield _row_of_item(finding)


def panel_manifest(panels: Sequence[Panel], findings: Iterable[PanelFinding]) -> dict[str, Any]:
    """Return what a result set should say of its judges.

    Args:
        panels: All that judged.
        findings: All that they found.

    Returns:
        ``judges`` (the fields of each identity, and its name), ``rubrics`` (id, SHA-256 and
        passing score), ``mode``, ``repeats``, ``seed``, ``scores`` and ``missing`` (scores that
        are not there, by kind).
    """
    said = [item for found in findings for judge in found.judges for item in judge.scores]
    kinds = Counter(item.missing or "error" for item in said if item.score is None)
    judges = {identity.name: identity for panel in panels for identity in panel.identities}
    rubrics = {(panel.rubric.id, panel.rubric.sha256): panel.rubric for panel in panels}
    return {
        "judges": [_identity(identity) for identity in judges.values()],
        "rubrics": [list(rubric) for rubric in rubrics],
        "pass_from": {rubric.id: rubric.pass_from for rubric in rubrics.values()},
        "mode": _common([panel.mode for panel in panels]),
        "repeats": _common([panel.repeats for panel in panels]),
        "seed": _common([panel.seed for panel in panels]),
        "scores": len(said) - sum(kinds.values()),
        "missing": dict(sorted(kinds.items())),
    }


def rows_of_rubric(rows: Iterable[ResultRow], rubric: str | None = None) -> list[ResultRow]:
    """Return the items' rows of one rubric, so that scores of several are never averaged.

    Args:
        rows: Of a result set.
        rubric: Its id; None where there is only one.

    Raises:
        InvalidOption: No such rubric, several and none named, or several texts under one id.
    """
    found = [row for row in rows if row.grader.startswith(PANEL_GRADER)]
    by_id: dict[str, set[Json]] = {}
    for row in found:
        extra = row.model_extra or {}
        name = row.grader.removeprefix(PANEL_GRADER)
        by_id.setdefault(name, set()).add(str(extra.get("rubric_sha256")))
    known = ", ".join(sorted(by_id)) or "none"
    if rubric is not None and rubric not in by_id:
        raise InvalidOption(f"no item was judged by the rubric {rubric!r}; there are: {known}")
    if rubric is None and len(by_id) != 1:
        why = "several rubrics" if by_id else "no rubric"
        raise InvalidOption(f"the rows hold scores by {why} ({known}); name one")
    name = rubric if rubric is not None else next(iter(by_id))
    if len(by_id[name]) > 1:
        raise InvalidOption(
            f"the rows hold scores by {len(by_id[name])} different rubrics called {name!r}; "
            "do not put them into one set, or give them different ids"
        )
    return [row for row in found if row.grader == f"{PANEL_GRADER}{name}"]


def _row_of_judge(finding: PanelFinding, identity: JudgeIdentity, said: RubricScore) -> ResultRow:
    rubric = finding.rubric
    fields: dict[str, Any] = {
        "grader": f"{JUDGE_GRADER}{rubric.id}:{identity.name}",
        "score": None if said.score is None else said.score / MOST,
        "missing_reason": said.missing_reason,
        "usage": None if said.usage is None else plain(said.usage),
        "rubric": rubric.id,
        "rubric_score": said.score,
        "repeat": said.repeat,
        "judge": _identity(identity),
    }
    if said.score is not None:
        fields["evidence"] = ({"reasoning": said.reasoning},)
    if said.missing is not None:
        fields["missing"] = said.missing
    if said.warnings:
        fields["warnings"] = list(said.warnings)
    return ResultRow(**_common_fields(finding), **fields)


def _row_of_item(finding: PanelFinding) -> ResultRow:
    rubric, score = finding.rubric, finding.score
    means = {judge.identity.name: judge.mean for judge in finding.judges}
    own: dict[str, Any] = {
        "rubric": rubric.id,
        "rubric_sha256": rubric.sha256,
        "rubric_score": score.mean,
        "pass_from": rubric.pass_from,
        "judges": {name: None if mean is None else float(mean) for name, mean in means.items()},
        "n_missing": score.n_missing,
        "n_scores": score.n_scores,
        "spread": score.spread,
    }
    return ResultRow(
        **_common_fields(finding),
        grader=f"{PANEL_GRADER}{rubric.id}",
        verdict=score.verdict,
        raw_verdict=score.raw_verdict,
        score=None if score.mean is None else score.mean / MOST,
        missing_reason=score.missing_reason,
        **own,
    )


def _common_fields(finding: PanelFinding) -> dict[str, Any]:
    item = finding.item
    return {
        "subject": item.subject,
        "sample": item.sample,
        "group": item.group,
        "task_id": item.trace.task_id,
        "model": item.model,
    }


def _identity(identity: JudgeIdentity) -> dict[str, Json]:
    return {"name": identity.name, **identity._asdict()}


def _common(values: Sequence[Any]) -> Any:
    """Return what all values are, or all of them where they differ."""
    return values[0] if len(set(values)) == 1 else list(values)

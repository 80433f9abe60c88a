"""The work of `tracedance judge`: panels of models, their scores, a result set."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, Final, NamedTuple

from tracedance_sdk.cli.judge_items import NO_CONTEXT, Items, Sources, find_items
from tracedance_sdk.cli.judge_summary import RubricSummary, summarise
from tracedance_sdk.cli.left_out import told_left_out
from tracedance_sdk.cli.model_options import ModelOptions, OpenedModel, opened_models
from tracedance_sdk.cli.model_spending import asking_progress, spent, versions
from tracedance_sdk.cli.wanted import Missed
from tracedance_sdk.errors import InvalidOption
from tracedance_sdk.grading import ResultSet, ResultSetWriter, check_writable
from tracedance_sdk.judging import (
    MOST_CHARACTERS,
    OUTPUT_CAP,
    JudgedItem,
    Mode,
    Panel,
    PanelFinding,
    Rubric,
    RubricJudge,
    load_rubric,
    panel_manifest,
    rows_of_panel,
    run_panels,
)
from tracedance_sdk.llm import Settings
from tracedance_sdk.replay import Exclusion

_MOST_LISTED: Final = 1_000
"""Exclusions that a manifest lists one by one; all are counted."""


class JudgePlan(NamedTuple):
    """What the verb was asked to do; the fields are named as its options."""

    rubrics: tuple[str, ...]
    models: tuple[str, ...]
    out: Path
    mode: Mode = "single"
    repeats: int = 1
    seed: int = 0
    max_characters: int = MOST_CHARACTERS
    max_tokens: int = OUTPUT_CAP
    temperature: float | None = None
    calls: ModelOptions = ModelOptions()


class Judged(NamedTuple):
    """What came of a plan.

    Attributes:
        summaries: For each rubric what the scores say.
        manifest: What the result set says of itself.
        exit_code: Of the verb.
    """

    plan: JudgePlan
    summaries: tuple[RubricSummary, ...]
    manifest: dict[str, Any]
    exit_code: int


def run_judges(plan: JudgePlan, sources: Sources, missed: Missed) -> Judged:
    """Judge and write the result set.

    Raises:
        TraceDanceError: A rubric, model, source, folder or price that cannot be used, or nothing
            to judge; nothing was sent then.
    """
    check_writable(plan.out)
    rubrics = _rubrics(plan.rubrics)
    opened = opened_models(plan.models, plan.calls, out=plan.out)
    panels = [_panel(plan, rubric, opened) for rubric in rubrics]
    items = find_items(sources, rubrics, missed)
    if not any(items.of):
        raise InvalidOption(_nothing(items.excluded))
    work = list(zip(panels, items.of, strict=True))
    so_far: list[PanelFinding] = []
    try:
        with asking_progress(opened, sum(len(of) for of in items.of)) as on_finding:

            def keep(finding: PanelFinding) -> None:
                so_far.append(finding)
                if on_finding is not None:
                    on_finding(finding)

            findings = run_panels(work, on_finding=keep)
    except BaseException:
        # What came was paid for: it is kept, and the set says that it is not whole.
        if so_far:
            _write(plan, work, items, so_far, opened)
        raise
    manifest = _write(plan, work, items, findings, opened)
    is_short = any(found.score.n_missing for found in findings) or _is_lacking(items, sources)
    summaries = tuple(summarise(panel, findings) for panel in panels)
    return Judged(plan, summaries, manifest, 3 if is_short or missed.number else 0)


def _write(
    plan: JudgePlan,
    work: list[tuple[Panel, list[JudgedItem]]],
    items: Items,
    findings: list[PanelFinding],
    opened: list[OpenedModel],
) -> dict[str, Any]:
    """Write the result set of what was found so far and return its manifest."""
    manifest = _manifest(plan, [panel for panel, _ in work], items, findings) | spent(opened)
    if left := sum(len(of) for of in items.of) - len(findings):
        manifest["exclusions"]["interrupted"] = left
    with ResultSetWriter(plan.out, manifest=manifest) as writer:
        writer.add(rows_of_panel(findings))
    return manifest


def _rubrics(names: tuple[str, ...]) -> list[Rubric]:
    """Read the rubrics, of which no two may have one id."""
    found: dict[str, Rubric] = {}
    for name in names:
        rubric = load_rubric(name)
        if rubric.id in found:
            is_same = found[rubric.id].sha256 == rubric.sha256
            what = "is given twice" if is_same else "is the id of two different rubrics"
            raise InvalidOption(f"{rubric.id!r} {what}; give each rubric once, by an id of its own")
        found[rubric.id] = rubric
    return list(found.values())


def _panel(plan: JudgePlan, rubric: Rubric, opened: list[OpenedModel]) -> Panel:
    judges = [
        RubricJudge(
            item.asker,
            rubric,
            model_name=item.name,
            settings=Settings(max_output_tokens=plan.max_tokens, temperature=plan.temperature),
            most_characters=plan.max_characters,
        )
        for item in opened
    ]
    return Panel(judges, mode=plan.mode, repeats=plan.repeats, seed=plan.seed)


def _nothing(excluded: list[Exclusion]) -> str:
    if not excluded:
        return "nothing to judge there, so no model was asked"
    return f"nothing to judge, so no model was asked; {told_left_out(excluded)}"


def _is_lacking(items: Items, sources: Sources) -> bool:
    """Whether a reply could not be judged for want of its trace, though no trace was refused."""
    is_chosen = sources.wanted.where is not None or sources.wanted.trace_id is not None
    return not is_chosen and any(item.reason == NO_CONTEXT for item in items.excluded)


def _manifest(
    plan: JudgePlan, panels: list[Panel], items: Items, findings: list[PanelFinding]
) -> dict[str, Any]:
    return {
        "command": "judge",
        "versions": versions(),
        **panel_manifest(panels, findings),
        "items": {panel.rubric.id: len(of) for panel, of in zip(panels, items.of, strict=True)},
        "settings": {
            "max_output_tokens": plan.max_tokens,
            "temperature": plan.temperature,
            "max_characters": plan.max_characters,
        },
        "replies_of": [_named(found) for found in items.sets],
        "exclusions": dict(Counter(item.reason for item in items.excluded)),
        "excluded": [item._asdict() for item in items.excluded[:_MOST_LISTED]],
    }


def _named(found: ResultSet) -> dict[str, Any]:
    return {key: found.manifest.get(key) for key in ("command", "model", "rows_sha256")}

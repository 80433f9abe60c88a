"""Soft judgement: how well a run went, beside the verdict and never instead of it.

Submodules are imported when one of their names is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracedance_sdk._lazy import lazy_face

if TYPE_CHECKING:
    from tracedance_sdk.judging.condensing import ABOUT_CONDENSED, MOST_CHARACTERS, condensed
    from tracedance_sdk.judging.heuristic import HeuristicJudge
    from tracedance_sdk.judging.identity import JudgeIdentity
    from tracedance_sdk.judging.items import JudgedItem, RubricScore, check_item
    from tracedance_sdk.judging.label_tables import LabelTable, TableReading, labels_from_table
    from tracedance_sdk.judging.label_templates import (
        TemplateItem,
        label_template,
        protected,
        unprotected,
    )
    from tracedance_sdk.judging.label_texts import ItemTexts, TextLine, item_texts
    from tracedance_sdk.judging.label_writer import LabelWriter
    from tracedance_sdk.judging.labelling import (
        LONGEST_NOTE,
        UNSURE,
        Answer,
        Labelling,
        Scale,
        chosen_items,
        label_of,
    )
    from tracedance_sdk.judging.labels import (
        ItemKey,
        Label,
        LabelHeader,
        LabelSet,
        check_label_rubric,
        current_labels,
        read_labels,
    )
    from tracedance_sdk.judging.panel import Panel, PanelFinding, judge_items, run_panels
    from tracedance_sdk.judging.panel_rows import (
        JUDGE_GRADER,
        PANEL_GRADER,
        panel_manifest,
        rows_of_panel,
        rows_of_rubric,
    )
    from tracedance_sdk.judging.panel_scores import JudgeScores, PanelScore, panel_score
    from tracedance_sdk.judging.recorded import RecordedJudge, save_judgements
    from tracedance_sdk.judging.rubric import Rubric, load_rubric, packaged_rubrics, parse_rubric
    from tracedance_sdk.judging.rubric_judge import OUTPUT_CAP, RubricJudge
    from tracedance_sdk.judging.rubric_prompt import MODES, Mode
    from tracedance_sdk.judging.trajectory_judge import TrajectoryJudge

__all__ = [
    "ABOUT_CONDENSED",
    "JUDGE_GRADER",
    "LONGEST_NOTE",
    "MODES",
    "MOST_CHARACTERS",
    "OUTPUT_CAP",
    "PANEL_GRADER",
    "UNSURE",
    "Answer",
    "HeuristicJudge",
    "ItemKey",
    "ItemTexts",
    "JudgeIdentity",
    "JudgeScores",
    "JudgedItem",
    "Label",
    "LabelHeader",
    "LabelSet",
    "LabelTable",
    "LabelWriter",
    "Labelling",
    "Mode",
    "Panel",
    "PanelFinding",
    "PanelScore",
    "RecordedJudge",
    "Rubric",
    "RubricJudge",
    "RubricScore",
    "Scale",
    "TableReading",
    "TemplateItem",
    "TextLine",
    "TrajectoryJudge",
    "check_item",
    "check_label_rubric",
    "chosen_items",
    "condensed",
    "current_labels",
    "item_texts",
    "judge_items",
    "label_of",
    "label_template",
    "labels_from_table",
    "load_rubric",
    "packaged_rubrics",
    "panel_manifest",
    "panel_score",
    "parse_rubric",
    "protected",
    "read_labels",
    "rows_of_panel",
    "rows_of_rubric",
    "run_panels",
    "save_judgements",
    "unprotected",
]

__getattr__, __dir__ = lazy_face(
    __name__,
    {
        "condensing": ("ABOUT_CONDENSED", "MOST_CHARACTERS", "condensed"),
        "heuristic": ("HeuristicJudge",),
        "identity": ("JudgeIdentity",),
        "items": ("JudgedItem", "RubricScore", "check_item"),
        "label_tables": ("LabelTable", "TableReading", "labels_from_table"),
        "label_templates": ("TemplateItem", "label_template", "protected", "unprotected"),
        "label_texts": ("ItemTexts", "TextLine", "item_texts"),
        "label_writer": ("LabelWriter",),
        "labelling": (
            "LONGEST_NOTE",
            "UNSURE",
            "Answer",
            "Labelling",
            "Scale",
            "chosen_items",
            "label_of",
        ),
        "labels": (
            "ItemKey",
            "Label",
            "LabelHeader",
            "LabelSet",
            "check_label_rubric",
            "current_labels",
            "read_labels",
        ),
        "panel": ("Panel", "PanelFinding", "judge_items", "run_panels"),
        "panel_rows": (
            "JUDGE_GRADER",
            "PANEL_GRADER",
            "panel_manifest",
            "rows_of_panel",
            "rows_of_rubric",
        ),
        "panel_scores": ("JudgeScores", "PanelScore", "panel_score"),
        "recorded": ("RecordedJudge", "save_judgements"),
        "rubric": ("Rubric", "load_rubric", "packaged_rubrics", "parse_rubric"),
        "rubric_judge": ("OUTPUT_CAP", "RubricJudge"),
        "rubric_prompt": ("MODES", "Mode"),
        "trajectory_judge": ("TrajectoryJudge",),
    },
)

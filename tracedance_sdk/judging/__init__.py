"""Soft judgement: how well a run went, beside the verdict and never instead of it.

Submodules are imported when one of their names is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracedance_sdk._lazy import lazy_face

if TYPE_CHECKING:
    from tracedance_sdk.judging.calibrating import (
        CalibrationReport,
        JudgedRate,
        calibrate,
        check_same_judge,
        judged_rates,
    )
    from tracedance_sdk.judging.calibration import (
        JudgeCalibration,
        Minimum,
        load_calibration,
        parse_calibration,
        save_calibration,
    )
    from tracedance_sdk.judging.condensing import ABOUT_CONDENSED, MOST_CHARACTERS, condensed
    from tracedance_sdk.judging.drifting import Drift, drift
    from tracedance_sdk.judging.heuristic import HeuristicJudge
    from tracedance_sdk.judging.identity import JudgeIdentity
    from tracedance_sdk.judging.items import JudgedItem, RubricScore, check_item
    from tracedance_sdk.judging.judged_rows import (
        PANEL,
        PASS_FROM,
        Judged,
        JudgeRating,
        KnownJudge,
        judged_items,
        passing_scores_of,
        rubrics_of,
    )
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
        is_plain_name,
        read_labels,
        score_problem,
    )
    from tracedance_sdk.judging.measures import (
        MEASURES,
        SHARES,
        Agreement,
        BetweenHumans,
        Measure,
        between_humans,
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
    from tracedance_sdk.judging.passing_rules import (
        PASSING_RULES,
        RuleOutcome,
        ScoredItem,
        rule_outcomes,
    )
    from tracedance_sdk.judging.ratings import (
        CONSENSUS_WORDS,
        Consensus,
        HumanRating,
        Rated,
        RatedItem,
        RatedPair,
        rated_items,
        rated_pairs,
    )
    from tracedance_sdk.judging.recorded import RecordedJudge, save_judgements
    from tracedance_sdk.judging.recorded_ratings import (
        TRUTH,
        RecordedRatings,
        load_recorded_ratings,
    )
    from tracedance_sdk.judging.rubric import Rubric, load_rubric, packaged_rubrics, parse_rubric
    from tracedance_sdk.judging.rubric_judge import OUTPUT_CAP, RubricJudge
    from tracedance_sdk.judging.rubric_prompt import MODES, Mode
    from tracedance_sdk.judging.trajectory_judge import TrajectoryJudge
    from tracedance_sdk.judging.verdict_words import Place, VerdictPlace

__all__ = [
    "ABOUT_CONDENSED",
    "CONSENSUS_WORDS",
    "JUDGE_GRADER",
    "LONGEST_NOTE",
    "MEASURES",
    "MODES",
    "MOST_CHARACTERS",
    "OUTPUT_CAP",
    "PANEL",
    "PANEL_GRADER",
    "PASSING_RULES",
    "PASS_FROM",
    "SHARES",
    "TRUTH",
    "UNSURE",
    "Agreement",
    "Answer",
    "BetweenHumans",
    "CalibrationReport",
    "Consensus",
    "Drift",
    "HeuristicJudge",
    "HumanRating",
    "ItemKey",
    "ItemTexts",
    "JudgeCalibration",
    "JudgeIdentity",
    "JudgeRating",
    "JudgeScores",
    "Judged",
    "JudgedItem",
    "JudgedRate",
    "KnownJudge",
    "Label",
    "LabelHeader",
    "LabelSet",
    "LabelTable",
    "LabelWriter",
    "Labelling",
    "Measure",
    "Minimum",
    "Mode",
    "Panel",
    "PanelFinding",
    "PanelScore",
    "Place",
    "Rated",
    "RatedItem",
    "RatedPair",
    "RecordedJudge",
    "RecordedRatings",
    "Rubric",
    "RubricJudge",
    "RubricScore",
    "RuleOutcome",
    "Scale",
    "ScoredItem",
    "TableReading",
    "TemplateItem",
    "TextLine",
    "TrajectoryJudge",
    "VerdictPlace",
    "between_humans",
    "calibrate",
    "check_item",
    "check_label_rubric",
    "check_same_judge",
    "chosen_items",
    "condensed",
    "current_labels",
    "drift",
    "is_plain_name",
    "item_texts",
    "judge_items",
    "judged_items",
    "judged_rates",
    "label_of",
    "label_template",
    "labels_from_table",
    "load_calibration",
    "load_recorded_ratings",
    "load_rubric",
    "packaged_rubrics",
    "panel_manifest",
    "panel_score",
    "parse_calibration",
    "parse_rubric",
    "passing_scores_of",
    "protected",
    "rated_items",
    "rated_pairs",
    "read_labels",
    "rows_of_panel",
    "rows_of_rubric",
    "rubrics_of",
    "rule_outcomes",
    "run_panels",
    "save_calibration",
    "save_judgements",
    "score_problem",
    "unprotected",
]

__getattr__, __dir__ = lazy_face(
    __name__,
    {
        "calibrating": (
            "CalibrationReport",
            "JudgedRate",
            "calibrate",
            "check_same_judge",
            "judged_rates",
        ),
        "calibration": (
            "JudgeCalibration",
            "Minimum",
            "load_calibration",
            "parse_calibration",
            "save_calibration",
        ),
        "condensing": ("ABOUT_CONDENSED", "MOST_CHARACTERS", "condensed"),
        "drifting": ("Drift", "drift"),
        "heuristic": ("HeuristicJudge",),
        "identity": ("JudgeIdentity",),
        "items": ("JudgedItem", "RubricScore", "check_item"),
        "judged_rows": (
            "PANEL",
            "PASS_FROM",
            "Judged",
            "JudgeRating",
            "KnownJudge",
            "judged_items",
            "passing_scores_of",
            "rubrics_of",
        ),
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
            "is_plain_name",
            "read_labels",
            "score_problem",
        ),
        "measures": (
            "MEASURES",
            "SHARES",
            "Agreement",
            "BetweenHumans",
            "Measure",
            "between_humans",
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
        "passing_rules": ("PASSING_RULES", "RuleOutcome", "ScoredItem", "rule_outcomes"),
        "ratings": (
            "CONSENSUS_WORDS",
            "Consensus",
            "HumanRating",
            "Rated",
            "RatedItem",
            "RatedPair",
            "rated_items",
            "rated_pairs",
        ),
        "recorded": ("RecordedJudge", "save_judgements"),
        "recorded_ratings": ("TRUTH", "RecordedRatings", "load_recorded_ratings"),
        "rubric": ("Rubric", "load_rubric", "packaged_rubrics", "parse_rubric"),
        "rubric_judge": ("OUTPUT_CAP", "RubricJudge"),
        "rubric_prompt": ("MODES", "Mode"),
        "trajectory_judge": ("TrajectoryJudge",),
        "verdict_words": ("Place", "VerdictPlace"),
    },
)

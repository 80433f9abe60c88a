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
    from tracedance_sdk.judging.label_writer import LabelWriter
    from tracedance_sdk.judging.labels import (
        ItemKey,
        Label,
        LabelHeader,
        LabelSet,
        check_label_rubric,
        current_labels,
        read_labels,
    )
    from tracedance_sdk.judging.recorded import RecordedJudge, save_judgements
    from tracedance_sdk.judging.rubric import Rubric, load_rubric, packaged_rubrics, parse_rubric

__all__ = [
    "ABOUT_CONDENSED",
    "MOST_CHARACTERS",
    "HeuristicJudge",
    "ItemKey",
    "JudgeIdentity",
    "Label",
    "LabelHeader",
    "LabelSet",
    "LabelWriter",
    "RecordedJudge",
    "Rubric",
    "check_label_rubric",
    "condensed",
    "current_labels",
    "load_rubric",
    "packaged_rubrics",
    "parse_rubric",
    "read_labels",
    "save_judgements",
]

__getattr__, __dir__ = lazy_face(
    __name__,
    {
        "condensing": ("ABOUT_CONDENSED", "MOST_CHARACTERS", "condensed"),
        "heuristic": ("HeuristicJudge",),
        "identity": ("JudgeIdentity",),
        "label_writer": ("LabelWriter",),
        "labels": (
            "ItemKey",
            "Label",
            "LabelHeader",
            "LabelSet",
            "check_label_rubric",
            "current_labels",
            "read_labels",
        ),
        "recorded": ("RecordedJudge", "save_judgements"),
        "rubric": ("Rubric", "load_rubric", "packaged_rubrics", "parse_rubric"),
    },
)

"""Soft judgement: how well a run went, beside the verdict and never instead of it.

Submodules are imported when one of their names is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracedance_sdk._lazy import lazy_face

if TYPE_CHECKING:
    from tracedance_sdk.judging.heuristic import HeuristicJudge
    from tracedance_sdk.judging.recorded import RecordedJudge, save_judgements

__all__ = [
    "HeuristicJudge",
    "RecordedJudge",
    "save_judgements",
]

__getattr__, __dir__ = lazy_face(
    __name__,
    {
        "heuristic": ("HeuristicJudge",),
        "recorded": ("RecordedJudge", "save_judgements"),
    },
)

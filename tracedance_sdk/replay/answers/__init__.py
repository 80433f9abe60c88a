"""Answers of a rebuilt test, each stamped with where it came from."""

from __future__ import annotations

from tracedance_sdk.replay.answers.answer import (
    MISSES,
    STAMPS,
    Answer,
    MissKind,
    Nearest,
    Origin,
    Stamp,
)
from tracedance_sdk.replay.answers.ladder import (
    NOT_RECORDED,
    AnswerSession,
    CandidateOrder,
    Ladder,
    PureTool,
)
from tracedance_sdk.replay.answers.simulators import (
    MissedCall,
    NearestSimulator,
    Simulator,
    TemplateSimulator,
    nearest_calls,
)

__all__ = [
    "MISSES",
    "NOT_RECORDED",
    "STAMPS",
    "Answer",
    "AnswerSession",
    "CandidateOrder",
    "Ladder",
    "MissKind",
    "MissedCall",
    "Nearest",
    "NearestSimulator",
    "Origin",
    "PureTool",
    "Simulator",
    "Stamp",
    "TemplateSimulator",
    "nearest_calls",
]

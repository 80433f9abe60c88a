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
    UNKNOWN_TOOL,
    AnswerSession,
    CandidateOrder,
    Ladder,
)
from tracedance_sdk.replay.answers.model_simulator import ModelSimulator
from tracedance_sdk.replay.answers.pure_tools import PureTool
from tracedance_sdk.replay.answers.simulators import (
    MissedCall,
    NearestSimulator,
    Simulated,
    Simulator,
    TemplateSimulator,
    good_examples,
    nearest_calls,
    origin_of,
)

__all__ = [
    "MISSES",
    "NOT_RECORDED",
    "STAMPS",
    "UNKNOWN_TOOL",
    "Answer",
    "AnswerSession",
    "CandidateOrder",
    "Ladder",
    "MissKind",
    "MissedCall",
    "ModelSimulator",
    "Nearest",
    "NearestSimulator",
    "Origin",
    "PureTool",
    "Simulated",
    "Simulator",
    "Stamp",
    "TemplateSimulator",
    "good_examples",
    "nearest_calls",
    "origin_of",
]

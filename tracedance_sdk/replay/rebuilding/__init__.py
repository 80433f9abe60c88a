"""Recorded conversations rebuilt as tests that another agent can be put into."""

from __future__ import annotations

from tracedance_sdk.replay.rebuilding.effects import EFFECTS, EffectFrom, ToolWithEffect, tools_of
from tracedance_sdk.replay.rebuilding.faults import faults_of, odd_recordings
from tracedance_sdk.replay.rebuilding.making import LeftOut, Rebuilt, rebuild
from tracedance_sdk.replay.rebuilding.suite import Suite, save_tests

__all__ = [
    "EFFECTS",
    "EffectFrom",
    "LeftOut",
    "Rebuilt",
    "Suite",
    "ToolWithEffect",
    "faults_of",
    "odd_recordings",
    "rebuild",
    "save_tests",
    "tools_of",
]

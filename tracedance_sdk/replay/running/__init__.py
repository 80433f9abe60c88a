"""Runs of rebuilt tests: an agent is put into recorded conversations."""

from __future__ import annotations

from tracedance_sdk.replay.running.agent_names import agent_named, function_named
from tracedance_sdk.replay.running.asking import AgentUnderTest, Request
from tracedance_sdk.replay.running.function_agent import FunctionAgent
from tracedance_sdk.replay.running.http_agent import HttpAgent
from tracedance_sdk.replay.running.limits import END_WORDS, ENDS, PROPER_ENDS, Ended, RunLimits
from tracedance_sdk.replay.running.masking import Masked
from tracedance_sdk.replay.running.one_run import COLLECTOR, ReplayedRun, run_test
from tracedance_sdk.replay.running.program_agent import CommandAgent
from tracedance_sdk.replay.running.recorded_agent import RecordedAgent, UntilDone
from tracedance_sdk.replay.running.suite_run import (
    GRADER,
    NotRun,
    Players,
    SuiteSettings,
    missed_calls,
    n_resting_on_simulated,
    rows_of_runs,
    run_all,
    run_suite,
)
from tracedance_sdk.replay.running.verdicts import (
    DOUBTS,
    Doubt,
    Finding,
    FunctionGrader,
    JudgedRun,
    RunGrader,
    SpecGrader,
    TranscriptGrader,
    doubts_of,
    judged,
)

__all__ = [
    "COLLECTOR",
    "DOUBTS",
    "ENDS",
    "END_WORDS",
    "GRADER",
    "PROPER_ENDS",
    "AgentUnderTest",
    "CommandAgent",
    "Doubt",
    "Ended",
    "Finding",
    "FunctionAgent",
    "FunctionGrader",
    "HttpAgent",
    "JudgedRun",
    "Masked",
    "NotRun",
    "Players",
    "RecordedAgent",
    "ReplayedRun",
    "Request",
    "RunGrader",
    "RunLimits",
    "SpecGrader",
    "SuiteSettings",
    "TranscriptGrader",
    "UntilDone",
    "agent_named",
    "doubts_of",
    "function_named",
    "judged",
    "missed_calls",
    "n_resting_on_simulated",
    "rows_of_runs",
    "run_all",
    "run_suite",
    "run_test",
]

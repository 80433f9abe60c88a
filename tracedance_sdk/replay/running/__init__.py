"""Runs of rebuilt tests: an agent is put into recorded conversations."""

from __future__ import annotations

from tracedance_sdk.replay.running.agents import (
    AgentUnderTest,
    CommandAgent,
    FunctionAgent,
    HttpAgent,
    Request,
    agent_named,
    function_named,
)
from tracedance_sdk.replay.running.limits import ENDS, PROPER_ENDS, Ended, RunLimits
from tracedance_sdk.replay.running.one_run import COLLECTOR, ReplayedRun, run_test

__all__ = [
    "COLLECTOR",
    "ENDS",
    "PROPER_ENDS",
    "AgentUnderTest",
    "CommandAgent",
    "Ended",
    "FunctionAgent",
    "HttpAgent",
    "ReplayedRun",
    "Request",
    "RunLimits",
    "agent_named",
    "function_named",
    "run_test",
]

"""Counts Antigravity's sessions: JSON lines of steps.

A tool's step answers the first call that still waits, whatever its name; a step that no call
waits for is a call as well.
"""

from __future__ import annotations

import json
from pathlib import Path

from tests.counters.counts import Counts


def count(path: Path) -> list[Counts]:
    """Return the numbers of a file's session."""
    users = assistants = calls = results = waiting = 0
    for line in path.read_text("utf-8").splitlines():
        step = json.loads(line)
        if step["type"] in ("USER_INPUT", "CHECKPOINT", "SYSTEM_MESSAGE"):
            users += 1
        elif step["type"] == "PLANNER_RESPONSE":
            assistants += 1
            asked = len(step.get("tool_calls", []))
            calls += asked
            waiting = asked or waiting
        elif step["type"] != "CONVERSATION_HISTORY":
            results += 1
            calls += waiting == 0
            waiting = max(0, waiting - 1)
    return [Counts("", users, assistants, calls, results, 0)]

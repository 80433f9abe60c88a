"""Count what ATIF trajectories hold, from the bytes."""

from __future__ import annotations

import json
from pathlib import Path

from tests.counters.counts import Counts


def count(path: Path) -> list[Counts]:
    """Return the numbers of the trajectory of a file.

    The first system step is the system prompt. A result counts whether or not it names a call;
    the format has no flag for errors.
    """
    document = json.loads(path.read_bytes())
    steps = document["steps"]
    results = [
        result for step in steps for result in (step.get("observation") or {}).get("results", ())
    ]
    return [
        Counts(
            session=document["session_id"],
            user_turns=sum(step["source"] == "user" for step in steps),
            assistant_turns=sum(step["source"] == "agent" for step in steps),
            calls=sum(len(step.get("tool_calls") or ()) for step in steps),
            results=sum("content" in result for result in results),
            errors=0,
        )
    ]

"""Counts the trajectories of SWE-agent.

A step is a reply of the model with one command and its observation; steps that the harness adds
when a limit is reached (``exit_cost`` and the like) are none. A file without steps has only the
history. Demonstrations count as what their roles say, their commands as none.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from tests.counters.counts import Counts

REJECTED = "Your proposed edit has introduced new syntax error(s)"
TIMED_OUT = "EXECUTION TIMED OUT"


def count(path: Path) -> list[Counts]:
    data = path.read_bytes()
    record = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    history = record["history"]
    demonstrations = [message for message in history if message.get("is_demo")]
    own = [message for message in history if not message.get("is_demo")]
    replies = sum(message["role"] == "assistant" for message in own)
    steps = record.get("trajectory")
    if steps is None:
        calls = replies
        seen = [message["content"] for message in own if message["role"] == "tool"]
    else:
        replies = len(steps)
        real = [step for step in steps if step["action"].strip() != "exit_cost"]
        calls = len(real)
        seen = [step["observation"] for step in real]
    problem = (record.get("replay_config") or {}).get("problem_statement") or {}
    return [
        Counts(
            session=problem.get("id") or path.name.removesuffix(".gz").removesuffix(".traj"),
            user_turns=1 + sum(message["role"] == "user" for message in demonstrations),
            assistant_turns=replies + sum(m["role"] == "assistant" for m in demonstrations),
            calls=calls,
            results=len(seen),
            errors=sum(REJECTED in text or text.strip().startswith(TIMED_OUT) for text in seen),
        )
    ]

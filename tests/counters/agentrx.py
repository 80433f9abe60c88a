"""Counts AgentRx: lists of tau-bench runs with chat messages, and logs of who said what."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from tests.counters.counts import Counts
from tests.counters.who_and_when import spoken


def count(path: Path) -> list[Counts]:
    data = path.read_bytes()
    record = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    if "traj" not in record[0]:
        return [spoken(path.name.removesuffix(".json"), record)]
    found = []
    for run in record:
        messages = run["traj"]
        roles = [message["role"] for message in messages]
        answers = [message["content"] for message in messages if message["role"] == "tool"]
        found.append(
            Counts(
                session=f"{run['task_id']}/{run['trial']}",
                user_turns=roles.count("user"),
                assistant_turns=roles.count("assistant"),
                calls=sum(len(message.get("tool_calls") or ()) for message in messages),
                results=len(answers),
                errors=sum(answer.startswith(("Error:", "Unknown action")) for answer in answers),
            )
        )
    return found

"""Counts the trajectories of mini-swe-agent, with tool calls or with commands in code blocks.

The harness's closing message ``exit`` carries what the last command submitted, and counts as its
result. A command fails when its return code is not 0.
"""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

from tests.counters.counts import Counts


def count(path: Path) -> list[Counts]:
    data = path.read_bytes()
    record = json.loads(gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data)
    is_bare = isinstance(record, list)
    messages = record if is_bare else record["messages"]
    roles = [message["role"] for message in messages]
    asked = sum(len(message.get("tool_calls") or ()) for message in messages)
    answered = roles.count("tool") + roles.count("exit")
    failed = sum((message.get("extra") or {}).get("returncode", 0) != 0 for message in messages)
    spoken = roles.count("user")
    if is_bare:
        asked = roles.count("assistant")
        answered = spoken - 1
        codes = [re.match(r"<returncode>(\d+)<", message["content"]) for message in messages]
        failed = sum(code is not None and code[1] != "0" for code in codes)
        spoken = 1
    name = path.name.removesuffix(".gz").removesuffix(".traj.json")
    return [Counts(name, spoken, roles.count("assistant"), asked, answered, failed)]

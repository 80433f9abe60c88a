"""Counts Hermes' sessions: one document with chat messages."""

from __future__ import annotations

import json
from pathlib import Path

from tests.counters.counts import Counts


def count(path: Path) -> list[Counts]:
    """Return the numbers of a file's session."""
    document = json.loads(path.read_text("utf-8"))
    messages = document["messages"]
    roles = [message["role"] for message in messages]
    return [
        Counts(
            document["session_id"],
            roles.count("user"),
            roles.count("assistant"),
            sum(len(message.get("tool_calls", [])) for message in messages),
            roles.count("tool"),
            sum(m["role"] == "tool" and m.get("finish_reason") == "error" for m in messages),
        )
    ]

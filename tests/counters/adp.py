"""Counts the samples of the Agent Data Protocol: standard items, and SWE-agent's raw messages.

A standard action other than a message is a call, and the observation after it the result. In the
raw form every reply ends with one command in a code block, and the next message is the result.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.counters.counts import Counts

REJECTED = "Your proposed edit has introduced new syntax error(s)"


def count(path: Path) -> list[Counts]:
    rows = json.loads(path.read_bytes())
    return [_standard(row) if "content" in row else _raw(row) for row in rows]


def _standard(row: dict[str, Any]) -> Counts:
    kinds = [item["class_"] for item in row["content"]]
    calls = kinds.count("api_action") + kinds.count("code_action")
    observations = kinds.count("text_observation")
    replies = calls + kinds.count("message_action")
    return Counts(row["id"], observations - calls, replies, calls, calls, 0)


def _raw(row: dict[str, Any]) -> Counts:
    messages = row["trajectory"]
    replies = [message["text"] for message in messages if message["role"] == "ai"]
    others = [message["text"] for message in messages if message["role"] == "user"]
    return Counts(
        session=row["instance_id"],
        user_turns=1,
        assistant_turns=len(replies),
        calls=sum("```\n" in reply for reply in replies),
        results=len(others) - 1,
        errors=sum(REJECTED in other for other in others[1:]),
    )

"""Counts the simulations of τ²-bench: tools are used by the agent and by the simulated user."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from tests.counters.counts import Counts


def count(path: Path) -> list[Counts]:
    found = []
    for simulation in json.loads(gzip.decompress(path.read_bytes()))["simulations"]:
        messages = simulation["messages"]
        roles = [message["role"] for message in messages]
        answers = [message for message in messages if message["role"] == "tool"]
        found.append(
            Counts(
                session=simulation["id"],
                user_turns=roles.count("user"),
                assistant_turns=roles.count("assistant"),
                calls=sum(len(message.get("tool_calls") or ()) for message in messages),
                results=len(answers),
                errors=sum(
                    answer.get("error", answer["content"].startswith("Error:"))
                    for answer in answers
                ),
            )
        )
    return found

"""Counts the runs of AgentDojo: a line each, after a first one that tells of the file."""

from __future__ import annotations

import gzip
import json
from itertools import pairwise
from pathlib import Path

from tests.counters.counts import Counts


def repeats(path: Path) -> int:
    """Return how often the defence of that name says a run's first prompt again after results."""
    found = 0
    for line in gzip.decompress(path.read_bytes()).splitlines()[1:]:
        messages = json.loads(line)["messages"]
        prompts = [message for message in messages if message["role"] == "user"]
        for before, message in pairwise(messages):
            is_prompt = message["role"] == "user" and before["role"] == "tool"
            found += is_prompt and message["content"] == prompts[0]["content"]
    return found


def count(path: Path) -> list[Counts]:
    lines = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    found = []
    for run in lines[1:]:
        messages = run["messages"]
        roles = [message["role"] for message in messages]
        told = run["metadata"]
        found.append(
            Counts(
                session=f"{told['suite_name']}/{told['name']}",
                user_turns=roles.count("user"),
                assistant_turns=roles.count("assistant"),
                calls=sum(len(message.get("tool_calls") or ()) for message in messages),
                results=roles.count("tool"),
                errors=sum(message.get("error") is not None for message in messages),
            )
        )
    return found

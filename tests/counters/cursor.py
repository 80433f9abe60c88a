"""Counts Cursor's agent transcripts: JSON lines of messages."""

from __future__ import annotations

import json
from pathlib import Path

from tests.counters.counts import Counts


def count(path: Path) -> list[Counts]:
    """Return the numbers of a transcript, which is named after its file."""
    records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    messages = [(r["role"], r["message"]["content"]) for r in records if "role" in r]
    kinds = [block["type"].replace("-", "_") for _, blocks in messages for block in blocks]
    answers = [
        role == "user" and all(block["type"] == "tool-result" for block in blocks)
        for role, blocks in messages
    ]
    return [
        Counts(
            path.stem,
            sum(role == "user" for role, _ in messages) - sum(answers),
            sum(role == "assistant" for role, _ in messages),
            kinds.count("tool_use") + kinds.count("tool_call"),
            kinds.count("tool_result"),
            0,
        )
    ]

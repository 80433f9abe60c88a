"""Counts Gemini CLI sessions: one document, or JSON lines with a header; older ones a history."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.counters.counts import Counts


def count(path: Path) -> list[Counts]:
    """Return the numbers of a file's session."""
    text = path.read_text("utf-8")
    if path.suffix == ".jsonl":
        records = [json.loads(line) for line in text.splitlines()]
        session, messages = records[0]["sessionId"], [r for r in records if "type" in r]
    else:
        document = json.loads(text)
        session = document.get("sessionId", "")
        messages = document.get("messages") or document["history"]
    kinds = [message.get("type") or message["role"] for message in messages]
    calls: list[dict[str, Any]] = [c for m in messages for c in m.get("toolCalls", [])]
    return [
        Counts(
            session,
            kinds.count("user"),
            kinds.count("gemini"),
            len(calls),
            sum("result" in call for call in calls),
            sum(call["status"] == "error" for call in calls),
        )
    ]

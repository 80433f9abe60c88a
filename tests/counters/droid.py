"""Counts Droid's sessions: its store, and what ``droid exec`` streams."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.counters.counts import Counts


def count(path: Path) -> list[Counts]:
    """Return the numbers of a file's session."""
    lines = path.read_text("utf-8").splitlines()
    records: list[dict[str, Any]] = [json.loads(line) for line in lines if line.strip()]
    kinds = [record["type"] for record in records]
    if kinds[0] == "session_start":
        return [_stored(records)]
    first = records[0]
    results = [record for record in records if record["type"] == "tool_result"]
    return [
        Counts(
            first.get("sessionId") or first["session_id"],
            sum(record.get("role") == "user" for record in records),
            _answers(records),
            kinds.count("tool_call"),
            len(results),
            sum(record.get("isError", False) for record in results),
        )
    ]


def _answers(records: list[dict[str, Any]]) -> int:
    """Return how often the model goes on after something came back to it."""
    own = [
        record["type"] in ("tool_call", "completion") or record.get("role") == "assistant"
        for record in records
    ]
    return sum(now and not before for before, now in zip([False, *own], own, strict=False))


def _stored(records: list[dict[str, Any]]) -> Counts:
    messages = [record["message"] for record in records if record["type"] == "message"]
    blocks = [(message["role"], block) for message in messages for block in message["content"]]
    results = [block for _, block in blocks if block["type"] == "tool_result"]
    said = [m for m in messages if not all(b["type"] == "tool_result" for b in m["content"])]
    return Counts(
        records[0]["id"],
        sum(message["role"] == "user" for message in said),
        sum(message["role"] == "assistant" for message in said),
        sum(block["type"] == "tool_use" for _, block in blocks),
        len(results),
        sum("(exit code: " in block["content"] for block in results),
    )

"""Counts sessions of pi and OpenClaw in their JSONL files, and OpenClaw's telemetry.

Every branch that says something of its own is a session; the branch that goes on at the first
answer given to each entry has the session's own name.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.counters.counts import Counts

_FAILED = {"failed", "error"}
SPOKEN = ("message", "custom_message", "compaction", "branch_summary")


def _lines(path: Path) -> list[dict[str, Any]]:
    found = []
    for line in path.read_text("utf-8").splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict):
            found.append(value)
    return found


def count(path: Path) -> list[Counts]:
    """Return the numbers of each branch of a session, in the order in which they begin."""
    entries = _lines(path)
    session = next((e["id"] for e in entries if e.get("type") == "session"), path.stem)
    return [
        _counts(session + (f"#{name}" if name else ""), [entries[i] for i in steps])
        for name, steps in _branches(entries)
    ]


def _branches(entries: list[dict[str, Any]]) -> list[tuple[str, list[int]]]:
    places: dict[str, int] = {}
    parents: list[int] = []
    for index, entry in enumerate(entries):
        above = entry.get("parentId")
        parents.append(places.get(above, index - 1) if isinstance(above, str) else index - 1)
        if isinstance(entry.get("id"), str):
            places[entry["id"]] = index
        for block in _blocks(entry):
            if block.get("type") == "toolCall":
                places.setdefault(block["id"], index)
    speaks = [entry.get("type") in SPOKEN for entry in entries]
    leaves = []
    for index, spoken in enumerate(speaks):
        followed = any(
            speaks[later] and index in _path(parents, later)[:-1]
            for later in range(index + 1, len(entries))
        )
        if spoken and not followed:
            leaves.append(index)
    taken: set[int] = set()
    found = []
    for leaf in leaves or [len(entries) - 1]:
        steps = _path(parents, leaf)
        fresh = [step for step in steps if step not in taken]
        name = entries[fresh[0]]["id"] if taken else ""
        taken.update(steps)
        found.append((name, steps))
    return found


def _path(parents: list[int], index: int) -> list[int]:
    steps = []
    while index >= 0:
        steps.append(index)
        index = parents[index]
    return steps[::-1]


def _blocks(entry: dict[str, Any]) -> list[dict[str, Any]]:
    message = entry.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return content if isinstance(content, list) else []


def _counts(session: str, entries: list[dict[str, Any]]) -> Counts:
    users = assistants = calls = results = errors = 0
    for entry in entries:
        message = entry.get("message") or {}
        role = message.get("role")
        if entry["type"] in ("custom_message", "compaction") or role in ("user", "custom"):
            users += 1
        elif role == "assistant":
            assistants += 1
            calls += sum(block.get("type") == "toolCall" for block in _blocks(entry))
        elif role == "toolResult":
            results += 1
            details = message.get("details") or {}
            failed = details.get("status") in _FAILED or details.get("exitCode", 0) != 0
            errors += bool(message.get("isError")) or failed
    return Counts(session, users, assistants, calls, results, errors)


def missing(path: Path) -> int:
    """Return how many calls of a session without branches were never answered."""
    entries = _lines(path)
    asked = [b["id"] for e in entries for b in _blocks(e) if b.get("type") == "toolCall"]
    answers = {e["message"]["toolCallId"] for e in entries if "toolCallId" in e.get("message", {})}
    return sum(call not in answers for call in asked)

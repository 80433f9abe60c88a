"""Counts OpenClaw's telemetry: events of several sessions in one file.

Some events hold the history so far; the last of these and what came after it is a session. A
prompt, a tool or an answer that stands in that history counts once.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from tests.counters.counts import Counts


def count(path: Path) -> list[Counts]:
    """Return the numbers of the main session and of its sub-agents, in order of appearance."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for line in path.read_text("utf-8").splitlines():
        event = json.loads(line)
        key = event.get("sessionKey") or "main"
        groups.setdefault(key if ":subagent:" in key else "main", []).append(event)
    return [_counts(events) for events in groups.values()]


def _counts(events: list[dict[str, Any]]) -> Counts:
    histories: list[list[Any]] = [e["messages"] for e in events if "messages" in e]
    history = max(histories, key=len, default=[])
    roles = Counter(message["role"] for message in history)
    blocks = [b for m in history if isinstance(m["content"], list) for b in m["content"]]
    told = {m["content"] for m in history if m["role"] == "user"}
    said = {b["text"] for b in blocks if b["type"] == "text"}
    asked = Counter(_use(b["name"], b["arguments"]) for b in blocks if b["type"] == "toolCall")
    started = Counter(_use(e["toolName"], e["params"]) for e in events if e["type"] == "tool.start")
    fresh = started - asked
    prompts = {e["prompt"] for e in events if e["type"] == "agent.start"} - told
    answers = [e for e in events if e["type"] == "message.out" and e["content"] not in said]
    covered = sum(started.values()) - sum(fresh.values())
    ends = [event for event in events if event["type"] == "tool.end"]
    return Counts(
        session=next(e["sessionKey"] for e in events if "sessionKey" in e),
        user_turns=roles["user"] + roles["custom"] + len(prompts),
        assistant_turns=roles["assistant"] + len(answers),
        calls=sum(asked.values()) + sum(fresh.values()),
        results=roles["toolResult"] + len(ends) - covered,
        errors=sum(m.get("isError") is True for m in history)
        + sum(event["success"] is False for event in ends),
    )


def _use(name: str, arguments: Any) -> str:
    return name + json.dumps(arguments, sort_keys=True)

"""Counts OpenCode sessions: a folder with a file for each session, message and part."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.counters.counts import Counts


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def count(path: Path) -> list[Counts]:
    """Return the numbers of each session of a storage folder, in the order of their files."""
    parts = [(p.parent.name, _read(p)) for p in sorted((path / "part").rglob("*.json"))]
    found = []
    for file in sorted((path / "session").rglob("*.json")):
        session = _read(file)["id"]
        messages = [_read(p) for p in sorted((path / "message" / session).glob("*.json"))]
        ids = {message["id"] for message in messages}
        tools = [p for of, p in parts if p["type"] == "tool" and p.get("messageID", of) in ids]
        states = [tool["state"] for tool in tools]
        found.append(
            Counts(
                session,
                sum(message["role"] == "user" for message in messages),
                sum(message["role"] == "assistant" for message in messages),
                len(tools),
                sum("output" in state or "error" in state for state in states),
                sum(
                    state["status"] == "error" or state.get("metadata", {}).get("exit", 0) != 0
                    for state in states
                ),
            )
        )
    return found

"""Counts OpenHands' runs: logs of model calls, event streams, rows with a history of events.

A log holds the messages so far and the model's reply to them. In a stream an action of the agent
that is no plain message is a call, an observation that names an action as its cause its result.
Events about the agent's state and recalled knowledge are neither.
"""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

from tests.counters.counts import Counts

ASIDE = {"null", "agent_state_changed", "recall", "change_agent_state", "system"}


def count(path: Path) -> list[Counts]:
    data = path.read_bytes()
    data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    if path.suffix == ".jsonl":
        rows = [json.loads(line) for line in data.splitlines() if line.strip()]
        return [_of_events(row["instance_id"], row["history"]) for row in rows]
    record = json.loads(data)
    name = path.name.removesuffix(".gz").removesuffix(".json")
    return [_of_events(name, record) if isinstance(record, list) else _of_log(name, record)]


def _of_log(name: str, record: dict[str, Any]) -> Counts:
    messages = [*record["messages"], record["response"]["choices"][0]["message"]]
    roles = [message["role"] for message in messages]
    outputs = [
        "\n".join(part["text"] for part in message["content"])
        for message in messages
        if message["role"] == "tool"
    ]
    failed = 0
    for output in outputs:
        code = re.search(r"\[Command finished with exit code (-?\d+)\]\s*$", output)
        failed += code[1] != "0" if code else output.startswith("ERROR:")
    return Counts(
        session=name,
        user_turns=roles.count("user"),
        assistant_turns=roles.count("assistant"),
        calls=sum(len(message.get("tool_calls") or ()) for message in messages),
        results=len(outputs),
        errors=failed,
    )


def _of_events(name: str, events: list[dict[str, Any]]) -> Counts:
    told = [event for event in events if event.get("action", event.get("observation")) not in ASIDE]
    said = [event["source"] for event in told if event.get("action") == "message"]
    done = [event for event in told if event.get("action", "message") != "message"]
    seen = [event for event in told if "observation" in event]
    results = [event for event in seen if event.get("cause") is not None]
    replies = {event["tool_call_metadata"]["model_response"]["id"] for event in done}
    return Counts(
        session=name,
        user_turns=said.count("user") + len(seen) - len(results),
        assistant_turns=said.count("agent") + len(replies),
        calls=len(done),
        results=len(results),
        errors=sum(_has_failed(event) for event in results),
    )


def _has_failed(event: dict[str, Any]) -> bool:
    if "success" in event:
        return event["success"] is False
    content: str = event["content"]
    return event["observation"] == "error" or content.startswith("ERROR:")

"""Count what Claude Code's session files hold, from their bytes alone.

A file is counted in threads: ``main``, and one for each sub-agent whose records lie in it, be it as
side chain or inside progress records. A sub-agent that has a file of its own is counted there only.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.counters.counts import Counts

Record = dict[str, Any]


def records(path: Path) -> Iterator[Record]:
    """Yield the objects of a file, those run together on a line, too; what is no JSON is not."""
    data = path.read_bytes()
    if data.startswith(b"\x1f\x8b"):
        data = gzip.decompress(data)
    text = data.decode("utf-8", "replace")
    decoder = json.JSONDecoder()
    if path.suffix == ".json":
        yield from json.loads(text)["messages"]
        return
    for line in text.split("\n"):
        rest = line.strip()
        while rest:
            try:
                value, end = decoder.raw_decode(rest)
            except ValueError:
                break
            if isinstance(value, dict):
                yield value
            rest = rest[end:].strip()


def count(path: Path) -> list[Counts]:
    """Return the counts of each thread of a file that says anything, ``main`` first."""
    threads: dict[str, list[Record]] = defaultdict(list)
    side_of: dict[str, str] = {}
    latest_side = None
    for record in records(path):
        thread = "main"
        data = record.get("data")
        if record.get("type") == "progress" and isinstance(data, dict) and "agentId" in data:
            inner = data.get("message")
            if isinstance(inner, dict):
                threads[f"agent:{data['agentId']}"].append(inner)
            continue
        if record.get("isSidechain"):
            above = record.get("parentUuid")
            if record.get("agentId"):
                thread = f"agent:{record['agentId']}"
            elif above in side_of:
                thread = side_of[above] if side_of[above] != "main" else f"side:{record['uuid']}"
            elif above is not None and latest_side is not None:
                thread = latest_side
            else:
                thread = f"side:{record.get('uuid')}"
            latest_side = thread
        if isinstance(record.get("uuid"), str):
            side_of[record["uuid"]] = thread
        threads[thread].append(record)
    own = path.name.split(".")[0]
    found = [
        _counted(thread, of_thread)
        for thread, of_thread in threads.items()
        if f"agent-{thread.removeprefix('agent:')}" == own or not _has_file(path, thread)
    ]
    found.sort(key=lambda counts: counts.session != "main")
    return [counts for counts in found if any(counts[1:])]


def _has_file(path: Path, thread: str) -> bool:
    if not thread.startswith("agent:"):
        return False
    name = f"agent-{thread.removeprefix('agent:')}.jsonl"
    session = path.name.split(".")[0]
    return (path.parent / name).exists() or (path.parent / session / "subagents" / name).exists()


def _counted(thread: str, found: list[Record]) -> Counts:
    users = calls = results = errors = replies = 0
    messages: set[str] = set()
    call_ids: set[str] = set()
    for record in found:
        calls += record.get("type") == "tool_use"
        results += record.get("type") == "tool_result"
        blocks = _blocks(record)
        answers = [block for block in blocks if block.get("type") == "tool_result"]
        if record.get("type") == "user":
            users += len(answers) < len(blocks)
            if blocks and not answers:
                messages.clear()
        elif record.get("type") == "assistant" and isinstance(record.get("message"), dict):
            key = record["message"].get("id")
            replies += key is None or key not in messages
            messages.add(str(key))
        asked = [block.get("id") for block in blocks if block.get("type") == "tool_use"]
        calls += sum(call_id is None or call_id not in call_ids for call_id in asked)
        call_ids.update(str(call_id) for call_id in asked)
        results += len(answers)
        errors += sum(block.get("is_error") is True for block in answers)
    return Counts(thread, users, replies, calls, results, errors)


def _blocks(record: Record) -> list[Record]:
    """Return the blocks of a user's or the model's message; text is one of no type."""
    message = record.get("message")
    if record.get("type") not in ("user", "assistant") or not isinstance(message, dict):
        return []
    content = message.get("content")
    if isinstance(content, str):
        return [{}]
    if not isinstance(content, list):
        return []
    return [block if isinstance(block, dict) else {} for block in content]

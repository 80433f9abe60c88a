"""Invented records of Claude Code's session files, as short as the client's own may be."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tracedance_sdk.formats import Document, ImportProblem
from tracedance_sdk.formats.coding import read_claude_code
from tracedance_sdk.trace import Trace

SESSION = "0f0e0d0c-0000-4000-8000-000000000001"
Record = dict[str, Any]


def record(kind: str, name: str | None, above: str | None, **fields: Any) -> Record:
    """Return a record; its time is taken from its name's last digits, if it has any."""
    second = int("".join(c for c in (name or "") if c.isdigit()) or 0) % 60
    found = {
        "type": kind,
        "uuid": name,
        "parentUuid": above,
        "sessionId": SESSION,
        "isSidechain": False,
        "version": "2.1.0",
        "cwd": "/home/sam/garden",
        "gitBranch": "main",
        "timestamp": f"2026-01-01T00:00:{second:02}.000Z",
        **fields,
    }
    return {key: value for key, value in found.items() if key != "uuid" or value is not None}


def user(name: str, above: str | None, content: Any, **fields: Any) -> Record:
    """Return a user's record."""
    message = {"role": "user", "content": content}
    return record("user", name, above, message=message, **fields)


def reply(name: str, above: str | None, message_id: str, *blocks: Any, **fields: Any) -> Record:
    """Return a record of a message of the model's; text may stand for a block of it."""
    content = [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]
    inner = {
        "id": message_id,
        "type": "message",
        "role": "assistant",
        "model": "claude-test-1",
        "content": content,
        "stop_reason": None,
        "usage": {"input_tokens": 3, "output_tokens": 5, "cache_read_input_tokens": 40},
    }
    inner.update(fields.pop("message", {}))
    return record("assistant", name, above, message=inner, requestId=f"req_{message_id}", **fields)


def use(call_id: str, tool: str = "Bash", **arguments: Any) -> Record:
    """Return a block that asks for a call."""
    return {"type": "tool_use", "id": call_id, "name": tool, "input": arguments}


def result(
    name: str, above: str | None, call_id: str, content: Any = "done", **more: Any
) -> Record:
    """Return the record of a result; `is_error` belongs to its block, the rest to the record."""
    block = {"type": "tool_result", "tool_use_id": call_id, "content": content}
    if "is_error" in more:
        block["is_error"] = more.pop("is_error")
    return user(name, above, [block], **more)


def chain(*records: Record) -> list[Record]:
    """Return records of which each follows the one before."""
    above = None
    for item in records:
        item["parentUuid"] = above
        above = item["uuid"]
    return list(records)


def write(path: Path, records: Iterable[Any]) -> Path:
    """Write a session file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(item) + "\n" for item in records))
    return path


def found_in(records: Iterable[Any], path: Path | None = None) -> list[Trace | ImportProblem]:
    """Return what some records are read as."""
    documents = [Document(item, line) for line, item in enumerate(records, start=1)]
    return list(read_claude_code(documents, path or Path("nowhere") / f"{SESSION}.jsonl"))


def traces_in(records: Iterable[Any], path: Path | None = None) -> list[Trace]:
    """Return the traces that some records are; nothing of them may be a problem."""
    found = found_in(records, path)
    assert [str(item) for item in found if isinstance(item, ImportProblem)] == []
    return [item for item in found if isinstance(item, Trace)]


def only(records: Iterable[Any]) -> Trace:
    """Return the one trace that some records are."""
    (trace,) = traces_in(records)
    return trace


def told(trace: Trace) -> list[tuple[str, str, str]]:
    """Return role, origin and text of each turn."""
    return [(turn.role, turn.origin, turn.text) for turn in trace.turns]

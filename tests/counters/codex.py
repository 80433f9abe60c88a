"""Counts Codex sessions: rollout files of every age, and the events of ``codex exec --json``.

A turn of the model's is what it says and asks for until something comes back to it, or until its
tokens are counted. An event that only repeats an item's text counts nothing; one that tells of a
call's end counts as a call of its own where no item, or none without an event, has its id.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from tests.counters.counts import Counts

CALLS = {
    "function_call", "custom_tool_call", "local_shell_call", "tool_search_call",
    "web_search_call", "image_generation_call", "tool_call",
}  # fmt: skip
OUTPUTS = {
    "function_call_output", "custom_tool_call_output", "tool_search_output",
    "local_shell_call_output", "mcp_tool_call_output", "function_result", "tool_result",
}  # fmt: skip
ENDS = {
    "exec_command_end", "mcp_tool_call_end", "patch_apply_end", "web_search_end",
    "image_generation_end", "view_image_tool_call", "dynamic_tool_call_response",
    "collab_agent_spawn_end", "collab_agent_interaction_end", "collab_waiting_end",
    "collab_close_end", "collab_resume_end",
}  # fmt: skip
WORDS = {"agent_message": "assistant", "agent_reasoning": None}
ITEMS = {"command_execution", "file_change", "mcp_tool_call", "web_search"}


def _records(path: Path) -> list[dict[str, Any]]:
    text = path.read_text("utf-8")
    try:
        document = json.loads(text)
    except ValueError:
        return [json.loads(line) for line in text.splitlines() if line.strip()]
    found: list[dict[str, Any]] = document.get("items") or document.get("events")
    return found


class _Count:
    def __init__(self) -> None:
        self.turns = self.users = self.assistants = 0
        self.is_open = False
        self.calls: list[dict[str, bool]] = []
        self.pending: dict[str, list[tuple[int, dict[str, bool]]]] = {}
        self.eventless: dict[str, list[dict[str, bool]]] = {}

    def heard(self) -> None:
        self.turns += 1
        self.users += 1
        self.is_open = False

    def spoke(self) -> None:
        if not self.is_open:
            self.turns += 1
            self.assistants += 1
            self.is_open = True

    def call(self, name: str, *, event: bool = False) -> dict[str, bool]:
        made = {"result": False, "failed": False}
        self.calls.append(made)
        self.pending.setdefault(name, []).append((self.turns, made))
        if not event:
            self.eventless.setdefault(name, []).append(made)
        return made

    def answer(self, name: str, *, failed: bool) -> None:
        waiting = [entry for entry in self.pending.get(name, []) if not entry[1]["result"]]
        latest = max((turn for turn, _ in waiting), default=None)
        found = next((made for turn, made in waiting if turn == latest), None)
        if found is None:
            found = self.call(name)
        found["result"] = True
        found["failed"] = found["failed"] or failed
        self.is_open = False


def count(path: Path) -> list[Counts]:
    """Return the numbers of a file's session."""
    records = _records(path)
    session = ""
    for record in records:
        payload = record.get("payload") or record
        if record.get("type") == "session_meta":
            session = payload["id"]
            break
    texts = {
        (item.get("role"), text)
        for item in (r.get("payload") or r for r in records if r.get("type") == "response_item")
        for text in _texts(item)
    }
    found = _Count()
    for record in records:
        _take(record, found, texts)
    made = found.calls
    return [
        Counts(
            session,
            found.users,
            found.assistants,
            len(made),
            sum(call["result"] for call in made),
            sum(call["failed"] for call in made),
        )
    ]


def _texts(item: dict[str, Any]) -> list[str]:
    blocks = [*(item.get("content") or []), *(item.get("summary") or [])]
    return [b["text"] for b in blocks if isinstance(b, dict) and "text" in b]


def _take(record: dict[str, Any], found: _Count, texts: set[tuple[Any, str]]) -> None:
    kind = record.get("type")
    payload = record.get("payload") or {}
    if kind == "event_msg":
        _event(payload, found, texts)
    elif kind == "compacted":
        found.heard()
    elif kind == "response_item":
        _item(payload, found)
    elif kind == "item.completed" and record["item"]["type"] in {*ITEMS, "agent_message"}:
        item = record["item"]
        found.spoke()
        if item["type"] in ITEMS:
            made = found.call(item["id"])
            made["result"] = True
            made["failed"] = item.get("exit_code") not in (0, None)
            found.is_open = False
    else:
        _item(record, found)


def _item(item: dict[str, Any], found: _Count) -> None:
    kind = item.get("type") or ("message" if "role" in item else None)
    role = item.get("role")
    name = item.get("call_id") or item.get("id") or item.get("name") or ""
    if kind in ("tool_call", "function_call") and "function" in item:
        name = item["function"]["name"]
    if kind == "message" and role == "assistant":
        found.spoke()
    elif (kind == "message" and role == "user") or kind == "agent_message":
        found.heard()
    elif kind == "message":
        found.turns += 1
        found.is_open = False
    elif kind == "reasoning":
        found.spoke()
    elif kind in CALLS:
        found.spoke()
        made = found.call(name)
        if kind == "image_generation_call" and "result" in item:
            made["result"] = True
    elif kind in OUTPUTS:
        found.answer(name, failed=_failed(item.get("output")))


def _event(event: dict[str, Any], found: _Count, texts: set[tuple[Any, str]]) -> None:
    kind = event.get("type")
    if kind == "user_message" and ("user", event["message"]) not in texts:
        found.heard()
    elif kind in WORDS and (WORDS[kind], event.get("message", event.get("text"))) not in texts:
        found.spoke()
    elif kind == "token_count" and (event.get("info") or {}).get("last_token_usage"):
        found.is_open = False
    elif kind in ENDS:
        name = event.get("call_id") or ""
        eventless = found.eventless.get(name)
        made = eventless.pop() if eventless else found.call(name, event=True)
        if kind != "view_image_tool_call":
            made["result"] = True
        result = event.get("result") or {}
        failed = event.get("exit_code") not in (0, None) or event.get("success") is False
        if isinstance(result, dict):
            failed = failed or "Err" in result or (result.get("Ok") or {}).get("isError") is True
        made["failed"] = made["failed"] or failed


def _failed(output: Any) -> bool:
    if isinstance(output, dict) and output.get("success") is False:
        return True
    text = output if isinstance(output, str) else ""
    try:
        return bool(json.loads(text)["metadata"]["exit_code"])
    except (ValueError, TypeError, KeyError):
        found = re.search(r"^(?:Exit code:|Process exited with code) (\d+)", text, re.MULTILINE)
        return found is not None and found.group(1) != "0"

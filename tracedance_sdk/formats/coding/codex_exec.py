"""What ``codex exec --json`` prints: the items of a run as they start and end.

The prompt is not among them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tracedance_sdk.errors import TraceDanceError
from tracedance_sdk.formats.coding.codex_log import CodexLog
from tracedance_sdk.formats.coding.codex_outputs import Ending
from tracedance_sdk.formats.coding.lenient import (
    flag_at,
    integer_at,
    object_at,
    rest,
    text_at,
)
from tracedance_sdk.formats.coding.session import objects_of
from tracedance_sdk.formats.importing import ImportProblem
from tracedance_sdk.formats.opening import Document
from tracedance_sdk.formats.transcript import reasoning_part, text_part
from tracedance_sdk.trace import UNKNOWN, Json, Trace

COLLECTOR: Final = "codex_exec"

_CALLS: Final = {
    "command_execution": ("command",),
    "file_change": ("changes",),
    "mcp_tool_call": ("arguments",),
    "web_search": ("query",),
}
"""Items that are uses of tools, and the fields that hold their arguments."""

_RESULTS: Final = ("aggregated_output", "result")
_EVENTS: Final = frozenset({"item.started", "item.updated", "item.completed"})


def read_codex_exec(found: list[Document], path: Path) -> Iterator[Trace | ImportProblem]:
    """Yield the run of a file.

    Args:
        found: The file's events; or one document that holds them as ``events``.
        path: The file.
    """
    events, problems = objects_of(_events(found), path, fault=_fault)
    yield from problems
    if not events:
        return
    log = CodexLog()
    for event in events:
        _read(log, event)
    thread = next((t for e in events if (t := text_at(e, "thread_id")) is not None), None)
    try:
        yield log.finish(
            thread, events[0], path=path, collector=COLLECTOR, outcome=_outcome(events)
        )
    except TraceDanceError as error:
        yield ImportProblem(str(path), str(error))


def _events(found: Iterable[Document]) -> Iterator[Document]:
    """Yield the events of a file; those of a document that holds them one by one."""
    for document in found:
        value = document.value
        if isinstance(value, dict) and isinstance(value.get("events"), list):
            yield from (Document(event, document.line or 1) for event in value["events"])
        else:
            yield document


def _fault(event: Mapping[str, Any]) -> str | None:
    kind = text_at(event, "type")
    if kind is None:
        return "an event without a type"
    if kind.startswith("item.") and not isinstance(event.get("item"), dict):
        return "an event without its item"
    return None


def _read(log: CodexLog, event: Mapping[str, Any]) -> None:
    item = object_at(event, "item")
    kind = text_at(item, "type") or text_at(item, "item_type") or ""
    is_over = event.get("type") == "item.completed"
    if text_at(event, "type") not in _EVENTS:
        log.keep(event)
    elif kind in _CALLS:
        _call(log, kind, item, is_over=is_over)
    elif kind in ("agent_message", "assistant_message", "reasoning") and is_over:
        text = text_at(item, "text") or ""
        part = reasoning_part(text) if kind == "reasoning" else text_part(text)
        log.open_turn(None)["content"].append({**part, **log.own(rest(item, "type", "text"))})
    else:
        log.keep(event)


def _call(log: CodexLog, kind: str, item: Mapping[str, Any], *, is_over: bool) -> None:
    call_id = text_at(item, "id")
    known = ("id", "type", "exit_code", *_CALLS[kind], *_RESULTS)
    if call_id is None or not log.is_waiting(call_id):
        log.open_turn(None)
        name = kind
        if kind == "mcp_tool_call":
            name = f"mcp__{item.get('server')}__{item.get('tool')}"
        given = {key: item[key] for key in _CALLS[kind] if key in item}
        arguments: Json = given.get("arguments", given or UNKNOWN)
        own = {} if is_over else rest(item, *known)
        log.request(name, call_id=call_id, arguments=arguments, **log.own(own))
    if not is_over:
        return
    exit_code, status = integer_at(item, "exit_code"), text_at(item, "status")
    ok = {"completed": True, "failed": False, "declined": False}.get(status or "")
    error = object_at(item, "error")
    content = next((item[key] for key in _RESULTS if item.get(key) is not None), UNKNOWN)
    if isinstance(content, dict) and flag_at(content, "isError", "is_error"):
        ok = False
    log.end(call_id, Ending(content, ok, exit_code), **rest(item, *known))
    if error and log.answered is not None:
        message = text_at(error, "message") or ""
        log.answered["result"]["error"] = {"type": "error", "message": message}


def _outcome(events: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Return how the last turn of the run ended."""
    for event in reversed(events):
        kind = event.get("type")
        if kind == "turn.completed":
            return {"ended": True}
        if kind in ("turn.failed", "error"):
            error = object_at(event, "error") or event
            message = text_at(error, "message") or ""
            return {"ended": False, "error": {"type": "error", "message": message}}
        if kind == "turn.started":
            return {"ended": False}
    return None

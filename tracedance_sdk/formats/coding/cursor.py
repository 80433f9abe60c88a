"""Cursor's agent transcripts: JSON lines of messages, without ids, times or (mostly) results.

Sub-agents lie in a folder ``subagents`` beside the transcript of the agent that started them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tracedance_sdk.errors import TraceDanceError
from tracedance_sdk.formats.coding.lenient import object_at, objects_at, rest, text_at
from tracedance_sdk.formats.coding.session import (
    Session,
    objects_of,
    plain_content,
    plain_parts,
    session_trace_id,
)
from tracedance_sdk.formats.importing import ImportProblem
from tracedance_sdk.formats.opening import Document, documents
from tracedance_sdk.formats.transcript import reasoning_part
from tracedance_sdk.trace import UNKNOWN, Trace

COLLECTOR: Final = "cursor"

_CALLS: Final = frozenset({"tool_use", "tool_call", "tool-call"})
_RESULTS: Final = frozenset({"tool_result", "tool-result"})
_OK: Final = {"success": True, "error": False}
_FOLDER: Final = "subagents"


def read_cursor_session(found: list[Document], path: Path) -> Iterator[Trace | ImportProblem]:
    """Yield the session of a transcript.

    Args:
        found: The file's records.
        path: The file, whose name is the session's id.
    """
    records, problems = objects_of(found, path)
    yield from problems
    if not records:
        return
    log = _read(records)
    fields: dict[str, Any] = {}
    above = _above(path)
    if above is not None:
        opening = log.turns[0]["content"] if log.turns else []
        parent, call_id = above[1], _starting_call(above[0], opening)
        trace_id = session_trace_id(COLLECTOR, parent.stem, above[0][0])
        fields = {
            "session_id": parent.stem,
            "parent": {"trace_id": trace_id, "call_id": call_id},
        }
    ends = [record for record in records if record.get("type") == "turn_ended"]
    if ends:
        fields["outcome"] = {"ended": True, "details": rest(ends[-1], "type")}
    try:
        yield log.finish(path.stem, records[0], path=path, collector=COLLECTOR, **fields)
    except TraceDanceError as error:
        yield ImportProblem(str(path), str(error))


def _read(records: list[dict[str, Any]]) -> Session:
    log = Session("cursor")
    for record in records:
        role = text_at(record, "role")
        if role in ("user", "assistant"):
            _message(log, role, record)
        else:
            log.keep(record)
    return log


def _message(log: Session, role: str, record: Mapping[str, Any]) -> None:
    message = object_at(record, "message") or record
    content = message.get("content")
    blocks = [content] if isinstance(content, str) else objects_at(message, "content")
    kinds = [text_at(block, "type") if isinstance(block, dict) else None for block in blocks]
    said = [b for b, kind in zip(blocks, kinds, strict=True) if kind not in _CALLS | _RESULTS]
    parts = [part for block in said for part in _parts(log, block)]
    own = rest(record, "role", "message", "content", "model")
    own |= rest(object_at(record, "message"), "role", "content")
    if role == "assistant":
        log.say("assistant", parts, origin="agent", model=text_at(record, "model"), **log.own(own))
    elif parts or not blocks:
        log.hear(parts, **log.own(own))
    for block, kind in zip(blocks, kinds, strict=True):
        if isinstance(block, dict) and kind in _CALLS:
            log.request(
                text_at(block, "name") or "unknown",
                call_id=text_at(block, "id", "toolCallId"),
                arguments=block.get("input", UNKNOWN),
                **log.own(rest(block, "type", "name", "id", "input")),
            )
        elif isinstance(block, dict) and kind in _RESULTS:
            status = text_at(object_at(record, "metadata"), "toolResultStatus")
            log.answer(
                text_at(block, "tool_use_id", "toolCallId"),
                name=text_at(block, "name"),
                content=plain_content(block.get("content", UNKNOWN)),
                ok=_OK.get(status or ""),
                **log.own({**rest(block, "type", "name", "content"), **({} if parts else own)}),
            )


def _parts(log: Session, block: Any) -> list[dict[str, Any]]:
    if isinstance(block, dict) and block.get("type") in ("thinking", "reasoning"):
        text = text_at(block, "thinking", "text") or ""
        return [reasoning_part(text, **log.own(rest(block, "type", "thinking", "text")))]
    return plain_parts([block], client=log.client)


def _above(path: Path) -> tuple[list[dict[str, Any]], Path] | None:
    """Return the records and the file of who started a sub-agent; None for any other session.

    The folder of a session holds one transcript, or it is named like the transcript.
    """
    if path.parent.name != _FOLDER:
        return None
    folder = path.parent.parent
    files = sorted(folder.glob("*.jsonl"))
    named = [file for file in files if file.stem == folder.name]
    files = named or files
    if len(files) != 1:
        return None
    try:
        found = [item for item in documents(files[0]) if isinstance(item, Document)]
    except TraceDanceError:
        return None
    records, _ = objects_of(found, files[0])
    return (records, files[0]) if records else None


def _starting_call(records: list[dict[str, Any]], opening: list[dict[str, Any]]) -> str | None:
    """Return the call whose prompt is what a sub-agent was told first."""
    told = {str(part.get("text")).strip() for part in opening}
    for turn in _read(records).turns:
        for call in turn["calls"]:
            arguments = call.get("arguments")
            prompt = text_at(arguments, "prompt") if isinstance(arguments, dict) else None
            if prompt is not None and prompt.strip() in told:
                return str(call["id"])
    return None

"""Sessions of the Grok CLI: a folder with ``chat_history.jsonl`` and ``summary.json``.

The lines of the history have no times. Reasoning, and what the provider's own tools did, stand
before the answer that they belong to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tracedance_sdk.errors import TraceDanceError
from tracedance_sdk.formats.coding.lenient import (
    object_at,
    objects_at,
    rest,
    text_at,
    time_at,
)
from tracedance_sdk.formats.coding.session import (
    Session,
    objects_of,
    plain_parts,
    session_trace_id,
    withheld,
)
from tracedance_sdk.formats.importing import ImportProblem
from tracedance_sdk.formats.opening import Document, documents, read_document
from tracedance_sdk.trace import UNKNOWN, Json, Trace, parse_json

COLLECTOR: Final = "grok"

_HISTORY: Final = "chat_history.jsonl"
_SUMMARY: Final = "summary.json"
_MOST_BYTES: Final = 1024**2
_OF_SUMMARY: Final = ("info", "created_at", "head_branch")


def read_grok_session(found: list[Document], path: Path) -> Iterator[Trace | ImportProblem]:
    """Yield the session of a history.

    Args:
        found: The file's records.
        path: The file; the summary is looked for beside it, and above it the session that started
            a sub-agent.
    """
    records, problems = objects_of(found, path)
    yield from problems
    if not records:
        return
    log = _Reading().read(records)
    summary = _summary(path)
    session, first = _identity(path, summary)
    info = object_at(summary, "info")
    fields: dict[str, Any] = {}
    above = _above(path) if text_at(summary, "session_kind") == "subagent" else None
    if above is not None:
        parent, of_parent = _identity(above, _summary(above))
        trace_id = session_trace_id(COLLECTOR, parent, of_parent)
        call = _starting_call(above, log)
        fields = {"session_id": parent, "parent": {"trace_id": trace_id, "call_id": call}}
    log.facts["session"] = rest(summary, *_OF_SUMMARY) or None
    try:
        yield log.finish(
            session,
            first,
            path=path,
            collector=COLLECTOR,
            system_prompt=log.system_prompt,
            started_at=time_at(summary, "created_at"),
            metadata={
                "cwd": text_at(info, "cwd"),
                "git_branch": text_at(summary, "head_branch"),
            },
            **fields,
        )
    except TraceDanceError as error:
        yield ImportProblem(str(path), str(error))


class _Reading(Session):
    """One history being read."""

    def __init__(self) -> None:
        super().__init__("grok")
        self.system_prompt: str | None = None
        self._is_begun = False
        """What the last turn holds belongs to an answer that is still to come."""

    def read(self, records: list[dict[str, Any]]) -> _Reading:
        for record in records:
            self._record(record)
        return self

    def _record(self, record: Mapping[str, Any]) -> None:
        kind = text_at(record, "type")
        own = rest(record, "type", "content")
        if kind == "system" and self.system_prompt is None and not self.turns:
            self.system_prompt = text_at(record, "content")
        elif kind in ("system", "user"):
            self._is_begun = False
            parts = plain_parts(record.get("content"), client=self.client)
            if kind == "system":
                self.say("system", parts, origin="harness", **self.own(own))
            else:
                flags = ["isSynthetic"] if "synthetic_reason" in record else []
                self.hear(parts, flags=flags, **self.own(own))
        elif kind == "reasoning":
            self._reasoning(record)
        elif kind == "assistant":
            self._answer(record)
        elif kind == "backend_tool_call":
            self._of_provider(object_at(record, "kind"))
        elif kind == "tool_result":
            self.answer(
                text_at(record, "tool_call_id"),
                content=record.get("content", UNKNOWN),
                **self.own(rest(own, "tool_call_id")),
            )
        else:
            self.keep(record)

    def _begin(self) -> dict[str, Any]:
        last = self.last
        if last is None or not self._is_begun:
            last = self.say("assistant", origin="agent")
            self._is_begun = True
        return last

    def _reasoning(self, record: Mapping[str, Any]) -> None:
        texts = [text_at(block, "text") or "" for block in objects_at(record, "summary")]
        own = rest(record, "type", "summary", "encrypted_content")
        part = withheld("\n".join(texts), encrypted=record.get("encrypted_content"))
        self._begin()["content"].append({**part, **self.own(own)})

    def _answer(self, record: Mapping[str, Any]) -> None:
        turn = self._begin()
        self._is_begun = False
        turn["content"] += plain_parts(record.get("content"), client=self.client)
        own = rest(record, "type", "content", "tool_calls", "model_id", "reasoning_effort")
        turn.update(self.own(own))
        if (model := text_at(record, "model_id")) is not None:
            turn["model"] = model
        if (effort := text_at(record, "reasoning_effort")) is not None:
            turn["settings"] = {"reasoning_effort": effort}
        for call in objects_at(record, "tool_calls"):
            arguments = call.get("arguments", UNKNOWN)
            given = {"text" if isinstance(arguments, str) else "arguments": arguments}
            self.request(
                text_at(call, "name") or "unknown",
                call_id=text_at(call, "id"),
                **given,
                **self.own(rest(call, "id", "name", "arguments")),
            )

    def _of_provider(self, call: Mapping[str, Any]) -> None:
        self._begin()
        self.request(
            text_at(call, "tool_type") or "unknown",
            call_id=text_at(call, "id"),
            arguments=call.get("action", UNKNOWN),
            **self.own(rest(call, "tool_type", "id", "action")),
        )


def _summary(path: Path) -> dict[str, Any]:
    file = path.parent / _SUMMARY
    if not file.is_file():
        return {}
    try:
        value = parse_json(read_document(file, limit=_MOST_BYTES), where=str(file))
    except TraceDanceError:
        return {}
    return value if isinstance(value, dict) else {}


def _identity(path: Path, summary: Mapping[str, Any]) -> tuple[str, Json]:
    """Return a session's id and what tells it apart: all sessions have the same first line."""
    session = text_at(object_at(summary, "info"), "id") or path.parent.name
    return session, {"created_at": summary.get("created_at")}


def _above(path: Path) -> Path | None:
    """Return the history of the session that a sub-agent's folder lies in."""
    folders = list(path.parent.parents)[:2]
    return next((file for folder in folders if (file := folder / _HISTORY).is_file()), None)


def _starting_call(above: Path, log: Session) -> str | None:
    """Return the call that has what the sub-agent was told first among its arguments."""
    told = next((turn for turn in log.turns if turn["role"] == "user"), None)
    parts = told["content"] if told is not None else []
    texts = {str(part.get("text")).strip() for part in parts}
    try:
        found = [item for item in documents(above) if isinstance(item, Document)]
    except TraceDanceError:
        return None
    for turn in _Reading().read(objects_of(found, above)[0]).turns:
        for call in turn["calls"]:
            arguments = call.get("arguments")
            given = arguments.values() if isinstance(arguments, dict) else ()
            if any(isinstance(value, str) and value.strip() in texts for value in given):
                return str(call["id"])
    return None

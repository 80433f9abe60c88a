"""Sessions of Codex: rollout files, from the first ones, which held bare items, to today's.

Items (``response_item``) are what the model was shown and what it said; events (``event_msg``)
tell much of it again for the screen. Turns come from items, and from events only where no item
says the same. Each kind of record that is neither is kept under ``metadata["codex"]["records"]``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from tracedance_sdk.errors import TraceDanceError, shown
from tracedance_sdk.formats.coding.codex_events import read_event
from tracedance_sdk.formats.coding.codex_items import read_item, shortened, texts_of
from tracedance_sdk.formats.coding.codex_log import CodexLog
from tracedance_sdk.formats.coding.lenient import object_at, objects_at, rest, text_at, time_at
from tracedance_sdk.formats.coding.session import is_unique, objects_of, session_trace_id
from tracedance_sdk.formats.importing import ImportProblem
from tracedance_sdk.formats.opening import Document, documents
from tracedance_sdk.trace import Json, Trace

COLLECTOR: Final = "codex"

_WITH_PAYLOAD: Final = frozenset({"response_item", "event_msg", "turn_context", "compacted"})
_OF_HEADER: Final = (
    "id", "timestamp", "cwd", "cli_version", "instructions", "base_instructions", "git",
    "dynamic_tools",
)  # fmt: skip


def read_codex_session(found: list[Document], path: Path) -> Iterator[Trace | ImportProblem]:
    """Yield the session of a rollout file.

    Args:
        found: The file's records; or one document that holds them as ``items``.
        path: The file; the rollout of the session that started this one is looked for beside it.

    Source:
        openai/codex, codex-rs/protocol/src/{protocol,models}.rs.
    """
    records, problems = objects_of(_items(found), path, fault=_fault)
    yield from problems
    if not records:
        return
    reading = _Reading(records)
    try:
        yield reading.finish(path)
    except TraceDanceError as error:
        yield ImportProblem(str(path), str(error))


def _items(found: Iterable[Document]) -> Iterator[Document]:
    """Yield the records of a file; those of a document that holds them as ``items`` one by one."""
    for document in found:
        value = document.value
        if isinstance(value, dict) and isinstance(value.get("items"), list):
            yield from (Document(item, document.line or 1) for item in value["items"])
        else:
            yield document


def _fault(record: Mapping[str, Any]) -> str | None:
    """Return what is wrong with a record that has no content, or content of another type."""
    kind = text_at(record, "type")
    if kind is None and not {"role", "record_type"} & record.keys() and not _is_old_header(record):
        return "a record without a type"
    if "payload" in record or kind in _WITH_PAYLOAD:
        payload = record.get("payload")
        if not isinstance(payload, dict):
            return f"the payload of a record is {shown(payload)}, not an object"
        if kind == "response_item" and text_at(payload, "type") is None and "role" not in payload:
            return "an item without a type"
    return None


class _Reading:
    """One rollout being read."""

    def __init__(self, records: list[dict[str, Any]]) -> None:
        self.log = CodexLog()
        self.first = records[0]
        self.header: dict[str, Any] = {}
        self._outcome: dict[str, Any] = {}
        said = {
            pair
            for record in records
            if record.get("type") == "response_item"
            for pair in texts_of(object_at(record, "payload"))
        }
        for record in records:
            self._record(record, said)
        self.log.settle()

    def _record(self, record: dict[str, Any], said: set[tuple[str | None, str]]) -> None:
        kind = record.get("type")
        at = time_at(record, "timestamp", "created_at")
        payload = object_at(record, "payload")
        if kind == "session_meta" or _is_old_header(record):
            self._head(record, payload or record)
        elif kind == "response_item":
            if not read_item(self.log, payload, at):
                self.log.keep(record)
        elif kind == "event_msg":
            self._end(payload)
            read_event(self.log, record, said, at)
        elif kind == "turn_context":
            self.log.set_context(payload)
            self.log.keep_change(record, "payload")
        elif kind == "compacted":
            self.log.heard()
            own = rest(payload, "message", "replacement_history")
            if "replacement_history" in payload:
                history = objects_at(payload, "replacement_history")
                own["replacement_history"] = [shortened(item) for item in history]
            summary = text_at(payload, "message") or ""
            self.log.summarise(summary, started_at=at, **self.log.own(own))
        elif "payload" in record or not read_item(self.log, record, at):
            self._end(record)
            self.log.keep(record)

    def _head(self, record: Mapping[str, Any], header: Mapping[str, Any]) -> None:
        self.log.offer(header.get("dynamic_tools"))
        if self.header:
            self.log.keep(record)
        else:
            self.header = dict(header)

    def _end(self, event: Mapping[str, Any]) -> None:
        """Take what tells how the session stands: the last of these decides."""
        kind = event.get("type")
        if kind == "task_started":
            self._outcome = {"ended": False}
        elif kind == "task_complete":
            self._outcome = {"ended": True, **_error(event.get("error"))}
        elif kind == "turn_aborted":
            self._outcome = {"ended": False, "details": {"aborted": event.get("reason")}}
        elif kind == "error":
            self._outcome |= _error(event.get("error", event))

    def finish(self, path: Path) -> Trace:
        log, header = self.log, self.header
        native_id = text_at(header, "id")
        instructions = text_at(header, "instructions") or text_at(
            object_at(header, "base_instructions"), "text"
        )
        log.facts["session"] = rest(header, *_OF_HEADER) or None
        git = object_at(header, "git")
        log.facts["git"] = git or None
        fields: dict[str, Any] = {}
        above = _started_by(header)
        if above is not None and above != native_id:
            fields["session_id"] = text_at(header, "session_id") or above
            if is_unique(above):
                call = _spawning_call(path, above, native_id)
                trace_id = session_trace_id(COLLECTOR, above, None)
                fields["parent"] = {"trace_id": trace_id, "call_id": call}
        return log.finish(
            native_id,
            self.first,
            path=path,
            collector=COLLECTOR,
            agent={"name": "codex", "version": text_at(header, "cli_version")},
            system_prompt=instructions,
            tools=list(log.tools.values()) or None,
            outcome=self._outcome or None,
            started_at=time_at(header, "timestamp"),
            metadata={"cwd": text_at(header, "cwd"), "git_branch": text_at(git, "branch")},
            **fields,
        )


def _is_old_header(record: Mapping[str, Any]) -> bool:
    return (
        "type" not in record and "id" in record and "timestamp" in record and "role" not in record
    )


def _error(value: Json) -> dict[str, Any]:
    if not isinstance(value, dict):
        return {}
    kind = text_at(value, "codex_error_info", "kind") or "error"
    return {"error": {"type": kind, "message": text_at(value, "message", "text") or ""}}


def _started_by(header: Mapping[str, Any]) -> str | None:
    source = object_at(object_at(header, "source"), "subagent")
    spawned = object_at(source, "thread_spawn")
    return text_at(spawned, "parent_thread_id") or text_at(header, "parent_thread_id")


def _spawning_call(path: Path, above: str, native_id: str | None) -> str | None:
    """Return the call that started a session, from the rollout of who made it."""
    for file in sorted(path.parent.glob(f"*{above}*.jsonl"))[:1]:
        status = file.stat()
        started = _spawned(str(file), status.st_mtime_ns, status.st_size)
        return started.get(native_id or "")
    return None


@lru_cache(maxsize=16)
def _spawned(path: str, _modified: int, _size: int) -> Mapping[str, str]:
    """Return the calls of a rollout by the session that they started."""
    found: dict[str, str] = {}
    try:
        for document in documents(path):
            value = document.value if isinstance(document, Document) else None
            event = object_at(value, "payload") if isinstance(value, dict) else {}
            started, call = text_at(event, "new_thread_id"), text_at(event, "call_id")
            if started is not None and call is not None:
                found.setdefault(started, call)
    except TraceDanceError:
        return found
    return found

"""Sessions of pi and of OpenClaw, which runs on it: JSON lines that form a tree.

Each way through the tree is a trace: the first one goes on at the first answer given to each
record, and a branch is named after the record with which it leaves another. Older files name no
parents; there every record follows the one before.

OpenClaw's index of sessions (``sessions.json`` beside the file) is read along: which session
started this one, with what tools, skills and system prompt (sizes and hashes, not the text), and
how it ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tracedance_sdk.errors import TraceDanceError
from tracedance_sdk.formats.coding.branches import Branch, Link, find_branches
from tracedance_sdk.formats.coding.lenient import (
    object_at,
    objects_at,
    rest,
    text_at,
    time_at,
)
from tracedance_sdk.formats.coding.openclaw_index import IndexEntry, find_entry
from tracedance_sdk.formats.coding.pi_messages import read_pi_message, settle
from tracedance_sdk.formats.coding.session import (
    Session,
    is_unique,
    objects_of,
    plain_parts,
    session_trace_id,
)
from tracedance_sdk.formats.importing import ImportProblem
from tracedance_sdk.formats.opening import Document
from tracedance_sdk.trace import Json, Trace

COLLECTOR: Final = "pi"

_SPOKEN: Final = frozenset({"message", "custom_message", "compaction", "branch_summary"})


def read_pi_session(documents: list[Document], path: Path) -> Iterator[Trace | ImportProblem]:
    """Yield the branches of a session, in the order in which they begin.

    Args:
        documents: The file's records.
        path: The file; its folder is searched for OpenClaw's index.

    Source:
        pi-mono, packages/coding-agent/docs/session.md.
    """
    records, problems = objects_of(documents, path, fault=_fault)
    yield from problems
    if not records:
        return
    header = next((record for record in records if record.get("type") == "session"), {})
    entry = find_entry(path, text_at(header, "id"))
    branches = find_branches([_link(record) for record in records])
    client = "openclaw" if entry is not None or _is_openclaw(records, path) else "pi"
    for branch in branches.found:
        reading = _Reading(client, header)
        reading.read(records, branch)
        try:
            yield reading.finish(records[0], branch, entry, path)
        except TraceDanceError as error:
            yield ImportProblem(str(path), str(error))
    if branches.left_out:
        reason = f"{branches.left_out:,} branches left out, as they repeat too much"
        yield ImportProblem(str(path), reason)


def _link(record: Mapping[str, Any]) -> Link:
    names = [name] if (name := text_at(record, "id")) else []
    for block in objects_at(object_at(record, "message"), "content"):
        if block.get("type") == "toolCall" and (call := text_at(block, "id")):
            names.append(call)
    return Link(
        names=tuple(names),
        parent=text_at(record, "parentId"),
        is_root="parentId" in record and record["parentId"] is None,
        is_spoken=text_at(record, "type") in _SPOKEN and _fault(record) is None,
    )


def _fault(record: Mapping[str, Any]) -> str | None:
    """Return what is wrong with a record of the conversation that says nothing."""
    kind = text_at(record, "type")
    if kind is None:
        return "a record without a type"
    if kind == "message":
        message = record.get("message")
        said = text_at(message, "role") if isinstance(message, dict) else None
        return "a message without a role" if said is None else None
    if kind == "custom_message" and "content" not in record:
        return "a message without content"
    if kind in ("compaction", "branch_summary") and not isinstance(record.get("summary"), str):
        return "a summary without text"
    return None


def _is_openclaw(records: list[dict[str, Any]], path: Path) -> bool:
    for record in records:
        kind = text_at(record, "customType") or ""
        if kind.startswith("openclaw") or kind == "model-snapshot":
            return True
    return any("openclaw" in part.lower() for part in (path.parent.name, path.parent.parent.name))


class _Reading:
    """One branch being read."""

    def __init__(self, client: str, header: Mapping[str, Any]) -> None:
        self.log = Session(client)
        self.header = header
        self.settings: dict[str, Json] = {}
        self.trunk_turns = 0
        self._think(header)

    def read(self, records: list[dict[str, Any]], branch: Branch) -> None:
        for step in branch.steps:
            if step == branch.start and branch.of is not None:
                self.trunk_turns = len(self.log.turns)
            if records[step] is not self.header:
                self._record(records[step])
        settle(self.log)

    def _record(self, record: Mapping[str, Any]) -> None:
        kind = record.get("type")
        stored_at = time_at(record, "timestamp")
        extra = rest(record, "type", "message", "timestamp")
        if _fault(record) is not None:
            self.log.keep(record)
        elif kind == "message":
            message = object_at(record, "message")
            known = read_pi_message(
                self.log, message, stored_at=stored_at, settings=self.settings, extra=extra
            )
            if not known:
                self.log.keep(record)
        elif kind == "custom_message":
            parts = plain_parts(record.get("content"), client=self.log.client)
            extra.pop("content", None)
            own = self.log.own({**extra, "entry": kind})
            self.log.hear(parts, flags=["isSynthetic"], started_at=stored_at, **own)
        elif kind in ("compaction", "branch_summary"):
            self._summary(kind, record, stored_at, extra)
        else:
            if kind == "thinking_level_change":
                self._think(record)
            self.log.keep(record)

    def _think(self, record: Mapping[str, Any]) -> None:
        level = text_at(record, "thinkingLevel")
        if level is not None:
            self.settings["thinkingLevel"] = level

    def _summary(
        self, kind: str, record: Mapping[str, Any], stored_at: str | None, extra: dict[str, Any]
    ) -> None:
        summary = text_at(record, "summary") or ""
        extra.pop("summary", None)
        turn = self.log.summarise(
            summary, started_at=stored_at, **self.log.own({**extra, "entry": kind})
        )
        if kind == "branch_summary":
            del turn["compaction"]

    def finish(self, first: Json, branch: Branch, entry: IndexEntry | None, path: Path) -> Trace:
        log, header = self.log, self.header
        native_id = text_at(header, "id")
        log.facts["session"] = rest(header, "type", "id", "timestamp", "cwd") or None
        fields: dict[str, Any] = {}
        if entry is not None:
            log.facts["index"] = entry.fields
            fields = {"session_id": entry.root_id, "outcome": entry.outcome}
            parent = entry.parent
            if parent is not None and is_unique(parent.session):
                above = session_trace_id(COLLECTOR, parent.session, None)
                fields["parent"] = {"trace_id": above, "call_id": parent.call_id}
        if branch.of is not None:
            of = session_trace_id(COLLECTOR, native_id, first, branch=branch.of)
            log.facts["branch"] = {"of": of, "trunk_turns": self.trunk_turns}
        if missing := branch.lost + (not header):
            log.note("record_lost", count=missing)
        return log.finish(
            native_id,
            first,
            path=path,
            collector=COLLECTOR,
            branch=branch.name,
            started_at=time_at(header, "timestamp"),
            metadata={"cwd": text_at(header, "cwd")},
            **fields,
        )

"""Which call of a Claude Code session started which sub-agent.

A sub-agent is found by what the call's result says (``agentId``, a workflow's ``runId``), by the
tool use that its progress records name, or by its first message, which is the call's prompt.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from tracedance_sdk.errors import TraceDanceError
from tracedance_sdk.formats.coding.claude_code_branches import (
    Strand,
    calls_beyond_first,
    find_strands,
)
from tracedance_sdk.formats.coding.claude_code_records import (
    Entry,
    Misread,
    Thread,
    find_threads,
    is_answer,
    links_of,
    read_entries,
)
from tracedance_sdk.formats.coding.claude_code_results import text_of
from tracedance_sdk.formats.coding.lenient import object_at, text_at
from tracedance_sdk.formats.opening import Document, documents, read_document
from tracedance_sdk.trace import Json, parse_json, source_digest

_FOLDER: Final = "subagents"
_SAFE: Final = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,127}\Z")
_NAMED: Final = re.compile(r"^agentId: ([A-Za-z0-9_-]{1,128})", re.MULTILINE)
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\Z")
_SUFFIXES: Final = (".jsonl", ".jsonl.gz", ".jsonl.zst")
_MOST_SIBLINGS: Final = 500
_MOST_BYTES: Final = 4 * 1024**2


class Start(NamedTuple):
    """What started a sub-agent: a call, and the sub-agent that made it (None: the session)."""

    call_id: str
    agent: str | None = None


class Starts:
    """The calls of some conversations that may have started sub-agents."""

    def __init__(self) -> None:
        self.by_agent: dict[str, Start] = {}
        self.by_run: dict[str, Start] = {}
        self._by_prompt: dict[bytes, list[Start]] = {}
        self._of_record: dict[str, list[Start]] = {}

    def add(self, threads: Iterable[Thread]) -> None:
        """Take in the calls of conversations."""
        for thread in threads:
            asked: dict[str, Start] = {}
            for entry in thread.entries:
                self._take(entry, thread.agent, asked)
        taken = set(self.by_agent.values())
        for digest, found in self._by_prompt.items():
            # A prompt that several calls have tells nothing: two are enough to know that.
            self._by_prompt[digest] = [start for start in found if start not in taken][:2]

    def _take(self, entry: Entry, agent: str | None, asked: dict[str, Start]) -> None:
        for block in entry.blocks:
            if not isinstance(block, dict):
                continue
            call_id = text_at(block, "id")
            prompt = text_at(object_at(block, "input"), "prompt", "script")
            if block.get("type") == "tool_use" and call_id and prompt is not None:
                start = asked[call_id] = Start(call_id, agent)
                self._by_prompt.setdefault(_digest(prompt), []).append(start)
                if (name := text_at(entry.fields, "uuid")) is not None:
                    self._of_record.setdefault(name, []).append(start)
            elif is_answer(block):
                self._answered(block, entry, asked)

    def _answered(self, block: dict[str, Any], entry: Entry, asked: dict[str, Start]) -> None:
        start = asked.get(text_at(block, "tool_use_id") or "")
        if start is None:
            return
        told = object_at(entry.fields, "toolUseResult")
        found = text_at(told, "agentId", "agent_id")
        if found is None and (named := _NAMED.search(text_of(block.get("content")))):
            found = named.group(1)
        if found is not None:
            self.by_agent.setdefault(found, start)
        if (run := text_at(told, "runId")) is not None:
            self.by_run.setdefault(run, start)

    def of(self, thread: Thread, *, run: str | None = None) -> Start | None:
        """Return what started a sub-agent; None where nothing says so.

        Args:
            thread: Its records.
            run: The workflow that it is part of.
        """
        if thread.agent is not None and thread.agent in self.by_agent:
            return self.by_agent[thread.agent]
        if thread.call_id is not None:
            return Start(thread.call_id)
        if run is not None and run in self.by_run:
            return self.by_run[run]
        first = next((entry for entry in thread.entries if entry.says), None)
        same = self._by_prompt.get(_digest(text_of(first.blocks)), []) if first else []
        found = same or self._of_record.get(thread.above or "", [])
        return found[0] if len(found) == 1 else None


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.strip().encode("utf-8", "backslashreplace")).digest()


class Main(NamedTuple):
    """A session's own conversation, as the records of its sub-agents must know it.

    Attributes:
        session: Its id; None where the file has none.
        namespace: What sets the id apart; see `namespace_of`.
        branch: Of the trace; see `Thread.fragment`.
        starts: The calls of the file.
        elsewhere: The calls that only another of its traces has, with it.
    """

    session: str | None
    namespace: str
    branch: str
    starts: Starts
    elsewhere: dict[str, Strand]


class Family(NamedTuple):
    """What the files around a sub-agent's say of it.

    Attributes:
        main: The session's own file; None where it is not at hand.
        start: The call that started it.
        extra: What files beside it say: its ``meta``, and its records in a workflow's journal.
    """

    main: Main | None
    start: Start | None
    extra: dict[str, Json]


def is_unique(session: str) -> bool:
    """Whether a session's id is one that no other session has: a UUID."""
    return _UUID.match(session) is not None


def namespace_of(session: str, entries: Sequence[Entry]) -> str:
    """Return what sets a session's id apart: nothing for a UUID, else its file's first record."""
    if is_unique(session):
        return ""
    return source_digest(entries[0].fields)[:16] if entries else ""


def read_main(threads: Sequence[Thread], entries: Sequence[Entry]) -> Main:
    """Return what the sub-agents of a session must know of its own conversation.

    Args:
        threads: Those of the session's file; see `find_threads`.
        entries: The file's records.
    """
    starts = Starts()
    starts.add(threads)
    main = threads[0]
    session = main.session
    strands = find_strands(main, links_of(main), session=session or "")
    return Main(
        session,
        namespace_of(session or "", entries),
        main.fragment,
        starts,
        calls_beyond_first(main, strands),
    )


def family_of(thread: Thread, session: str, path: Path) -> Family:
    """Return what the files around a sub-agent's own file say of it.

    Args:
        thread: Its records.
        session: Its session's id.
        path: Its file.
    """
    inside = _folder_of(path)
    run = path.parent.name if path.parent.parent.name == "workflows" else None
    extra = _beside(path, thread.agent)
    at = _main_file(session, path, inside)
    if at is None:
        return Family(None, None, extra)
    main = _known(at)
    start = main.starts.of(thread, run=run)
    if start is None and inside is not None:
        for sibling in sorted(inside.rglob("agent-*.jsonl*"))[:_MOST_SIBLINGS]:
            if sibling.name != path.name:
                found = _known(sibling).starts.by_agent.get(thread.agent or "")
                if found is not None:
                    start = found
                    break
    return Family(main, start, extra)


def own_file(agent: str, session: str, path: Path) -> bool:
    """Whether a sub-agent of a session's file has a file of its own."""
    if not _SAFE.match(agent):
        return False
    names = [f"agent-{agent}{suffix}" for suffix in _SUFFIXES]
    stem = path.name.split(".")[0]
    folders = [path.parent, path.parent / stem / _FOLDER]
    if _SAFE.match(session):
        folders.append(path.parent / session / _FOLDER)
    files = (folder / name for folder in folders for name in names)
    return any(file.name != path.name and file.is_file() for file in files)


def _folder_of(path: Path) -> Path | None:
    return next((folder for folder in path.parents if folder.name == _FOLDER), None)


def _main_file(session: str, path: Path, inside: Path | None) -> Path | None:
    candidates: list[Path] = []
    if inside is not None:
        candidates += [inside.parent.parent / f"{inside.parent.name}{end}" for end in _SUFFIXES]
    if _SAFE.match(session):
        candidates += [path.parent / f"{session}{end}" for end in _SUFFIXES]
    return next((found for found in candidates if found != path and found.is_file()), None)


class _State(NamedTuple):
    """A file as it is now."""

    path: Path
    size: int
    changed_ns: int


def _state(path: Path) -> _State:
    status = path.stat()
    return _State(path, status.st_size, status.st_mtime_ns)


def _known(path: Path) -> Main:
    return _read_starts(_state(path))


@lru_cache(maxsize=_MOST_SIBLINGS + 12)
def _read_starts(state: _State) -> Main:
    """Return what a session's file says to its sub-agents.

    A session's sub-agents ask for the same file one after another: it is read once, as long as it
    does not change.
    """
    try:
        found = read_entries(item for item in documents(state.path) if isinstance(item, Document))
        entries = [entry for entry in found if not isinstance(entry, Misread)]
    except (TraceDanceError, OSError):
        entries = []
    return read_main(find_threads(entries), entries)


def _beside(path: Path, agent: str | None) -> dict[str, Json]:
    extra: dict[str, Json] = {}
    stem = path.name.split(".")[0]
    meta = read_beside(path.with_name(f"{stem}.meta.json"))
    if isinstance(meta, dict):
        extra["meta"] = meta
    journal = path.with_name("journal.jsonl")
    if path.parent.parent.name == "workflows" and journal.is_file():
        found = _journal(_state(journal)).get(agent or "", [])
        extra["workflow"] = {"run": path.parent.name, "records": found}
    return extra


@lru_cache(maxsize=4)
def _journal(state: _State) -> dict[str, list[Json]]:
    """Return the records of a workflow's journal by the agent that they are about."""
    found: dict[str, list[Json]] = {}
    with suppress(TraceDanceError, OSError):
        for item in documents(state.path):
            if isinstance(item, Document) and isinstance(item.value, dict):
                found.setdefault(text_at(item.value, "agentId") or "", []).append(item.value)
    return found


def read_beside(path: Path) -> Json:
    """Return a small JSON file beside a session; None when there is none or it is no JSON."""
    try:
        if not path.is_file():
            return None
        return parse_json(read_document(path, limit=_MOST_BYTES), where=str(path))
    except (TraceDanceError, OSError):
        return None

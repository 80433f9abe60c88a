"""Claude Code's session files as traces: one for each branch of a session, one for each sub-agent.

* A session that was rewound or forked is a tree. The branch that began first keeps the session's
  id; each other one is a trace of its own, named in ``metadata["branch"]``. It repeats the turns
  before the fork: ``metadata["claude_code"]["branch"]`` says how many, and which trace has them.
* A sub-agent is a trace with a `parent`, wherever its records lie: in a file of its own beside the
  session's, as side chain inside it, or in progress records.
* What the model was not shown (progress of hooks, snapshots, titles, modes) is kept under
  ``metadata["claude_code"]["records"]``; fields that all records share stand beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from tracedance_sdk.formats.coding.claude_code_agents import (
    Main,
    Start,
    family_of,
    is_unique,
    namespace_of,
    own_file,
    read_beside,
    read_main,
)
from tracedance_sdk.formats.coding.claude_code_branches import Strand, find_strands
from tracedance_sdk.formats.coding.claude_code_records import (
    Entry,
    Misread,
    Thread,
    find_threads,
    links_of,
    read_entries,
)
from tracedance_sdk.formats.coding.claude_code_turns import (
    AGENT,
    KEY,
    Told,
    shared_fields,
    tell_entries,
)
from tracedance_sdk.formats.coding.lenient import time_at
from tracedance_sdk.formats.guarding import guarded
from tracedance_sdk.formats.importing import ImportProblem
from tracedance_sdk.formats.opening import Document
from tracedance_sdk.formats.places import Place
from tracedance_sdk.trace import (
    Agent,
    Json,
    Outcome,
    Parent,
    Source,
    Trace,
    imported_trace_id,
    source_digest,
)

COLLECTOR: Final = "claude_code"
_MOST_KINDS: Final = 9
_OUTCOMES: Final = ("initial_attribution", "files_touched", "token_usage")


def read_claude_code(documents: Sequence[Document], path: Path) -> Iterator[Trace | ImportProblem]:
    """Yield the traces of a Claude Code session file.

    Files beside it are read where they say more: a session's for its sub-agents' calls, an
    agent's ``.meta.json``, a workflow's journal, the ``metadata.json`` of an entire.io checkpoint.

    Args:
        documents: The file's records in order; or one document with a list ``messages`` of them.
        path: The file.

    Yields:
        Traces, the session's own first; and as problems, records that are none.
    """
    entries: list[Entry] = []
    for found in read_entries(documents):
        if isinstance(found, Misread):
            yield ImportProblem(str(path), found.reason, found.line)
        else:
            entries.append(found)
    threads = find_threads(entries)
    main = read_main(threads, entries) if threads[0].is_spoken else None
    spoken = [thread for thread in threads if thread.is_spoken]
    for thread in spoken:
        if thread.agent is None and main is not None:
            yield from _session(thread, main, path).traces()
        elif _is_told_here(thread, path):
            yield from _subagent(thread, main, entries, path).traces()
    if entries and not spoken:
        kinds = ", ".join(sorted({entry.kind for entry in entries})[:_MOST_KINDS])
        reason = f"no message, only records of type {kinds}"
        yield ImportProblem(str(path), reason)


def _is_told_here(thread: Thread, path: Path) -> bool:
    agent = thread.agent or ""
    is_own = path.name.split(".")[0] == f"agent-{agent}"
    return is_own or not own_file(agent, thread.session or "", path)


class _Identity(NamedTuple):
    """What a trace's id is made of."""

    namespace: str
    session: str
    agent: str | None = None

    def id(self, branch: str = "") -> str:
        native = self.session if self.agent is None else f"{self.session}/agent-{self.agent}"
        return imported_trace_id(COLLECTOR, self.namespace, native, branch)


def _session(thread: Thread, main: Main, path: Path) -> _Reading:
    native = main.session or source_digest(thread.entries[0].fields)[:32]
    return _Reading(
        thread,
        _Identity(main.namespace if main.session else "", native),
        path=path,
        fields={"session_id": main.session},
        once=_checkpoint(main.session, path),
    )


def _subagent(thread: Thread, main: Main | None, entries: Sequence[Entry], path: Path) -> _Reading:
    """Return how a sub-agent is read: its session's identity and call, as far as they are known."""
    session = thread.session
    extra: dict[str, Json] = {}
    if main is not None:
        start = main.starts.of(thread)
    else:
        main, start, extra = family_of(thread, session or "", path)
    if main is not None and main.session is not None:
        session = main.session
    native = session or source_digest(thread.entries[0].fields)[:32]
    own = namespace_of(session, entries) if session else ""
    identity = _Identity(own if main is None else main.namespace, native, thread.agent)
    fields = {"session_id": session, "parent": _parent(identity, main, start)}
    return _Reading(thread, identity, path=path, fields=fields, extra=extra)


def _parent(identity: _Identity, main: Main | None, start: Start | None) -> Parent | None:
    if main is None and not is_unique(identity.session):
        return None
    if start is not None and start.agent is not None:
        above = identity._replace(agent=start.agent)
        return Parent(trace_id=above.id(), call_id=start.call_id)
    above, branch = identity._replace(agent=None), ""
    if main is not None:
        strand = main.elsewhere.get(start.call_id) if start else None
        branch = main.branch if strand is None else strand.name
        if strand is not None and main.session is not None:
            above = above._replace(session=strand.session)
    return Parent(trace_id=above.id(branch), call_id=start.call_id if start else None)


class _Reading:
    """One conversation on its way to its traces.

    Args:
        thread: Its records.
        identity: What the ids are made of.
        path: The file.
        fields: Fields of every trace.
        extra: What else every trace keeps under its own key.
        once: Fields of the first trace only.
    """

    def __init__(
        self,
        thread: Thread,
        identity: _Identity,
        *,
        path: Path,
        fields: dict[str, Any],
        extra: dict[str, Json] | None = None,
        once: dict[str, Any] | None = None,
    ) -> None:
        self._thread = thread
        self._identity = identity
        self._path = path
        self._fields = fields
        self._once = once or {}
        self._shared = shared_fields(thread.entries)
        self._extra = {**self._shared, **(extra or {})}
        if thread.agent is not None:
            self._extra["subagent"] = thread.agent
        self._links = links_of(thread)
        self._owners: dict[int, str] = {}
        """Of each record that began a turn, the id of the first trace with it."""
        self._kept: set[int] = set()

    def traces(self) -> Iterator[Trace | ImportProblem]:
        """Yield a trace for each session of each branch."""
        strands = find_strands(self._thread, self._links, session=self._identity.session)
        for strand in strands.found:
            line = self._thread.entries[strand.steps[0]].line
            told = partial(self._trace, strand)
            yield from guarded(told, Place(str(self._path)), str(self._path), line)
        if left_out := strands.left_out:
            reason = f"{left_out} branches left out, which repeat more than can be held"
            yield ImportProblem(str(self._path), reason)

    def _trace(self, strand: Strand) -> Trace:
        session, name, steps = strand
        entries = [self._thread.entries[step] for step in steps]
        is_subagent = self._thread.agent is not None
        told = tell_entries(entries, shared=self._shared, is_subagent=is_subagent)
        identity = self._identity
        fields = {**self._fields}
        if not is_subagent and fields["session_id"] is not None:
            identity = identity._replace(session=session)
            fields["session_id"] = session
        trace_id = identity.id(name)
        own = {**self._extra, **self._branch(told, steps, trace_id, name)}
        if records := [record for at, record in told.records if steps[at] not in self._kept]:
            own["records"] = records
        self._kept.update(steps[at] for at, _ in told.records)
        if lost := len(self._links.lost.intersection(steps)):
            told.log.note("record_lost", count=lost)
        once, self._once = self._once, {}
        metadata = {**once.pop("metadata", {}), **_placed(self._shared), KEY: own}
        if name:
            metadata["branch"] = name
        times = [when for e in entries if (when := time_at(e.fields, "timestamp")) is not None]
        version = self._shared.get("version")
        line = entries[0].line
        return told.log.trace(
            trace_id,
            where=str(self._path) if line is None else f"{self._path}:{line}",
            agent=Agent(name=AGENT, version=version if isinstance(version, str) else None),
            source=Source(collector=COLLECTOR, uri=str(self._path), native_id=session),
            started_at=times[0] if times else None,
            ended_at=times[-1] if times else None,
            metadata=metadata,
            **once,
            **fields,
        )

    def _branch(self, told: Told, steps: list[int], trace_id: str, name: str) -> dict[str, Json]:
        """Return what a trace says of the turns that it repeats from another one."""
        starts = [steps[at] for at in told.beginnings]
        trunk = next((n for n, at in enumerate(starts) if at not in self._owners), len(starts))
        above = self._owners[starts[trunk - 1]] if trunk else None
        for at in starts:
            self._owners.setdefault(at, trace_id)
        if not name and not trunk:
            return {}
        found: dict[str, Json] = {"trunk_turns": trunk}
        return {"branch": {**found, "of": above} if above is not None else found}


def _placed(shared: dict[str, Json]) -> dict[str, Json]:
    names = {"cwd": "cwd", "gitBranch": "git_branch"}
    return {to: shared[name] for name, to in names.items() if name in shared}


def _checkpoint(session: str | None, path: Path) -> dict[str, Any]:
    """Return what an entire.io checkpoint says of the session beside it."""
    found = read_beside(path.with_name("metadata.json")) if path.stem.startswith("full") else None
    if not isinstance(found, dict) or not session:
        return {}
    # Older checkpoints put a date before the id.
    if not str(found.get("session_id") or "").endswith(session):
        return {}
    details = {key: found[key] for key in _OUTCOMES if key in found}
    return {"outcome": Outcome(details=details), "metadata": {"annotations": found}}

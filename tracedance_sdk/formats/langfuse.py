"""Langfuse's traces as ours: each conversation with a model that an application held is a trace.

Generations repeat the messages before them in the shape of whatever framework made them; each
message is told once. Observations of tools give their calls times, errors and results. What no
turn or call says (spans, scores, the trace's own record) is kept beside.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

from tracedance_sdk.formats.conversation_shapes import read_talk
from tracedance_sdk.formats.guarding import guarded
from tracedance_sdk.formats.importing import ImportProblem
from tracedance_sdk.formats.langfuse_export import Export, Observation, exports_of
from tracedance_sdk.formats.langfuse_generations import call_of, kept_of
from tracedance_sdk.formats.langfuse_tools import ToolRun, is_tool_run, merge_tool_runs
from tracedance_sdk.formats.model_calls import ModelCall, Thread, Threads
from tracedance_sdk.formats.opening import Document
from tracedance_sdk.formats.places import Place
from tracedance_sdk.trace import Json, Trace, imported_trace_id

COLLECTOR: Final = "langfuse"
KEPT: Final = "langfuse"
_NOTHING: Final[tuple[Json, ...]] = (None, [], {}, "")


def traces_from_langfuse(
    documents: Iterable[Document], path: Path
) -> Iterator[Trace | ImportProblem]:
    """Yield the conversations in a file of Langfuse's.

    Args:
        documents: Traces with observations, or observations alone, as its API and UI export them.
        path: The file.
    """
    for export in exports_of(documents, path):
        if isinstance(export, ImportProblem):
            yield export
            continue
        yield from _Story(export, path).traces()


class _Story:
    """The conversations of one trace of Langfuse's."""

    def __init__(self, export: Export, path: Path) -> None:
        self._export = export
        self._path = path
        self._around = {item.id: item for item in export.observations}
        self._threads = Threads(KEPT)
        self._first: dict[int, Observation] = {}
        self._known: dict[int, set[str]] = {}

    def traces(self) -> Iterator[Trace | ImportProblem]:
        self._converse()
        threads = self._threads.threads
        runs = merge_tool_runs(self._export.observations, threads)
        ids = {id(thread): self._trace_id(index, thread) for index, thread in enumerate(threads)}
        for index, thread in enumerate(threads):
            parent = self._parent(thread, runs, ids)
            told = partial(self._trace, thread, ids[id(thread)], is_first=index == 0, parent=parent)
            yield from guarded(told, Place(str(self._path)), str(self._path))

    def _converse(self) -> None:
        for item in self._export.observations:
            if item.kind != "GENERATION":
                continue
            call, is_understood = call_of(item)
            thread, _ = self._threads.add(call)
            self._first.setdefault(id(thread), item)
            self._known.setdefault(id(thread), set()).add(item.id)
            if not is_understood:
                thread.log.note("boundary_guessed", f"turns[{len(thread.log.turns) - 1}]")
        if not self._threads.threads:
            self._threads.add(self._whole())

    def _whole(self) -> ModelCall:
        """Return a trace without generations as one call: what went in, and what came out."""
        roots = [item for item in self._export.observations if item.parent not in self._around]
        holders = [self._export.trace, *(item.fields for item in roots)]
        inputs, outputs = ([item.get(key) for item in holders] for key in ("input", "output"))
        asked = next((t for item in inputs if (t := read_talk(item, speaker="user"))), None)
        came = next((t for item in outputs if (t := read_talk(item, speaker="assistant"))), None)
        return ModelCall(
            () if asked is None else asked.messages,
            None if came is None else came.messages,
            {},
            system=None if asked is None else asked.system,
        )

    def _trace_id(self, index: int, thread: Thread) -> str:
        first = self._first.get(id(thread))
        branch = first.id if index and first is not None else ""
        return imported_trace_id(COLLECTOR, "", self._export.id, branch)

    def _ancestors(self, item: Observation | None) -> Iterator[Observation]:
        seen: set[str] = set()
        while item is not None and item.parent is not None and item.parent not in seen:
            seen.add(item.parent)
            item = self._around.get(item.parent)
            if item is not None:
                yield item

    def _parent(
        self, thread: Thread, runs: dict[str, ToolRun], ids: dict[int, str]
    ) -> dict[str, Json] | None:
        """Return the call inside whose run a conversation was held."""
        for item in self._ancestors(self._first.get(id(thread))):
            run = runs.get(item.id)
            if run is not None and run.thread is not thread:
                return {"trace_id": ids[id(run.thread)], "call_id": run.call["id"]}
        return None

    def _trace(
        self, thread: Thread, trace_id: str, *, is_first: bool, parent: dict[str, Json] | None
    ) -> Trace:
        record = self._export.trace
        session = record.get("sessionId", record.get("session_id"))
        if not isinstance(session, str):
            session = self._export.id if len(self._threads.threads) > 1 else None
        times = [item for item in self._export.observations if self._is_in(item, thread)]
        return thread.log.trace(
            trace_id,
            where=str(self._path),
            session_id=session,
            parent=parent,
            agent={"name": self._agent_name(thread)},
            system_prompt=thread.system,
            tools=list(thread.tools.values()),
            outcome=self._outcome(thread, is_first=is_first),
            source={"collector": COLLECTOR, "uri": str(self._path), "native_id": self._export.id},
            started_at=min((t.started for t in times if t.started), default=None),
            ended_at=max((t.ended for t in times if t.ended), default=None),
            metadata=self._metadata(is_first=is_first),
        )

    def _is_in(self, item: Observation, thread: Thread) -> bool:
        known = self._known.get(id(thread))
        return item.id in known if known is not None else True

    def _agent_name(self, thread: Thread) -> str:
        around = self._ancestors(self._first.get(id(thread)))
        name = next((item.name for item in around if item.kind == "AGENT" and item.name), None)
        own = self._export.trace.get("name")
        return name or (own if isinstance(own, str) and own else "agent")

    def _outcome(self, thread: Thread, *, is_first: bool) -> dict[str, Any] | None:
        """Return the scores of a conversation: its own, and with the first those of the trace."""
        known = self._known.get(id(thread), set())
        scores = self._export.trace.get("scores")
        own = [
            score
            for score in (scores if isinstance(scores, list) else ())
            if isinstance(score, dict)
            and (str(score.get("observationId")) in known or (is_first and self._is_loose(score)))
        ]
        roots = [item for item in self._export.observations if item.parent not in self._around]
        error = next((item.error for item in roots if item.error), None) if is_first else None
        if not own and error is None:
            return None
        found: dict[str, Any] = {"details": {"scores": own}} if own else {}
        return {**found, **({"error": error, "ended": False} if error else {})}

    def _is_loose(self, score: dict[str, Any]) -> bool:
        """Whether a score is of the trace, or of an observation in no conversation."""
        place = str(score.get("observationId"))
        return not any(place in known for known in self._known.values())

    def _metadata(self, *, is_first: bool) -> dict[str, Json]:
        """Return the trace's record, and, with the first conversation, all other observations."""
        record = {
            k: v for k, v in self._export.trace.items() if k != "scores" and v not in _NOTHING
        }
        if not is_first:
            return {KEPT: {k: record[k] for k in ("id", "name") if k in record}}
        others = [
            {
                **kept_of(item),
                "type": item.kind,
                "parent": item.parent,
                "started_at": item.started,
                "ended_at": item.ended,
                **{k: item.fields[k] for k in ("input", "output") if self._is_news(item, k)},
            }
            for item in self._export.observations
            if item.kind != "GENERATION" and not is_tool_run(item)
        ]
        kept = [{k: v for k, v in item.items() if v not in _NOTHING} for item in others]
        return {KEPT: record, **({"observations": kept} if kept else {})}

    def _is_news(self, item: Observation, key: str) -> bool:
        """Whether a span's input or output is more than messages that the turns say."""
        value = item.fields.get(key)
        if value in _NOTHING:
            return False
        talk = read_talk(value, speaker="user" if key == "input" else "assistant")
        return talk is None or not all(self._threads.has_told(m) for m in talk.messages)

"""OpenClaw's telemetry: one flat log of the events of a main session and its sub-agents.

When an agent starts, its event may hold the history so far, in pi's messages; that history is what
the trace is made of. Prompts, uses of tools and answers that no history holds come from their own
events, which tell of a tool that it ran, how long and whether well, but not what came back.

No event says in so many words which session it belongs to: sub-agents are told by their key, and
everything else is the main session of its agent.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from tracedance_sdk.formats.coding.lenient import (
    flag_at,
    number_at,
    object_at,
    objects_at,
    rest,
    text_at,
    time_at,
)
from tracedance_sdk.formats.coding.pi_messages import read_pi_message, settle
from tracedance_sdk.formats.coding.session import Session, objects_of, session_trace_id
from tracedance_sdk.formats.guarding import guarded
from tracedance_sdk.formats.importing import ImportProblem
from tracedance_sdk.formats.opening import Document
from tracedance_sdk.formats.places import Place
from tracedance_sdk.formats.transcript import read_arguments
from tracedance_sdk.trace import UNKNOWN, Json, Trace, source_digest

COLLECTOR: Final = "openclaw_telemetry"

_SUBAGENT: Final = ":subagent:"
_REMOVED: Final = "[REMOVED]"
"""What the log's authors put where an address, a name or a number stood."""


def read_openclaw_telemetry(
    documents: list[Document], path: Path
) -> Iterator[Trace | ImportProblem]:
    """Yield the main session and those of its sub-agents, in order of appearance.

    Args:
        documents: The file's events.
        path: The file.
    """
    groups: dict[str, list[dict[str, Any]]] = {}
    records, problems = objects_of(documents, path, fault=_fault)
    yield from problems
    for event in records:
        groups.setdefault(_group(event), []).append(event)
    main = groups.get("", [])
    started = _started(main)
    for name, events in groups.items():
        fields: dict[str, Any] = {"session_id": _key(main) or name}
        if name and main:
            trace_id = session_trace_id(COLLECTOR, None, main[0])
            fields["parent"] = {"trace_id": trace_id, "call_id": started.get(name)}
        yield from guarded(partial(_told, events, path, fields), Place(str(path)), str(path))


def _told(events: list[dict[str, Any]], path: Path, fields: dict[str, Any]) -> Trace:
    return _Reading(events).finish(_key(events), path, fields)


def _fault(event: Mapping[str, Any]) -> str | None:
    return "an event without a type" if text_at(event, "type") is None else None


def _group(event: Mapping[str, Any]) -> str:
    key = text_at(event, "sessionKey") or ""
    return key if _SUBAGENT in key else ""


def _key(events: list[dict[str, Any]]) -> str | None:
    return next((key for event in events if (key := text_at(event, "sessionKey"))), None)


def _started(events: list[dict[str, Any]]) -> dict[str, str]:
    """Return the calls that started sub-agents, by the keys of these."""
    found: dict[str, str] = {}
    seen: set[str] = set()
    for event in events:
        for message in objects_at(event, "messages"):
            call = text_at(message, "toolCallId")
            if call is None or call in seen:
                continue
            seen.add(call)
            details = object_at(message, "details")
            for block in objects_at(message, "content"):
                value, _ = read_arguments(text_at(block, "text") or "")
                details = details or (value if isinstance(value, dict) else {})
            if (key := text_at(details, "childSessionKey")) is not None:
                found.setdefault(key, call)
    return found


class _Reading:
    """The events of one session being read."""

    def __init__(self, events: list[dict[str, Any]]) -> None:
        self.log = Session("openclaw")
        self.events = events
        self._seen: set[str] = set()
        self._covered: Counter[str] = Counter()
        """Prompts, answers and uses of tools that some history holds."""
        self._running: defaultdict[str, deque[dict[str, Any] | None]] = defaultdict(deque)
        """Per tool the calls whose end is not told yet; None for one in a history."""
        self._cover()
        for index, event in enumerate(events):
            self._event(index, event)
        settle(self.log)
        self._mask()

    def _cover(self) -> None:
        known: set[str] = set()
        for event in self.events:
            for message in objects_at(event, "messages"):
                digest = source_digest(message)
                if digest not in known:
                    known.add(digest)
                    self._covered.update(_contents(message))

    def _event(self, index: int, event: Mapping[str, Any]) -> None:
        kind = event.get("type")
        if kind == "agent.start":
            self._start(index, event)
        elif kind == "tool.start":
            self._tool(event)
        elif kind == "tool.end":
            self._ended(event)
        elif kind == "message.out" and not self._is_covered("said", event.get("content")):
            text = text_at(event, "content") or ""
            self.log.say("assistant", text, origin="agent", **self._own(event, "content"))
        else:
            self.log.keep(event)

    def _start(self, index: int, event: Mapping[str, Any]) -> None:
        messages = objects_at(event, "messages")
        fresh = [m for m in messages if source_digest(m) not in self._seen]
        self._seen.update(map(source_digest, fresh))
        for message in fresh:
            if not read_pi_message(self.log, message):
                self.log.keep(message)
        following = self.events[index + 1] if index + 1 < len(self.events) else {}
        if "messages" not in event and _is_same_start(event, following):
            return
        prompt = event.get("prompt")
        if isinstance(prompt, str) and not self._is_covered("told", prompt):
            at = time_at(event, "timestamp", "ts")
            self.log.hear(prompt, started_at=at, **self._own(event, "prompt", "messages"))
        else:
            self.log.keep(rest(event, "prompt", "messages"))

    def _tool(self, event: Mapping[str, Any]) -> None:
        name = text_at(event, "toolName") or "unknown"
        running = self._running[name]
        if self._is_covered("used", [name, event.get("params")]):
            running.append(None)
            return
        call = self.log.request(
            name,
            arguments=event.get("params", UNKNOWN),
            started_at=time_at(event, "timestamp", "ts"),
            **self._own(event, "toolName", "params"),
        )
        running.append(call)

    def _ended(self, event: Mapping[str, Any]) -> None:
        name = text_at(event, "toolName") or "unknown"
        running = self._running[name]
        call = running.popleft() if running else None
        if call is None:
            self.log.keep(event)
            return
        call["bound_by"] = "order"
        call["duration_ms"] = number_at(event, "durationMs")
        own = self._own(event, "toolName", "success", "durationMs", "error")
        call["result"] = {"ok": flag_at(event, "success"), "truncated": True, **own}
        if (message := text_at(event, "error")) is not None:
            call["result"]["error"] = {"type": "error", "message": message}

    def _is_covered(self, how: str, value: Json) -> bool:
        key = _covering(how, value)
        if not self._covered[key]:
            return False
        self._covered[key] -= how == "used"
        return True

    def _own(self, event: Mapping[str, Any], *known: str) -> dict[str, Any]:
        return self.log.own(rest(event, "type", "timestamp", "ts", *known))

    def _mask(self) -> None:
        masked = sum(_count_removed(event) for event in self.events)
        if masked:
            self.log.note("value_masked", count=masked)

    def finish(self, native_id: str | None, path: Path, fields: dict[str, Any]) -> Trace:
        self.log.note("boundary_guessed")
        return self.log.finish(
            native_id, self.events[0], path=path, collector=COLLECTOR, known_late=True, **fields
        )


def _is_same_start(event: Mapping[str, Any], following: Mapping[str, Any]) -> bool:
    """Whether the next event tells of the same start, with the history this one lacks."""
    return (
        following.get("type") == "agent.start"
        and "messages" in following
        and following.get("prompt") == event.get("prompt")
    )


def _contents(message: Mapping[str, Any]) -> Iterator[str]:
    role, content = message.get("role"), message.get("content")
    blocks = objects_at(message, "content")
    texts = [content] if isinstance(content, str) else [block.get("text") for block in blocks]
    if role in ("user", "assistant"):
        yield from (_covering("told" if role == "user" else "said", text) for text in texts)
    for block in blocks:
        if block.get("type") == "toolCall":
            yield _covering("used", [block.get("name"), block.get("arguments")])


def _covering(how: str, value: Json) -> str:
    return how + source_digest(value)


def _count_removed(event: Mapping[str, Any]) -> int:
    """Return how many texts of an event had something taken out, those of histories left out."""
    found = 0
    pending: list[Json] = [rest(event, "messages")]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pending.extend(item.values())
        elif isinstance(item, list):
            pending.extend(item)
        elif isinstance(item, str) and _REMOVED in item:
            found += 1
    return found

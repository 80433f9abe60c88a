"""Chat-completions conversations in files.

A file holds one conversation (``{"messages": [...], "tools": [...]}`` or the bare list of
messages), a list of conversations, or one conversation a line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from tracedance_sdk.formats import (
    MARK,
    ImportProblem,
    Place,
    Signature,
    documents,
    guarded,
    marked,
    read_mark,
    trace_from_messages,
    with_loss,
)
from tracedance_sdk.trace import Json, Source, Trace, imported_trace_id, source_digest

_ID_KEYS = ("id", "conversation_id", "session_id")
_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})


class OpenAIChatCollector:
    """Reads conversations whose messages have a ``role``."""

    name = "openai_chat"
    signatures = (
        Signature.of("messages[].role", is_weak=True),
        Signature.of("messages", is_weak=True),
        Signature.of("role", "content", depth=2, least_depth=1, is_weak=True),
        Signature.of("role", "tool_calls", depth=2, least_depth=1, is_weak=True),
    )

    def sniff(self, path: Path, head: bytes) -> bool:
        """Whether the first object is a conversation or a message."""
        return any(signature.matches(path, head) for signature in self.signatures)

    def collect(self, path: Path) -> Iterator[Trace | ImportProblem]:
        """Yield a file's conversations in order.

        The id of a trace follows from the conversation alone, so that one read from a moved file
        is the same trace; equal conversations in one file are told apart by their order.

        Raises:
            TraceDanceError: The file as a whole cannot be read.
        """
        seen: Counter[tuple[str, str]] = Counter()
        for document in documents(path):
            if isinstance(document, ImportProblem):
                yield document
                continue
            for value, steps in _conversations(document.value):
                where = str(path) if document.line is None else f"{path}:{document.line}"
                read = partial(_trace, value, seen, path=path, where=where, steps=steps)
                lost = int(document.is_cut and value is document.value)
                for found in guarded(read, Place(where, steps), str(path), document.line):
                    yield with_loss(found, lost) if isinstance(found, Trace) else found


def _conversations(value: Json) -> Iterator[tuple[Json, str]]:
    """Yield the conversations of a document, each with its JSON path."""
    if not isinstance(value, list) or _is_message(value[0] if value else None):
        yield value, "$"
        return
    for index, item in enumerate(value):
        yield item, f"$[{index}]"


def _is_message(value: Json) -> bool:
    return value is None or (isinstance(value, dict) and _role(value) in _ROLES)


def _role(message: dict[str, Any]) -> str | None:
    role = message.get("role")
    return role if isinstance(role, str) else None


def _trace(
    value: Json, seen: Counter[tuple[str, str]], *, path: Path, where: str, steps: str
) -> Trace:
    fields: dict[str, Any] = value if isinstance(value, dict) else {"messages": value}
    messages = fields.get("messages")
    mark = read_mark(fields.get(MARK), where=where)
    native_id, namespace = _identity(fields, messages)
    known = {"messages", "tools", "functions"} | ({MARK} if mark else set())
    found = trace_from_messages(
        messages,
        trace_id=_trace_id(native_id, namespace, seen),
        tools=fields.get("tools") or fields.get("functions"),
        where=where,
        path=f"{steps}.messages" if isinstance(value, dict) else steps,
        source=Source(collector="openai_chat", uri=str(path), native_id=native_id),
        metadata={key: item for key, item in fields.items() if key not in known},
    )
    return found if mark is None else marked(found, mark, messages=messages or ())


def _trace_id(native_id: str, namespace: str, seen: Counter[tuple[str, str]]) -> str:
    repeated = seen[native_id, namespace]
    seen[native_id, namespace] += 1
    branch = str(repeated) if repeated else ""
    return imported_trace_id("openai_chat", namespace, native_id, branch)


def _identity(fields: dict[str, Any], messages: Json) -> tuple[str, str]:
    """Return a conversation's id and what sets it apart from others of the same id.

    A conversation without an id is known by its messages. One with an id may grow, and ids such
    as "1" are common, so that its first two messages count as well.
    """
    own = next((fields[key] for key in _ID_KEYS if isinstance(fields.get(key), str)), None)
    if own is None or not isinstance(messages, list):
        return source_digest(messages), ""
    return own, source_digest(messages[:2])


collector = OpenAIChatCollector()

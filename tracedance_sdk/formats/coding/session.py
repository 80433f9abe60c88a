"""One session of a coding agent while it is read: its turns, and what is no turn."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from tracedance_sdk.formats.importing import ImportProblem
from tracedance_sdk.formats.media_shapes import read_media
from tracedance_sdk.formats.opening import Document
from tracedance_sdk.formats.origins import attribute
from tracedance_sdk.formats.transcript import Transcript, reasoning_part, text_part
from tracedance_sdk.trace import (
    Json,
    Source,
    Trace,
    imported_trace_id,
    source_digest,
)

_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


class Session(Transcript):
    """A transcript that also keeps what a client notes beside the conversation.

    Args:
        client: The agent's name, under which fields of its own stand in turns, calls and results.
    """

    def __init__(self, client: str) -> None:
        super().__init__()
        self.client = client
        self.facts: dict[str, Json] = {}
        """Of the session as a whole, for ``metadata[client]``."""
        self._records: list[Json] = []
        self._states: dict[str, Json] = {}
        self._answered_before: dict[str, Any] | None = None
        """The call answered last when the model's turn was opened."""

    def own(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return fields of the client's own as a field of one of our records."""
        kept = {key: value for key, value in fields.items() if value is not None}
        return {self.client: kept} if kept else {}

    def keep(self, record: Json) -> None:
        """Keep a record that is no turn, with its place among the turns."""
        self._records.append({"before_turn": len(self.turns), "record": record})

    def keep_change(self, record: Mapping[str, Any], key: str) -> None:
        """Keep a record that tells a state again and again: only what is new in it.

        Args:
            record: The record; its ``type`` says which state.
            key: The field that holds the state.
        """
        kind = str(record.get("type"))
        before, state = self._states.get(kind), record.get(key)
        self._states[kind] = state
        if not isinstance(before, dict) or not isinstance(state, dict):
            self.keep(record)
            return
        changed = {name: value for name, value in state.items() if before.get(name) != value}
        gone = sorted(before.keys() - state.keys())
        self.keep({**record, key: changed, **({"gone": gone} if gone else {})})

    def speak(self, **fields: Any) -> dict[str, Any]:
        """Return the model's turn if that is the last and nothing came back since; else a new one.

        For clients that record what a model says piece by piece.
        """
        last = self.last
        if last is not None and last["role"] == "assistant" and not last.get("synthetic"):
            if self.answered is self._answered_before:
                last.update((k, v) for k, v in fields.items() if v is not None and k not in last)
                return last
            self.note("boundary_guessed", f"turns[{len(self.turns)}]")
        self._answered_before = self.answered
        return self.say("assistant", origin="agent", **fields)

    def request_unasked(self, name: str, **fields: Any) -> dict[str, Any]:
        """Add a call that ran without a request on record, and note that."""
        call = self.request(name, bound_by="synthetic", **fields)
        turn = self.turns[-1]
        self.note(
            "request_missing", f"turns[{len(self.turns) - 1}].calls[{len(turn['calls']) - 1}]"
        )
        return call

    def hear(
        self,
        content: str | Iterable[Mapping[str, Any]],
        *,
        flags: Collection[str] = (),
        **fields: Any,
    ) -> dict[str, Any]:
        """Add a turn in the user's role, by whoever wrote it; see `attribute`."""
        found = attribute(content, role="user", agent=self.client, flags=flags)
        rule = None if found.rule == "none" else found.rule
        return self.say("user", found.parts, origin=found.origin, origin_rule=rule, **fields)

    def summarise(self, summary: str, **fields: Any) -> dict[str, Any]:
        """Add the turn in which a compaction's summary takes the place of what was before."""
        return self.hear(summary, flags=["compaction"], compaction=True, **fields)

    def finish(
        self,
        native_id: str | None,
        first: Json,
        *,
        path: Path,
        collector: str,
        branch: str = "",
        known_late: bool = False,
        **fields: Any,
    ) -> Trace:
        """Return the session as a trace.

        Args:
            native_id: The client's id of the session; None where it gives none.
            first: A record that stays the same when the session grows; it tells sessions apart
                whose ids are none or not unique.
            path: The file or folder.
            collector: The collector's name.
            branch: Which branch; empty for the first or only one.
            known_late: The native id stands further down in the file, so that the trace's id must
                do without it.
            **fields: Further fields of `Trace`; ``metadata`` is added to what the session holds.

        Raises:
            InvalidTrace: A field is of the wrong type.
        """
        given = fields.pop("metadata", None) or {}
        metadata = {key: value for key, value in given.items() if value is not None}
        facts = {key: value for key, value in self.facts.items() if value is not None}
        if self._records:
            facts["records"] = self._records
        if facts:
            metadata[self.client] = facts
        if branch:
            metadata["branch"] = branch
        fields.setdefault("agent", {"name": self.client})
        fields.setdefault("session_id", native_id)
        return self.trace(
            session_trace_id(collector, None if known_late else native_id, first, branch=branch),
            where=str(path),
            source=Source(collector=collector, uri=str(path), native_id=native_id),
            metadata=metadata or None,
            **fields,
        )


def session_trace_id(
    collector: str, native_id: str | None, first: Json, *, branch: str = ""
) -> str:
    """Return the id of a session's trace.

    A UUID is enough; any other id, or none, goes together with the session's first record.
    """
    namespace = "" if is_unique(native_id) else source_digest(first)
    return imported_trace_id(collector, namespace, native_id or "", branch)


def objects_of(
    documents: Iterable[Document],
    path: Path,
    *,
    fault: Callable[[Mapping[str, Any]], str | None] | None = None,
) -> tuple[list[dict[str, Any]], list[ImportProblem]]:
    """Return the records of a file that are objects, and a problem for each that is none.

    Args:
        documents: The file's.
        path: The file.
        fault: Says what is wrong with an object that is none of the format's; it is a problem and
            among the records both, so that it is kept.
    """
    records: list[dict[str, Any]] = []
    problems: list[ImportProblem] = []
    for document in documents:
        if isinstance(document.value, dict):
            records.append(document.value)
            reason = None if fault is None else fault(document.value)
            if reason is not None:
                problems.append(ImportProblem(str(path), reason, document.line))
        else:
            problems.append(ImportProblem(str(path), "expected an object", document.line))
    return records, problems


def is_unique(native_id: str | None) -> bool:
    """Whether an id of a session is a UUID, which no other session has."""
    return native_id is not None and _UUID.fullmatch(native_id) is not None


def withheld(text: str, *, encrypted: Json = None, **extra: Json) -> dict[str, Any]:
    """Return reasoning as a part of a turn, without what only its provider can read.

    Args:
        text: What can be read of it.
        encrypted: The part that cannot; only its length is kept, as ``encrypted_chars``.
        **extra: Further fields.
    """
    if isinstance(encrypted, str) and encrypted:
        extra["encrypted_chars"] = len(encrypted)
    return reasoning_part(text, **extra)


def plain_parts(content: Json, *, client: str) -> list[dict[str, Any]]:
    """Return the parts of a message: text stays text, and whatever else is media.

    Args:
        content: Text, or a list of blocks with a ``type``.
        client: The field for what a block says beyond its text.
    """
    if isinstance(content, str):
        return [text_part(content)] if content else []
    parts: list[dict[str, Any]] = []
    for block in content if isinstance(content, list) else [content] if content else []:
        if isinstance(block, str):
            parts.append(text_part(block))
        elif not isinstance(block, dict):
            parts.append(read_media("other", {"data": block}))
        elif isinstance(block.get("text"), str):
            known = ("type", "text") if _is_text(block) else ("text",)
            extra = {key: value for key, value in block.items() if key not in known}
            part = text_part(block["text"])
            parts.append({**part, client: extra} if extra else part)
        else:
            kind = block.get("type")
            parts.append(read_media(kind if isinstance(kind, str) else "other", block))
    return parts


def _is_text(block: Mapping[str, Any]) -> bool:
    kind = block.get("type")
    return kind is None or (isinstance(kind, str) and "text" in kind)


def plain_content(content: Json) -> Json:
    """Return a result's content: the text where it is one block of text, else as it is."""
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
        block = content[0]
        if block.keys() == {"type", "text"} and isinstance(block["text"], str):
            return block["text"]
    return content

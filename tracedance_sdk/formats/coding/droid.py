"""Sessions of Factory's Droid: its own store, and what ``droid exec`` streams as JSON."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tracedance_sdk.errors import TraceDanceError
from tracedance_sdk.formats.coding.lenient import (
    count_at,
    flag_at,
    integer_at,
    list_at,
    object_at,
    rest,
    text_at,
    time_at,
)
from tracedance_sdk.formats.coding.session import (
    Session,
    objects_of,
    plain_content,
    plain_parts,
    withheld,
)
from tracedance_sdk.formats.importing import ImportProblem
from tracedance_sdk.formats.opening import Document
from tracedance_sdk.trace import UNKNOWN, Json, Trace

COLLECTOR: Final = "droid"

_EXIT: Final = re.compile(r"\AError: Command failed \(exit code: (\d{1,9})\)")
"""How the tool that runs commands begins the text of one that failed."""

_IDS: Final = ("sessionId", "session_id")
_CALL_IDS: Final = ("toolCallId", "id")
_OF_EVENT: Final = ("type", "timestamp", *_IDS)


def read_droid_session(documents: list[Document], path: Path) -> Iterator[Trace | ImportProblem]:
    """Yield the session of a file.

    Args:
        documents: The file's records, of either form.
        path: The file.
    """
    records, problems = objects_of(documents, path)
    yield from problems
    if not records:
        return
    reading = _Reading()
    for record in records:
        reading.take(record)
    session = next((name for record in records if (name := text_at(record, *_IDS))), None)
    start = next((r for r in records if r.get("type") == "session_start"), {})
    version = text_at(start, "version")
    cwd = next((found for record in records if (found := text_at(record, "cwd"))), None)
    try:
        yield reading.log.finish(
            text_at(start, "id") or session,
            records[0],
            path=path,
            collector=COLLECTOR,
            agent={"name": "droid", **({"version": version} if version else {})},
            started_at=time_at(records[0], "timestamp"),
            outcome=reading.outcome or None,
            metadata={"cwd": cwd},
        )
    except TraceDanceError as error:
        yield ImportProblem(str(path), str(error))


class _Reading:
    """One session being read."""

    def __init__(self) -> None:
        self.log = Session("droid")
        self.outcome: dict[str, Any] = {}
        self._model: str | None = None
        self._settings: dict[str, Json] | None = None

    def take(self, record: Mapping[str, Any]) -> None:
        kind = record.get("type")
        if kind == "session_start":
            self.log.facts["session"] = rest(record, "type", "id", "cwd") or None
        elif kind == "message" and isinstance(record.get("message"), dict):
            self._stored(record, record["message"])
        elif kind == "message":
            self._streamed(record)
        elif kind == "tool_call":
            self._call(record)
        elif kind == "tool_result":
            self._result(record)
        elif kind == "completion":
            self._complete(record)
        else:
            self._beside(kind, record)

    def _beside(self, kind: Json, record: Mapping[str, Any]) -> None:
        if kind == "system":
            self._model = text_at(record, "model") or self._model
            effort = text_at(record, "reasoning_effort")
            self._settings = {"reasoning_effort": effort} if effort else self._settings
        elif kind == "error":
            source = text_at(record, "source") or "error"
            message = text_at(record, "message") or ""
            self.outcome["error"] = {"type": source, "message": message}
        self.log.keep(record)

    def _stored(self, record: Mapping[str, Any], message: Mapping[str, Any]) -> None:
        """Add a message of the store, whose blocks are Anthropic's."""
        log, role, at = self.log, text_at(message, "role"), time_at(record, "timestamp")
        blocks = list_at(message, "content") or [message.get("content") or ""]
        kinds = [text_at(block, "type") if isinstance(block, dict) else None for block in blocks]
        parts: list[dict[str, Any]] = []
        for block, kind in zip(blocks, kinds, strict=True):
            if kind == "thinking":
                text = text_at(block, "thinking") or ""
                parts.append(withheld(text, encrypted=block.get("signature")))
            elif kind not in ("tool_use", "tool_result"):
                parts += plain_parts(block, client=log.client)
        own = log.own(rest(record, "type", "timestamp", "message"))
        if role == "assistant":
            model = text_at(message, "model")
            log.say("assistant", parts, origin="agent", started_at=at, model=model, **own)
        elif role == "user" and (parts or "tool_result" not in kinds):
            log.hear(parts, started_at=at, **own)
        elif role != "user":
            log.keep(record)
        for block, kind in zip(blocks, kinds, strict=True):
            if kind == "tool_use":
                log.request(
                    text_at(block, "name") or "unknown",
                    call_id=text_at(block, "id"),
                    arguments=block.get("input", UNKNOWN),
                    **log.own(rest(block, "type", "id", "name", "input")),
                )
            elif kind == "tool_result":
                failed = flag_at(block, "is_error")
                content = plain_content(block.get("content", UNKNOWN))
                kept = {} if parts else rest(record, "type", "timestamp", "message")
                kept["timestamp"] = record.get("timestamp")
                self._answer(text_at(block, "tool_use_id"), content, failed, log.own(kept))

    def _streamed(self, record: Mapping[str, Any]) -> None:
        log, at = self.log, time_at(record, "timestamp")
        parts = plain_parts(record.get("text"), client=log.client)
        own = log.own(rest(record, *_OF_EVENT, "role", "text"))
        if record.get("role") == "assistant":
            turn = log.speak(model=self._model, settings=self._settings, started_at=at)
            turn["content"] += parts
            turn.update(own)
        elif record.get("role") == "user":
            log.hear(parts, started_at=at, **own)
        else:
            log.keep(record)

    def _call(self, record: Mapping[str, Any]) -> None:
        at = time_at(record, "timestamp")
        self.log.speak(model=self._model, settings=self._settings, started_at=at)
        known = ("toolName", "toolCallId", "id", "parameters")
        self.log.request(
            text_at(record, "toolName") or "unknown",
            call_id=text_at(record, *_CALL_IDS),
            arguments=record.get("parameters", UNKNOWN),
            started_at=at,
            **self.log.own(rest(record, *_OF_EVENT, *known)),
        )

    def _result(self, record: Mapping[str, Any]) -> None:
        known = (*_OF_EVENT, "toolCallId", "id", "value", "isError")
        own = {**rest(record, *known), "timestamp": record.get("timestamp")}
        self._answer(
            text_at(record, *_CALL_IDS),
            record.get("value", UNKNOWN),
            flag_at(record, "isError"),
            self.log.own(own),
        )

    def _answer(
        self, call_id: str | None, content: Json, failed: bool | None, own: dict[str, Any]
    ) -> None:
        exit_code = integer_at(content, "exitCode") if isinstance(content, dict) else None
        if isinstance(content, str) and (found := _EXIT.match(content)):
            exit_code = int(found.group(1))
        ok = None if failed is None else not failed
        if exit_code is not None:
            ok = exit_code == 0 and not failed
        self.log.answer(call_id, content=content, ok=ok, exit_code=exit_code, **own)

    def _complete(self, record: Mapping[str, Any]) -> None:
        """Add the last answer; the tokens are those of the whole run, and stay a record."""
        self.outcome["ended"] = True
        log, text = self.log, text_at(record, "finalText")
        usage = object_at(record, "usage")
        if count_at(usage, "input_tokens") is not None:
            log.facts["usage"] = usage
        last = log.last
        said = [part.get("text") for part in last["content"]] if last is not None else []
        if text is not None and text not in said:
            turn = log.speak(model=self._model, started_at=time_at(record, "timestamp"))
            turn["content"] += plain_parts(text, client=log.client)
        log.keep(rest(record, "finalText"))

"""Sessions of Antigravity: JSON lines of steps.

A step in which a tool ran names no call. It is taken as the answer to the first call that still
waits; where none does, it is a call of its own, whose arguments are unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tracedance_sdk.errors import TraceDanceError
from tracedance_sdk.formats.coding.lenient import list_at, objects_at, rest, text_at, time_at
from tracedance_sdk.formats.coding.session import Session, objects_of, plain_parts
from tracedance_sdk.formats.importing import ImportProblem
from tracedance_sdk.formats.opening import Document
from tracedance_sdk.formats.transcript import read_arguments, reasoning_part
from tracedance_sdk.trace import UNKNOWN, Json, Trace

COLLECTOR: Final = "antigravity"

_HEARD: Final = frozenset({"USER_INPUT", "CHECKPOINT", "SYSTEM_MESSAGE", "EPHEMERAL_MESSAGE"})
_KNOWN: Final = ("type", "created_at", "content", "truncated_fields")


def read_antigravity_session(
    documents: list[Document], path: Path
) -> Iterator[Trace | ImportProblem]:
    """Yield the session of a file.

    Args:
        documents: The file's steps.
        path: The file.
    """
    steps, problems = objects_of(documents, path)
    yield from problems
    if not steps:
        return
    log = _Log("antigravity")
    for step in steps:
        _step(log, step)
    try:
        yield log.finish(None, steps[0], path=path, collector=COLLECTOR)
    except TraceDanceError as error:
        yield ImportProblem(str(path), str(error))


class _Log(Session):
    """A session, and how many of its calls wait for the step in which they run."""

    waiting = 0


def _step(log: _Log, step: Mapping[str, Any]) -> None:
    kind = text_at(step, "type")
    at = time_at(step, "created_at")
    own = log.own({**rest(step, *_KNOWN, "thinking", "tool_calls"), **_cut(step)})
    parts = plain_parts(step.get("content"), client=log.client)
    if kind in _HEARD:
        flags = {"CHECKPOINT": "compaction", "USER_INPUT": ""}.get(kind, "isSynthetic")
        compaction = True if kind == "CHECKPOINT" else None
        log.hear(parts, flags=[flags], compaction=compaction, started_at=at, **own)
    elif kind == "PLANNER_RESPONSE":
        thinking = text_at(step, "thinking")
        thought = [reasoning_part(thinking)] if thinking else []
        log.say("assistant", thought + parts, origin="agent", started_at=at, **own)
        log.waiting = len(objects_at(step, "tool_calls")) or log.waiting
        for call in objects_at(step, "tool_calls"):
            arguments = call.get("args", UNKNOWN)
            log.request(
                text_at(call, "name") or "unknown",
                arguments=_decoded(arguments) if isinstance(arguments, dict) else arguments,
                **log.own(rest(call, "name", "args")),
            )
    elif kind is None or step.get("source") == "SYSTEM":
        log.keep(step)
    else:
        _ran(log, kind, step, at)


def _cut(step: Mapping[str, Any]) -> dict[str, Json]:
    fields = step.get("truncated_fields")
    return {} if fields is None else {"truncated_fields": fields}


def _decoded(arguments: Mapping[str, Any]) -> dict[str, Json]:
    """Return arguments whose values are written as JSON inside of text."""
    found: dict[str, Json] = {}
    for key, value in arguments.items():
        inner = read_arguments(value)[0] if isinstance(value, str) and value else UNKNOWN
        found[key] = value if inner is UNKNOWN else inner
    return found


def _ran(log: _Log, kind: str, step: Mapping[str, Any], at: str | None) -> None:
    """Add a step in which a tool ran."""
    truncated = "content" in list_at(step, "truncated_fields")
    said = {
        "content": step.get("content", UNKNOWN),
        "ok": False if step.get("status") == "ERROR" else None,
        **log.own({"step": kind, **rest(step, *_KNOWN), "created_at": step.get("created_at")}),
    }
    if log.waiting:
        log.waiting -= 1
        log.answer(truncated=truncated or None, **said)
        return
    call = log.request_unasked(kind.lower(), started_at=at)
    call["result"] = {**said, "truncated": truncated}

"""Sessions of the Gemini CLI: one document, or JSON lines that begin with a header.

In JSON lines a message that is written again under its id takes the place of the earlier one.
What the CLI told only its user (``info``, ``error``, ``warning``) is no turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tracedance_sdk.errors import TraceDanceError
from tracedance_sdk.formats.coding.lenient import (
    count_at,
    list_at,
    object_at,
    objects_at,
    rest,
    text_at,
    time_at,
)
from tracedance_sdk.formats.coding.session import Session, objects_of, plain_parts
from tracedance_sdk.formats.importing import ImportProblem
from tracedance_sdk.formats.opening import Document
from tracedance_sdk.formats.transcript import reasoning_part
from tracedance_sdk.trace import UNKNOWN, Json, Trace

COLLECTOR: Final = "gemini_cli"

_HELD: Final = ("messages", "history")
_NO_FACTS: Final = ("sessionId", "startTime", "start_time", *_HELD)
_OK: Final = {"success": True, "error": False, "cancelled": False}


def read_gemini_session(documents: list[Document], path: Path) -> Iterator[Trace | ImportProblem]:
    """Yield the session of a file.

    Args:
        documents: The document, or the lines.
        path: The file.

    Source:
        google-gemini/gemini-cli, packages/core/src/services/chatRecordingTypes.ts.
    """
    records, problems = objects_of(documents, path)
    yield from problems
    if not records:
        return
    log = Session("gemini-cli")
    header, messages = _sorted(records, log)
    model = text_at(object_at(header, "meta"), "model")
    for message in messages:
        _message(log, message, model)
    log.facts["session"] = rest(header, *_NO_FACTS) or None
    first = {key: header.get(key) for key in ("sessionId", "startTime", "start_time")}
    if not any(first.values()):
        first = records[0]
    try:
        yield log.finish(
            text_at(header, "sessionId"),
            first,
            path=path,
            collector=COLLECTOR,
            started_at=time_at(header, "startTime", "start_time"),
        )
    except TraceDanceError as error:
        yield ImportProblem(str(path), str(error))


def _sorted(
    records: list[dict[str, Any]], log: Session
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the header as it stands at the end, and the messages, each once."""
    header: dict[str, Any] = {}
    messages: list[dict[str, Any]] = []
    places: dict[str, int] = {}
    for record in records:
        if "$set" in record:
            header |= rest(object_at(record, "$set"), *_HELD, "sessionId", "startTime")
            continue
        held = [item for key in _HELD for item in objects_at(record, key)]
        if "sessionId" in record or held:
            header |= record
        elif "type" in record or "role" in record:
            held = [record]
        else:
            log.keep(record)
        for message in held:
            name = text_at(message, "id")
            if name is not None and name in places:
                messages[places[name]] = message
                continue
            if name is not None:
                places[name] = len(messages)
            messages.append(message)
    return header, messages


def _message(log: Session, message: Mapping[str, Any], model: str | None) -> None:
    kind = text_at(message, "type", "role")
    content = message["content"] if "content" in message else message.get("parts")
    at = time_at(message, "timestamp", "ts")
    own = rest(
        message, "type", "role", "content", "parts", "timestamp", "ts", "model", "thoughts",
        "tokens", "toolCalls",
    )  # fmt: skip
    parts = _parts(log, content)
    if kind == "user":
        log.hear(parts, started_at=at, **log.own(own))
    elif kind in ("gemini", "model", "assistant"):
        thoughts = [_thought(log, thought) for thought in list_at(message, "thoughts")]
        log.say(
            "assistant",
            thoughts + parts,
            origin="agent",
            model=text_at(message, "model") or model,
            usage=_usage(log, message.get("tokens")),
            started_at=at,
            **log.own(own),
        )
        for call in objects_at(message, "toolCalls"):
            _call(log, call)
    else:
        log.keep(message)


def _parts(log: Session, content: Json) -> list[dict[str, Any]]:
    if not isinstance(content, list):
        return plain_parts(content, client=log.client)
    blocks = [
        {"type": "file", **block["inlineData"]}
        if isinstance(block, dict) and isinstance(block.get("inlineData"), dict)
        else block
        for block in content
    ]
    return plain_parts(blocks, client=log.client)


def _thought(log: Session, thought: Json) -> dict[str, Any]:
    if not isinstance(thought, dict):
        return reasoning_part(str(thought))
    lines = [text_at(thought, "subject"), text_at(thought, "description")]
    own = log.own(rest(thought, "subject", "description"))
    return reasoning_part("\n".join(line for line in lines if line), **own)


def _usage(log: Session, tokens: Json) -> dict[str, Any] | None:
    """Return the usage; Gemini counts thoughts beside the output."""
    if not isinstance(tokens, dict):
        return None
    output, thoughts = count_at(tokens, "output"), count_at(tokens, "thoughts")
    found = {
        "input_tokens": count_at(tokens, "input"),
        "output_tokens": None if output is None else output + (thoughts or 0),
        "cache_read_tokens": count_at(tokens, "cached"),
        "reasoning_tokens": thoughts,
        **log.own(rest(tokens, "input", "cached", "thoughts")),
    }
    return {key: value for key, value in found.items() if value is not None}


def _call(log: Session, call: Mapping[str, Any]) -> None:
    call_id, status = text_at(call, "id"), text_at(call, "status")
    log.request(
        text_at(call, "name") or "unknown",
        call_id=call_id,
        arguments=call.get("args", UNKNOWN),
        started_at=time_at(call, "timestamp"),
        **log.own(rest(call, "id", "name", "args", "result", "timestamp")),
    )
    if call.get("result") is None:
        return
    content, error = _result(call["result"])
    log.answer(
        call_id,
        content=content,
        ok=_OK.get(status or ""),
        error=None if error is None else {"type": status or "error", "message": error},
    )


def _result(result: Json) -> tuple[Json, str | None]:
    """Return what a function's response says, and its error; whole where it says more."""
    if not isinstance(result, list) or len(result) != 1 or not isinstance(result[0], dict):
        return result, None
    response = object_at(object_at(result[0], "functionResponse"), "response")
    error = text_at(response, "error")
    if response.keys() == {"output"}:
        return response["output"], None
    return (response["error"] if response.keys() == {"error"} else result), error

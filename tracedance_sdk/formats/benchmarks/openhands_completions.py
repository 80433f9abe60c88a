"""OpenHands' logs of model calls: the last call of a run holds all of it.

Such a log is what litellm was asked (``messages``, ``kwargs.tools``) and what it answered
(``response``), with cost and time.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

from tracedance_sdk.formats.benchmarks.openhands_results import marked
from tracedance_sdk.formats.benchmarks.swebench import Verdict
from tracedance_sdk.formats.benchmarks.usages import usage_fields
from tracedance_sdk.formats.openai_chat import trace_from_messages
from tracedance_sdk.formats.places import Place, optional
from tracedance_sdk.trace import (
    Json,
    Outcome,
    Source,
    Text,
    Trace,
    Turn,
    Usage,
    imported_trace_id,
    source_digest,
)

NAME: Final = "openhands"

_GO_ON: Final = "Please continue working on the task on whatever approach you think is suitable."


def trace_from_completion_log(
    record: Json,
    place: Place,
    *,
    instance: str,
    uri: str | None = None,
    verdict: Verdict | None = None,
) -> Trace:
    """Build the trace of a run from the log of its last model call.

    Args:
        record: The parsed log.
        place: Where it stands, for errors.
        instance: The task, which no log names.
        uri: The file.
        verdict: SWE-bench's, from a file beside it.

    Returns:
        A trace with recorded tools. Model, usage and cost are those of the last call, which are
        the only ones the log has. Logs of one run's earlier calls give the same id.

    Raises:
        InvalidTrace: No such log.
    """
    fields = place.expect(record, dict)
    messages = list(place.field(fields, "messages", list))
    prompt_part = _take_prompt(messages)
    response = place.field(fields, "response", dict)
    kwargs = place.optional(fields, "kwargs", dict) or {}
    reply, finish_reason = _reply(response, place.at("response"))
    messages += [reply] if reply else []
    first = next((m for m in messages if isinstance(m, dict) and m.get("role") == "assistant"), {})
    opening = source_digest([_plain(m) for m in messages[:2]] + [_asked(first)])
    trace = trace_from_messages(
        messages,
        trace_id=imported_trace_id(NAME, opening, ""),
        tools=kwargs.get("tools"),
        where=place.where,
        path=f"{place.path}.messages",
        mark=marked,
        group=instance,
        task_id=instance,
        agent={"name": "openhands"},
        outcome=_outcome(reply, verdict),
        source=Source(collector=NAME, uri=uri, native_id=instance),
        metadata={**_metadata(fields, response, kwargs), **prompt_part},
    )
    turns = [_attributed(turn) for turn in trace.turns]
    if reply and turns:
        turns[-1] = turns[-1].model_copy(update=_of_reply(fields, response, finish_reason))
    return trace.model_copy(update={"turns": tuple(turns)})


def _take_prompt(messages: list[Json]) -> dict[str, Json]:
    """Make a system message of one text part plain; return what the part says besides."""
    first = messages[0] if messages else None
    content = first.get("content") if isinstance(first, dict) else None
    if first is None or not isinstance(content, list) or len(content) != 1:
        return {}
    part = content[0]
    if first.get("role") != "system" or not isinstance(part, dict) or part.get("type") != "text":
        return {}
    messages[0] = {**first, "content": part.get("text")}
    rest = {key: item for key, item in part.items() if key not in ("type", "text")}
    return {"system_prompt_part": rest} if rest else {}


def _plain(message: Json) -> Json:
    """Return a message's role and text, whatever the cache marks around it."""
    if not isinstance(message, dict):
        return None
    content = message.get("content")
    texts = (
        [part.get("text") for part in content if isinstance(part, dict)]
        if isinstance(content, list)
        else [content]
    )
    return [message.get("role"), texts]


def _asked(message: dict[str, Any]) -> Json:
    """Return what tells a first reply from others: the ids of its calls, else its text."""
    calls = message.get("tool_calls")
    entries = calls if isinstance(calls, list) else []
    ids = [call.get("id") for call in entries if isinstance(call, dict)]
    return ids or _plain(message)


def _reply(response: dict[str, Any], place: Place) -> tuple[dict[str, Any], str | None]:
    choices = place.optional(response, "choices", list) or []
    if not choices:
        return {}, None
    first = place.at("choices", 0).expect(choices[0], dict)
    message = place.at("choices", 0).field(first, "message", dict)
    return message, place.at("choices", 0).optional(first, "finish_reason", str)


def _attributed(turn: Turn) -> Turn:
    """Return the turn with its origin: the harness urges the agent on in the user's name."""
    first = turn.content[0] if turn.content else None
    if turn.role == "user" and isinstance(first, Text) and first.text.startswith(_GO_ON):
        return turn.model_copy(update={"origin": "harness"})
    return turn


def _of_reply(
    fields: dict[str, Any], response: dict[str, Any], finish_reason: str | None
) -> dict[str, Any]:
    usage = usage_fields(response.get("usage"), cost_usd=fields.get("cost"))
    found: dict[str, Any] = {
        "model": optional(response, "model", str),
        "finish_reason": finish_reason,
        "usage": None if usage is None else Usage.model_validate(usage),
    }
    for key, seconds in (
        ("started_at", response.get("created")),
        ("ended_at", fields.get("timestamp")),
    ):
        found[key] = _time(seconds)
    return {key: item for key, item in found.items() if item is not None}


def _time(seconds: Json) -> datetime | None:
    if not isinstance(seconds, (int, float)) or isinstance(seconds, bool):
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def _outcome(reply: dict[str, Any], verdict: Verdict | None) -> Outcome | None:
    calls = reply.get("tool_calls")
    names = [
        call["function"].get("name")
        for call in (calls if isinstance(calls, list) else [])
        if isinstance(call, dict) and isinstance(call.get("function"), dict)
    ]
    has_finished = True if "finish" in names else None
    if verdict is None:
        return None if has_finished is None else Outcome(ended=has_finished)
    report: Json = {**verdict.details, "file": verdict.file}
    return Outcome(success=verdict.resolved, ended=has_finished, details={"report": report})


def _metadata(
    fields: dict[str, Any], response: dict[str, Any], kwargs: dict[str, Any]
) -> dict[str, Json]:
    known = ("messages", "response", "kwargs", "cost", "timestamp")
    found: dict[str, Json] = {k: v for k, v in fields.items() if k not in known and v != []}
    found["response"] = {
        k: v for k, v in response.items() if k not in ("choices", "usage") and v is not None
    }
    found["kwargs"] = {k: v for k, v in kwargs.items() if k != "tools"}
    return {k: v for k, v in found.items() if v != {}}

"""Facts that stand in events of a span, or in log records that belong to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from tracedance_sdk.formats import Message
from tracedance_sdk.otel import names
from tracedance_sdk.otel.dialects.decoding import decoded, literal
from tracedance_sdk.otel.dialects.frameworks import result, result_call_id, result_status
from tracedance_sdk.otel.dialects.kinds import StepKind
from tracedance_sdk.otel.dialects.places import heard, replied, text
from tracedance_sdk.otel.dialects.spoken import messages_of
from tracedance_sdk.otel.foreign import ForeignSpan, SpanEvent, read_list
from tracedance_sdk.trace import UNKNOWN, Json

CHOICE: Final = "gen_ai.choice"
_SPEAKERS: Final = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
_PROMPT: Final = "gen_ai.content.prompt"
_COMPLETION: Final = "gen_ai.content.completion"
_TOOL_OUTPUT: Final = "tool.output"
_READ: Final = frozenset(
    {*_SPEAKERS, CHOICE, _PROMPT, _COMPLETION, _TOOL_OUTPUT, "exception"}
    | {names.INFERENCE_DETAILS, names.EVALUATION}
)


def is_read(event: SpanEvent) -> bool:
    """Whether an event is told in full by the facts read from it."""
    return event.name in _READ or _is_row(event)


def detail_attributes(span: ForeignSpan) -> dict[str, Json]:
    """Return the attributes of a span with those that an event has in its stead."""
    found = dict(span.attributes)
    for event in span.events:
        if event.name == names.INFERENCE_DETAILS:
            for key, value in event.attributes.items():
                found.setdefault(key, value)
    return found


def event_kind(span: ForeignSpan) -> StepKind:
    """Return what kind of step a span is whose attributes do not say, by its events."""
    for event in span.events:
        if _is_row(event):
            answer = _row_value(event, "output")
            if isinstance(answer, dict) and "generations" in answer:
                return "model"
            if result_call_id(answer) is not UNKNOWN:
                return "tool"
    return "plain"


def event_facts(span: ForeignSpan, kind: StepKind) -> dict[str, Json]:
    """Return the facts of a step that its events tell, by the conventions' names."""
    if not span.events:
        return {}
    if kind in ("tool", "handoff"):
        return dict(_tool_facts(span))
    found: dict[str, Json] = {}
    given = [message for event in span.events for message in _given(event)]
    said = [message for event in span.events for message in _said(event)]
    if given:
        found[names.INPUT_MESSAGES] = given
    if said:
        found[names.OUTPUT_MESSAGES] = said
    return found


def event_grades(span: ForeignSpan) -> Iterator[dict[str, Json]]:
    """Yield the grades that events of a span give."""
    for event in span.events:
        if event.name == names.EVALUATION:
            yield {key: value for key, value in event.attributes.items() if key != "body"}


def exception(span: ForeignSpan) -> tuple[str | None, str | None]:
    """Return type and message of the last exception that a span tells of."""
    for event in reversed(span.events):
        if event.name == "exception":
            kind, message = (event.attributes.get(f"exception.{k}") for k in ("type", "message"))
            return (
                kind if isinstance(kind, str) and kind else None,
                message if isinstance(message, str) and message else None,
            )
    return None, None


def _given(event: SpanEvent) -> list[Message]:
    if event.name == _PROMPT:
        found = heard(event.attributes.get("gen_ai.prompt", UNKNOWN))
        return found if isinstance(found, list) else []
    if _is_row(event):
        return _row_messages(event, "input", "user")
    if event.name not in _SPEAKERS:
        return []
    return _spoken(event, _SPEAKERS[event.name])


def _said(event: SpanEvent) -> list[Message]:
    if event.name == _COMPLETION:
        found = replied(event.attributes.get("gen_ai.completion", UNKNOWN))
        return found if isinstance(found, list) else []
    if _is_row(event):
        return _row_messages(event, "output", "assistant")
    if event.name != CHOICE:
        return []
    fields = _fields(event)
    message = fields.get("message")
    if isinstance(message, dict) and ("content" in message or "tool_calls" in message):
        fields = {**message, **{k: v for k, v in fields.items() if k != "message"}}
    elif message is not None:
        fields["content"] = message
    reason = fields.pop("finish_reason", None)
    found = messages_of([{"role": "assistant", **fields}])
    if not isinstance(reason, str):
        return found
    return [m._replace(extra={**(m.extra or {}), "finish_reason": reason}) for m in found]


def _spoken(event: SpanEvent, speaker: str) -> list[Message]:
    fields = _fields(event)
    if speaker == "tool" and isinstance(fields.get("id"), str):
        fields.setdefault("tool_call_id", fields.pop("id"))
    return messages_of([{**fields, "role": fields.get("role") or speaker}])


def _fields(event: SpanEvent) -> dict[str, Any]:
    """Return the fields of a message event; nested ones may be JSON text."""
    wanted = ("role", "content", "message", "tool_calls", "id", "finish_reason", "name", "index")
    fields = {key: event.attributes[key] for key in wanted if key in event.attributes}
    for key in ("content", "message", "tool_calls"):
        if key in fields:
            fields[key] = decoded(fields[key])
    fields.pop("index", None)
    if isinstance(fields.get("content"), dict):
        fields["content"] = [fields["content"]]
    return fields


def _tool_facts(span: ForeignSpan) -> Iterator[tuple[str, Json]]:
    for event in span.events:
        attributes = event.attributes
        if event.name == "gen_ai.tool.message" and "content" in attributes:
            yield names.TOOL_ARGUMENTS, decoded(attributes["content"])
            yield names.TOOL_CALL_ID, text(attributes.get("id"))
        elif event.name == CHOICE and "message" in attributes:
            yield names.TOOL_RESULT, decoded(attributes["message"])
        elif event.name == _TOOL_OUTPUT:
            said = [attributes[k] for k in ("output", "content", "diff") if k in attributes]
            if said:
                yield names.TOOL_RESULT, said[0]
        elif _is_row(event):
            answer = _row_value(event, "output")
            asked = _row_value(event, "input")
            read = literal(asked) if isinstance(asked, str) else asked
            yield names.TOOL_ARGUMENTS, asked if read is UNKNOWN else read
            yield names.TOOL_RESULT, result(answer)
            yield names.TOOL_CALL_ID, result_call_id(answer)
            yield names.TOOL_STATUS, result_status(answer)
            if isinstance(answer, dict):
                yield names.TOOL_NAME, text(answer.get("name"))


def _is_row(event: SpanEvent) -> bool:
    """Whether an event is a row of CloudWatch's: what went into a step and came out of it."""
    holders = (event.attributes.get("input"), event.attributes.get("output"))
    return any(isinstance(h, dict) and isinstance(h.get("messages"), list) for h in holders)


def _row_value(event: SpanEvent, side: str) -> Json:
    """Return the first value on one side of a row."""
    holder = event.attributes.get(side)
    listed = holder.get("messages") if isinstance(holder, dict) else None
    first = listed[0] if isinstance(listed, list) and listed else None
    content = first.get("content") if isinstance(first, dict) else None
    if isinstance(content, dict):
        content = content.get("content", content.get("message"))
    return decoded(content)


def _row_messages(event: SpanEvent, side: str, speaker: str) -> list[Message]:
    holder = event.attributes.get(side)
    found: list[Message] = []
    for item in read_list(holder.get("messages")) if isinstance(holder, dict) else ():
        if not isinstance(item, dict):
            continue
        content = item.get("content")
        reason = content.get("finish_reason") if isinstance(content, dict) else None
        if isinstance(content, dict):
            content = content.get("content", content.get("message"))
        opened = decoded(content)
        role = item.get("role") if isinstance(item.get("role"), str) else speaker
        if isinstance(opened, dict) or (isinstance(opened, list) and not _are_parts(opened)):
            found += messages_of(opened, speaker=str(role))
        else:
            extra = {"finish_reason": reason} if isinstance(reason, str) else {}
            found += messages_of([{"role": role, "content": opened, **extra}])
    return found


def _are_parts(listed: list[Json]) -> bool:
    return not any(
        isinstance(item, dict) and ("role" in item or "kwargs" in item) for item in listed
    )

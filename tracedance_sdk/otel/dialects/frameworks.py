"""Readers for what single frameworks wrap around a fact: envelopes, split answers, event lists."""

from __future__ import annotations

from typing import Any, Final

from tracedance_sdk.otel.dialects.decoding import decoded, first_of, literal, structure
from tracedance_sdk.otel.dialects.places import Attributes, heard, replied
from tracedance_sdk.otel.dialects.spoken import messages_of
from tracedance_sdk.trace import UNKNOWN, Json

_LANGCHAIN_INPUT: Final = frozenset({"input_str", "tags", "metadata", "inputs", "kwargs"})
_SETTINGS_ELSEWHERE: Final = frozenset(
    {
        "messages", "input", "instructions", "tools", "system", "functions", "contents", "output",
        "text", "reasoning", "usage", "system_instruction", "http_options", "labels",
        "response_schema", "response_format", "id", "object", "created_at", "completed_at", "model",
        "status", "error", "incomplete_details", "billing", "tool_usage", "background",
    }
)  # fmt: skip


def arguments(value: Json) -> Json:
    """Return a call's arguments, out of the envelopes of LangChain and of decorators.

    Text stays text where it is no JSON.
    """
    found = decoded(value)
    if not isinstance(found, dict):
        return UNKNOWN if found is None else found
    if "input_str" in found and found.keys() <= _LANGCHAIN_INPUT:
        if isinstance(found.get("inputs"), dict):
            return found["inputs"]
        written = found["input_str"]
        read = decoded(written)
        inner = literal(read) if isinstance(read, str) else read
        return written if inner is UNKNOWN else inner
    if found.keys() == {"args", "kwargs"} and not found["args"]:
        return found["kwargs"]
    return found


def result(value: Json) -> Json:
    """Return what a tool brought, out of LangChain's envelopes and messages."""
    found = decoded(value)
    message = _tool_message(found)
    if message is not None:
        return decoded(message["content"])
    return UNKNOWN if found is None else found


def result_call_id(value: Json) -> Json:
    """Return the call id inside a tool's message of LangChain's."""
    message = _tool_message(structure(value))
    return UNKNOWN if message is None else message["tool_call_id"]


def result_status(value: Json) -> Json:
    """Return the status inside a tool's message of LangChain's."""
    message = _tool_message(structure(value))
    return UNKNOWN if message is None else message.get("status", UNKNOWN)


def _tool_message(value: Json) -> dict[str, Any] | None:
    for _ in range(3):
        if not isinstance(value, dict):
            return None
        if isinstance(value.get("tool_call_id"), str) and "content" in value:
            return value
        inner = value.get("output")
        if "kwargs" in value and ("lc" in value or not isinstance(inner, dict)):
            inner = value["kwargs"]
        value = inner
    return None


def typed_value(key: str, mime_key: str) -> Any:
    """Return a reader of a value whose type stands beside it, as OpenInference writes them."""

    def find(attributes: Attributes) -> Json:
        value = attributes.get(key, UNKNOWN)
        if value is UNKNOWN or attributes.get(mime_key) == "text/plain":
            return value
        return result(value)

    return find


def settings(value: Json) -> Json:
    """Return the settings of a request without what was said and offered in it."""
    found = structure(value)
    if not isinstance(found, dict):
        return UNKNOWN
    kept = {
        k: v for k, v in found.items() if k not in _SETTINGS_ELSEWHERE and v not in (None, {}, [])
    }
    return kept or UNKNOWN


def vercel_prompt(value: Json) -> Json:
    """Return the messages of the Vercel AI SDK's outer span: ``{system, prompt, messages}``."""
    found = decoded(value)
    if not isinstance(found, dict):
        return heard(found)
    system = found.get("system")
    return [
        *(messages_of(system, speaker="system") if isinstance(system, str) else ()),
        *messages_of(found.get("messages")),
        *messages_of(found.get("prompt")),
    ] or UNKNOWN


def vercel_answer(attributes: Attributes) -> Json:
    """Return the answer that the Vercel AI SDK splits into text, reasoning, object and calls."""
    for start in ("ai.response.", "ai.result."):
        parts: list[Json] = []
        reasoning = attributes.get(f"{start}reasoning")
        if isinstance(reasoning, str) and reasoning:
            parts.append({"type": "reasoning", "text": reasoning})
        said = first_of([attributes.get(f"{start}text"), attributes.get(f"{start}object")])
        if isinstance(said, str):
            parts.append({"type": "text", "text": said})
        calls = decoded(attributes.get(f"{start}toolCalls"))
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, dict):
                parts.append({"type": "tool-call", **call})
        if parts:
            return messages_of([{"role": "assistant", "content": parts}])
    return UNKNOWN


def event_messages(value: Json) -> Json:
    """Return what Pydantic AI's first formats list as events: all messages, the answer last."""
    listed = structure(value)
    return messages_of(listed) or UNKNOWN if isinstance(listed, list) else UNKNOWN


def heard_events(value: Json) -> Json:
    """Return the messages that a model was given, from a list of events."""
    listed = structure(value)
    if not isinstance(listed, list):
        return UNKNOWN
    return messages_of([e for e in listed if not _is_choice(e)]) or UNKNOWN


def replied_events(value: Json) -> Json:
    """Return the answer of a model, from a list of events."""
    listed = structure(value)
    if not isinstance(listed, list):
        return UNKNOWN
    return replied([event for event in listed if _is_choice(event)])


def _is_choice(event: Json) -> bool:
    return isinstance(event, dict) and event.get("event.name") == "gen_ai.choice"


def usage_field(*names: str) -> Any:
    """Return a reader of a count in an object of counts."""

    def read(value: Json) -> Json:
        holder = structure(value)
        if not isinstance(holder, dict):
            return UNKNOWN
        return first_of(c for name in names if type(c := holder.get(name)) is int)

    return read


def cost_total(value: Json) -> Json:
    """Return the total of an object of costs in US dollars, else the sum of its parts."""
    holder = structure(value)
    if not isinstance(holder, dict):
        return UNKNOWN
    for key in ("total", "total_cost"):
        if isinstance(holder.get(key), (int, float)):
            return holder[key]
    costs = [cost for cost in holder.values() if isinstance(cost, (int, float))]
    return sum(costs) if costs else UNKNOWN

"""Readers for what single frameworks wrap around a fact: envelopes, split answers, event lists."""

from __future__ import annotations

from typing import Any, Final

from tracedance_sdk.formats import Message
from tracedance_sdk.otel.dialects.decoding import (
    decoded,
    first_of,
    json_value,
    literal,
    structure,
    unflattened,
)
from tracedance_sdk.otel.dialects.places import Attributes, heard, replied
from tracedance_sdk.otel.dialects.python_text import is_object_text
from tracedance_sdk.otel.dialects.spoken import messages_of
from tracedance_sdk.trace import UNKNOWN, Json

_LANGCHAIN_INPUT: Final = frozenset({"input_str", "tags", "metadata", "inputs", "kwargs"})
_LLAMA_INDEX_OUTPUT: Final = frozenset({"tool_name", "raw_input", "raw_output", "is_error"})
_LITELLM_CALL: Final = "gen_ai.completion."
_CALLED: Final = frozenset({"args", "kwargs", "sanitize_inputs_outputs"})
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


def called_with(attributes: Attributes) -> Json:
    """Return a call's arguments, also where a function's own stand: ``{"args", "kwargs"}``.

    Positional ones get their names from the schema beside them, where it has that many; objects
    that a framework handed to its tool are left out.
    """
    value = attributes.get("input.value", UNKNOWN)
    found = value if value is UNKNOWN else arguments(value)
    if not isinstance(found, dict) or not found.keys() <= _CALLED:
        return found
    named, placed, known = found.get("kwargs"), found.get("args", []), _parameters(attributes)
    if not isinstance(named, dict) or not isinstance(placed, list) or "kwargs" in known:
        return found
    named = {k: v for k, v in named.items() if k in known or not is_object_text(v)}
    free = [name for name in known if name not in named]
    if len(placed) > len(free):
        return {"args": placed, "kwargs": named}
    return {**dict(zip(free, placed, strict=False)), **named}


def _parameters(attributes: Attributes) -> list[str]:
    schema: Any = structure(attributes.get("tool.parameters", UNKNOWN))
    if not isinstance(schema, dict):
        return []
    inner = schema.get("properties", schema)
    return list(inner) if isinstance(inner, dict) else []


def result(value: Json) -> Json:
    """Return what a tool brought, out of LangChain's and LlamaIndex's envelopes and messages."""
    found = decoded(value)
    output = _tool_output(found)
    if output is not None:
        return output["raw_output"]
    message = _tool_message(found)
    if message is not None:
        return decoded(message["content"])
    return UNKNOWN if found is None else found


def result_call_id(value: Json) -> Json:
    """Return the call id beside a tool's result of LangChain's or LlamaIndex's."""
    found = structure(value)
    if isinstance(found, dict) and isinstance(found.get("tool_id"), str) and _tool_output(found):
        return found["tool_id"]
    message = _tool_message(found)
    return UNKNOWN if message is None else message["tool_call_id"]


def result_status(value: Json) -> Json:
    """Return the status beside a tool's result of LangChain's or LlamaIndex's."""
    found = structure(value)
    output = _tool_output(found)
    if output is not None:
        return "error" if output["is_error"] is True else UNKNOWN
    message = _tool_message(found)
    return UNKNOWN if message is None else message.get("status", UNKNOWN)


def _tool_output(value: Json) -> dict[str, Any] | None:
    """Return LlamaIndex's object for the result of a tool."""
    for _ in range(2):
        if not isinstance(value, dict):
            return None
        if value.keys() >= _LLAMA_INDEX_OUTPUT:
            return value
        value = value.get("tool_output")
    return None


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
        mime = attributes.get(mime_key)
        if value is UNKNOWN or mime == "text/plain":
            return value
        return result(json_value(value) if mime == "application/json" else value)

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


def task_told(value: Json) -> Json:
    """Return the whole conversation in the output of a task of CrewAI's; else nothing."""
    found = structure(value)
    if not isinstance(found, dict) or "raw" not in found:
        return UNKNOWN
    return heard(found.get("messages"))


def run_answer(value: Json) -> Json:
    """Return what a run answered; of the output of a task of CrewAI's its last words."""
    found = structure(value)
    if isinstance(found, dict) and isinstance(found.get("raw"), str) and "messages" in found:
        return replied(found["raw"])
    return replied(value)


def litellm_answer(attributes: Attributes) -> Json:
    """Return an answer of LiteLLM's own spans, where requests stand beside the messages."""
    if f"{_LITELLM_CALL}0.function_call.name" not in attributes:
        return UNKNOWN
    told = replied(attributes.get("gen_ai.output.messages", UNKNOWN))
    listed = unflattened(attributes, _LITELLM_CALL[:-1])
    items = listed if isinstance(listed, list) else []
    return _asking(told, [item.get("function_call") for item in items if isinstance(item, dict)])


def llama_index_answer(attributes: Attributes) -> Json:
    """Return an answer of LlamaIndex's, whose requests Traceloop has beside the messages only."""
    output = structure(attributes.get("traceloop.entity.output", UNKNOWN))
    message = output.get("message") if isinstance(output, dict) else None
    more = message.get("additional_kwargs") if isinstance(message, dict) else None
    calls = more.get("tool_calls") if isinstance(more, dict) else None
    if not isinstance(calls, list):
        return UNKNOWN
    return _asking(replied(attributes.get("gen_ai.output.messages", UNKNOWN)), calls)


def _asking(told: Json, calls: list[Json]) -> Json:
    """Return an answer with the requests that stand beside it, where it has none itself."""
    said: list[Message] = told if isinstance(told, list) else []
    asked = messages_of([{"role": "assistant", "tool_calls": calls}])
    if not asked or any(message.calls for message in said):
        return told
    if not said:
        return asked
    first, *others = said
    return [first._replace(pieces=(*first.pieces, *asked[0].pieces)), *others]


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

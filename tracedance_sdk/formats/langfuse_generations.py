"""Langfuse's generations as calls of models: what was sent, what came back, at what cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tracedance_sdk.formats.conversation_shapes import Talk, read_talk
from tracedance_sdk.formats.langfuse_export import Observation, decoded
from tracedance_sdk.formats.model_calls import ModelCall
from tracedance_sdk.formats.tool_shapes import read_tools
from tracedance_sdk.trace import Json

_SAID: Final = frozenset(
    {
        "id", "traceId", "parentObservationId", "type", "startTime", "endTime", "input", "output",
        "model", "modelParameters", "usageDetails", "costDetails", "metadata", "createdAt",
        "updatedAt", "toolDefinitions", "toolCalls", "toolCallNames",
    }
)  # fmt: skip
_REPEATED: Final = (
    "input.value", "output.value", "llm.input_messages", "llm.output_messages", "llm.tools",
    "gen_ai.input.messages", "gen_ai.output.messages", "gen_ai.prompt", "gen_ai.completion",
    "gen_ai.tool.definitions", "all_messages_events", "events", "langfuse.observation.input",
    "langfuse.observation.output", "model_request_parameters", "ai.prompt", "ai.response",
    "gen_ai.system_instructions", "pydantic_ai.all_messages", "logfire.json_schema",
)  # fmt: skip
"""Attributes that say again what the input, the output and the tools say."""

_USAGE: Final = {
    "input_tokens": ("input", "input_tokens", "prompt_tokens"),
    "output_tokens": ("output", "output_tokens", "completion_tokens"),
    "cache_read_tokens": (
        "input_cache_read", "cache_read_input_tokens", "input_cached_tokens",
        "prompt_details.cache_read", "input_cache_read_tokens",
    ),
    "cache_write_tokens": (
        "input_cache_creation", "cache_creation_input_tokens", "prompt_details.cache_write",
    ),
    "reasoning_tokens": (
        "output_reasoning", "output_reasoning_tokens", "completion_details.reasoning",
        "reasoning_tokens",
    ),
}  # fmt: skip
_NOTHING: Final[tuple[Json, ...]] = (None, [], {}, "")


def call_of(observation: Observation) -> tuple[ModelCall, bool]:
    """Return a generation as a model call, and whether its input was understood."""
    fields = observation.fields
    asked = read_talk(fields.get("input"), speaker="user")
    came = read_talk(fields.get("output"), speaker="assistant")
    given = fields.get("input") not in _NOTHING
    kept = kept_of(observation)
    if asked is None and given:
        kept["input"] = fields["input"]
    if came is None and fields.get("output") not in _NOTHING:
        kept["output"] = fields["output"]
    reply = came.messages if came is not None else ()
    return (
        ModelCall(
            None if asked is None else asked.messages,
            reply,
            {**_turn_fields(observation, reply), "observation": kept},
            system=next((t.system for t in (asked, came) if t and t.system is not None), None),
            tools=_tools(observation, asked, came),
            group=observation.parent or "",
        ),
        asked is not None or not given,
    )


def kept_of(observation: Observation) -> dict[str, Json]:
    """Return what an observation says beyond its input, output, times and tokens."""
    fields = observation.fields
    kept: dict[str, Json] = {
        "id": observation.id,
        **{k: v for k, v in fields.items() if k not in _SAID and v not in _NOTHING},
    }
    metadata = fields.get("metadata")
    if isinstance(metadata, dict):
        attributes = {
            key: value
            for key, value in observation.attributes.items()
            if not key.startswith(_REPEATED)
        }
        metadata = {**metadata, **({"attributes": attributes} if attributes else {})}
        if not attributes:
            metadata.pop("attributes", None)
    if metadata not in _NOTHING:
        kept["metadata"] = metadata
    return kept


def _turn_fields(observation: Observation, reply: tuple[Any, ...]) -> dict[str, Any]:
    fields = observation.fields
    reasons = [m.extra.get("finish_reason") for m in reply if m.extra]
    settings = fields.get("modelParameters")
    model = fields.get("model", fields.get("providedModelName"))
    return {
        "model": model if isinstance(model, str) else None,
        "usage": _usage(fields),
        "settings": settings if isinstance(settings, dict) and settings else None,
        "started_at": observation.started,
        "ended_at": observation.ended,
        "finish_reason": next((r for r in reasons if isinstance(r, str)), None),
    }


def _usage(fields: Mapping[str, Any]) -> dict[str, Json] | None:
    """Return the fields of `Usage`; cached tokens are added where the total shows it is due."""
    details, costs = fields.get("usageDetails"), fields.get("costDetails")
    counts = details if isinstance(details, dict) else {}
    found: dict[str, Any] = {}
    for ours, keys in _USAGE.items():
        count = next((counts[key] for key in keys if type(counts.get(key)) is int), None)
        if count is not None:
            found[ours] = count
    cached = found.get("cache_read_tokens", 0) + found.get("cache_write_tokens", 0)
    sent = found.get("input_tokens", 0)
    if cached and counts.get("total") == sent + found.get("output_tokens", 0) + cached:
        found["input_tokens"] = sent + cached
    prices = costs if isinstance(costs, dict) else {}
    cost = prices.get("total", fields.get("totalCost"))
    if isinstance(cost, (int, float)) and not isinstance(cost, bool):
        found["cost_usd"] = cost
    return found or None


def _tools(observation: Observation, asked: Talk | None, came: Talk | None) -> list[dict[str, Any]]:
    attributes = observation.attributes
    request = decoded(attributes.get("model_request_parameters"))
    lists = [
        decoded(attributes.get("gen_ai.tool.definitions")),
        *(
            [request.get("function_tools"), request.get("output_tools")]
            if isinstance(request, dict)
            else []
        ),
    ]
    given = observation.fields.get("toolDefinitions")
    if isinstance(given, dict):
        lists.append([
            {"name": name, **shape}
            for name, text in given.items()
            if isinstance(shape := decoded(text), dict)
        ])  # fmt: skip
    found = [tool for talk in (asked, came) if talk is not None for tool in talk.tools]
    return found + [tool for item in lists for tool in read_tools(item)]
